//! One run of a scenario with a disturbance: started, waited out, and judged at its end.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use super::{EndState, Outcome, ScenarioError, Sweep, auditor::Auditor, kept::Kept, racks, scenario::Keeps};
use crate::{
    Lab, Options, Settled,
    faults::Faults,
    invariants::{SecondHost, leaks, losses, mix_ups_among},
};

/// Longest virtual time that a step may take, beside the disturbance itself.
const LIMIT: Duration = Duration::from_secs(3 * 3600);
/// Virtual time in which nothing may be written at the end.
const AT_REST: Duration = Duration::from_secs(60);

/// So much of what an audit says at the wrong time is reported; it repeats itself.
const MAX_FINDINGS: usize = 3;

/// What disturbs one run.
pub(super) trait Disturbance {
    /// The faults of the provider's calls.
    fn faults(&self) -> Arc<dyn Faults>;

    /// The scenario begins: from now on writes are counted.
    fn arm(&self);

    /// Writes that were counted.
    fn writes(&self) -> u64;

    /// What it happened to, if it happened.
    fn victim(&self) -> Option<String>;

    /// Waits until it happens.
    async fn happened(&self);

    /// Waits until it is over, and does what people do meanwhile.
    async fn pass(&self, lab: &mut Lab);

    /// Whether an audit beside the scenario must report nothing. While the server itself hides objects, it may report them.
    fn is_audited(&self) -> bool {
        false
    }

    /// Whether a restarted provider cannot see who holds a host, however it asks: a machine may take another host
    /// then, and gives back the one that has no image.
    fn hides_claims(&self) -> bool {
        false
    }

    /// Whether it may last longer than an attempt of a remediation, so that the next one begins.
    fn outlasts_attempts(&self) -> bool {
        false
    }

    /// The lab is idle: a fault that waits for this happens now. Says whether it does.
    fn at_rest(&self) -> bool {
        false
    }
}

impl Sweep {
    pub(super) async fn run_scenario(
        &self,
        disturbance: &impl Disturbance,
    ) -> Result<Outcome, ScenarioError> {
        let faults = disturbance.faults();
        let options = Options { seed: self.seed, faults, remembered: Some(usize::MAX), ..Options::default() };
        let mut lab = Lab::start(&options).await?;
        let manifests = self.scenario.manifests()?;
        let mut violations = Vec::new();
        if self.scenario.starts_up() {
            lab.apply(&manifests).await?;
            violations.extend(rest(&mut lab, disturbance).await);
        }
        let before = Kept::of(&lab);
        let auditor = disturbance.is_audited().then(|| Auditor::start(lab.server().clone(), lab.clock()));
        disturbance.arm();
        for step in self.scenario.steps() {
            violations.extend(self.scenario.take(*step, &mut lab, &options).await?);
            violations.extend(rest(&mut lab, disturbance).await);
        }
        let writes = disturbance.writes();
        if disturbance.at_rest() {
            violations.extend(rest(&mut lab, disturbance).await);
        }
        violations.extend(self.scenario.missing(&lab));
        if let Some(remediation) = self.scenario.remediation() {
            violations.extend(remediation.violations(&lab, disturbance.outlasts_attempts()));
        }
        let second =
            if disturbance.hides_claims() { SecondHost::WithoutImage } else { SecondHost::Forbidden };
        if second == SecondHost::Forbidden || self.scenario.keeps() != Keeps::Hosts {
            violations.extend(before.lost(&Kept::of(&lab), self.scenario.keeps()));
        }
        violations.extend(noise(&lab).await);
        violations.extend(mix_ups_among(lab.server(), second));
        violations.extend(losses(lab.server()));
        let given: BTreeSet<String> =
            manifests.iter().filter(|m| m.kind() == "Secret").map(|m| m.key().name).collect();
        violations.extend(leaks(&lab.server().objects(None), &given));
        let audited = auditor.map(|auditor| auditor.audited()).unwrap_or_default();
        violations.extend(audited.findings.iter().take(MAX_FINDINGS).cloned());
        let workload = format!("{}/{}", racks::NAMESPACE, racks::CLUSTER);
        let state = EndState::of(lab.server(), &workload, &self.mask);
        Ok(Outcome { writes, victim: disturbance.victim(), state, violations, audited })
    }
}

/// Waits for rest, and for the end of a disturbance that happens meanwhile.
async fn rest(lab: &mut Lab, disturbance: &impl Disturbance) -> Option<String> {
    let mut end = tokio::time::Instant::now() + LIMIT;
    loop {
        let left = end.duration_since(tokio::time::Instant::now());
        tokio::select! {
            biased;
            () = disturbance.happened() => {}
            settled = lab.settle(left) => {
                return (settled == Settled::Busy).then(|| "it never came to rest".to_owned());
            }
        }
        disturbance.pass(lab).await;
        end = tokio::time::Instant::now() + LIMIT;
    }
}

/// Writes at rest.
async fn noise(lab: &Lab) -> Option<String> {
    let before = writes(lab);
    tokio::time::sleep(AT_REST).await;
    let after = writes(lab);
    (after != before).then(|| format!("{} writes in {} s at rest", after - before, AT_REST.as_secs()))
}

fn writes(lab: &Lab) -> u64 {
    let requests = lab.server().requests();
    let writes = requests.iter().filter(|r| !matches!(r.verb.as_str(), "get" | "list" | "watch"));
    writes.map(|r| r.count).sum()
}
