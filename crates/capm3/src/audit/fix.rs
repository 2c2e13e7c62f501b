//! Carries out the repairs that are safe: shown first, then asked for, then judged again, then written under guard.

use std::collections::BTreeMap;

use capm3_engine::{
    ApiClient, ApiError, Caches,
    absence::{Verdict, prove_absent},
};
use capm3_provider::audit::{Finding, Step, Subject, Target};

use super::{AuditArgs, Look, ended, is_fixable, live, print, text::plural};
use crate::{
    ask,
    exit::{self, Failure},
    remote::Remote,
};

/// Prints the findings, asks, and repairs. What is left decides how it ends.
pub(super) fn run(args: &AuditArgs, remote: &Remote, namespace: &str, look: Look) -> Result<(), Failure> {
    let fixes = look.report.findings.iter().filter(|finding| is_fixable(finding)).count();
    if fixes == 0 {
        let printed = print(args, &look);
        exit::say("nothing that --fix can repair");
        return printed;
    }
    exit::print(&super::shown(args.output, &look)?)?;
    let question = format!("Carry out {}?", plural(fixes, "repair"));
    if !args.yes && !ask::is_agreed(&question, "add --yes to carry out the repairs")? {
        return Err(Failure::Invalid("nothing is written".to_owned()));
    }
    // While the question stood things may have changed.
    let now = live::again(args, remote, namespace, &look.inventory)?;
    let (still, done) = remote.run(|client| async move { repair_all(client, &look, &now).await });
    exit::say(format_args!("{} of {} done", done, plural(fixes, "repair")));
    ended(&still)
}

/// Repairs what stands as it was shown; gives the findings that are left, and how many were repaired.
async fn repair_all(client: &ApiClient, shown: &Look, now: &Look) -> (Vec<Finding>, usize) {
    let mut proofs = Proofs { client, caches: Caches::default(), known: BTreeMap::new() };
    let (mut left, mut done) = (Vec::new(), 0);
    for finding in &now.report.findings {
        if !is_fixable(finding) {
            left.push(finding.clone());
            continue;
        }
        let was_shown = shown.report.findings.contains(finding);
        let outcome = match was_shown {
            true => proofs.repair(finding).await,
            false => Err("it is another contradiction than the one that was shown".to_owned()),
        };
        let object = &finding.object;
        match outcome {
            Ok(()) => {
                done += 1;
                exit::say(format_args!("repaired: {object}: {} ({})", finding.repair.text, finding.code));
            }
            Err(why) => {
                exit::say(format_args!("left as it is: {object}: {why} ({})", finding.code));
                left.push(finding.clone());
            }
        }
    }
    (left, done)
}

/// What is proven to be absent.
struct Proofs<'a> {
    client: &'a ApiClient,
    caches: Caches,
    known: BTreeMap<Subject, Result<(), String>>,
}

impl Proofs<'_> {
    async fn repair(&mut self, finding: &Finding) -> Result<(), String> {
        let absent: Vec<Subject> = finding.absences().cloned().collect();
        for subject in &absent {
            self.prove(subject).await?;
        }
        for step in &finding.repair.steps {
            write(self.client, step).await?;
        }
        Ok(())
    }

    /// An absence counts only with proof.
    async fn prove(&mut self, subject: &Subject) -> Result<(), String> {
        if let Some(known) = self.known.get(subject) {
            return known.clone();
        }
        let verdict = prove_absent(self.client, &self.caches, &subject.kind, &subject.key).await;
        let proven = match verdict {
            Ok(Verdict::Gone) => Ok(()),
            Ok(Verdict::Present) => Err(format!("{subject} exists")),
            Ok(Verdict::Unknown(doubt)) => {
                Err(format!("it is not proven that {subject} does not exist: {doubt}"))
            }
            Err(error) => Err(format!("cannot ask for {subject}: {}", error.with_causes())),
        };
        self.known.insert(subject.clone(), proven.clone());
        proven
    }
}

/// One write on the very version of the object that was judged.
async fn write(client: &ApiClient, step: &Step) -> Result<(), String> {
    let version =
        |target: &Target| target.version.clone().ok_or_else(|| "it has no resourceVersion".to_owned());
    let written = match step {
        Step::Patch { target, status, patch } => {
            let mut patch = patch.clone();
            if let Some(members) = patch.as_object_mut() {
                let metadata = members.entry("metadata").or_insert_with(|| serde_json::json!({}));
                if let Some(metadata) = metadata.as_object_mut() {
                    metadata.insert("resourceVersion".to_owned(), version(target)?.into());
                }
            }
            let part = status.then_some("status");
            client.merge_patch(&target.kind, &target.key, part, &patch).await.map(drop)
        }
        Step::Delete(target) => {
            let version = version(target)?;
            client.delete_version(&target.kind, &target.key, target.uid.as_deref(), &version).await.map(drop)
        }
        Step::Run(command) => return Err(format!("run it yourself: {command}")),
    };
    written.map_err(|error| match error {
        ApiError::Conflict { .. } => "the object has changed meanwhile".to_owned(),
        error => error.with_causes(),
    })
}
