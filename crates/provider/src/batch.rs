//! One pass that serves many claims: the order of claims, the parts of the plan, and what to do when the server
//! refuses one of them. Shared by the controllers that hand out indexes and addresses.

use std::{cmp::Ordering, collections::BTreeMap, ops::ControlFlow, time::Duration};

use crate::plan::{End, Plan};
use capm3_api::metadata::MetadataExt;
use capm3_domain::wait::{Text, Wait};
use capm3_engine::{ActError, ApiError, Executor, ObjectKey, Outcome, Passes};

use kube::core::ObjectMeta;
use tracing::debug;

use crate::context::Context;

/// How soon to reconcile again if the status was already written in this second.
pub(crate) const STATUS_PACE: Duration = Duration::from_millis(250);

/// How long a template gathers claims before a pass serves them: one pass costs as much for a hundred as for one. Every
/// wake-up is gathered, the first one after a start too: claims that come together are served together, by age and name, and
/// not by which controller runs first.
pub(crate) const GATHER: Duration = Duration::from_millis(10);

/// The same for a pool. Longer, because data that a template has just created makes claims of its own: they are served
/// together with those of data that was there before.
pub(crate) const GATHER_ADDRESS_CLAIMS: Duration = Duration::from_millis(15);

/// Claims whose writes the server refused, by the name given in the batch, with the server's words.
pub(crate) type Refusals = BTreeMap<String, Text>;

/// What is known of an owner and its claims, from which a pass over them is decided.
pub(crate) trait Pass: Send + Sync {
    /// Decides; `now` is written where something changes.
    fn batch<'a>(&'a self, now: &'a str) -> Batch<'a>;
    /// Takes down whose writes the server refused.
    fn refuse(&mut self, refusals: Refusals);
}

/// A plan in parts: what comes before the claims, each claim by itself, and what comes after them.
#[derive(Default)]
pub(crate) struct Batch<'a> {
    pub(crate) before: Plan,
    pub(crate) claims: Claims<'a>,
    pub(crate) after: Plan,
}

impl Batch<'_> {
    /// The whole as one plan; it ends as the last part does.
    pub(crate) fn into_plan(self) -> Plan {
        let end = self.after.end.clone();
        let mut plan = Plan::done();
        for part in self.into_parts() {
            plan.append(part);
        }
        plan.ending(end)
    }

    /// The same part by part.
    pub(crate) fn into_parts(self) -> impl Iterator<Item = Plan> {
        [self.before].into_iter().chain(self.claims.map(|(_, part)| part)).chain([self.after])
    }
}

/// The plan of each claim by the name under which a refusal is reported, made when it is its turn: what ten thousand claims write
/// does not have to fit into memory at once.
#[derive(Default)]
pub(crate) struct Claims<'a>(Option<Box<dyn Iterator<Item = (String, Plan)> + Send + 'a>>);

impl<'a> Claims<'a> {
    pub(crate) fn new(plans: impl Iterator<Item = (String, Plan)> + Send + 'a) -> Self {
        Self(Some(Box::new(plans)))
    }
}

impl Iterator for Claims<'_> {
    type Item = (String, Plan);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.as_mut()?.next()
    }
}

/// Looks and carries out the whole batch of an owner, which is named by its controller and its key. When the server
/// refuses a write, the claims are served one by one, so that no claim waits behind a bad one, and the refusals are reported.
pub(crate) async fn serve<P: Pass>(
    context: &Context,
    (controller, key): (&'static str, &ObjectKey),
    mut observe: impl FnMut() -> Option<P>,
) -> Outcome {
    let (executor, mut passes) = (&context.executor, Passes::default());
    loop {
        let Some(pass) = observe() else { return Outcome::Settled };
        let now = context.clock.now_text();
        let batch = pass.batch(&now);
        context.waits.note_end(controller, key, &batch.after.end);
        let ControlFlow::Break(outcome) = passes.after(all(executor, batch).await) else {
            continue;
        };
        if let Outcome::Failed(failure) = &outcome
            && refusal(failure).is_some()
        {
            one_by_one(&now, observe, |plan| async move { executor.act(&plan).await }).await;
        }
        return outcome;
    }
}

/// Carries out every part. Events come once everything is written, or once a write has failed those of the parts before.
async fn all(executor: &Executor, batch: Batch<'_>) -> Result<End, ActError> {
    let Batch { before, claims, after } = batch;
    let mut acting = executor.in_parts();
    acting.act(&before).await?;
    let mut events = Vec::new();
    for (_, mut part) in claims {
        let mut own = std::mem::take(&mut part.events);
        if let Err(error) = acting.act(&part).await {
            acting.record(&events).await;
            return Err(error);
        }
        events.append(&mut own);
    }
    acting.record(&events).await;
    acting.act(&after).await?;
    Ok(after.end)
}

/// Whatever this leaves undone is done by the next try, which the failure brings about anyway.
async fn one_by_one<P: Pass, F: Future<Output = Result<(), ActError>>>(
    now: &str,
    mut observe: impl FnMut() -> Option<P>,
    mut act: impl FnMut(Plan) -> F,
) {
    let Some(pass) = observe() else { return };
    let mut refusals = Refusals::new();
    let parts = pass.batch(now);
    if act(parts.before).await.is_err() {
        return;
    }
    for (claim, part) in parts.claims {
        if let Err(failure) = act(part).await
            && let Some(words) = refusal(&failure)
        {
            refusals.insert(claim, words);
        }
    }
    let Some(mut pass) = observe() else { return };
    pass.refuse(refusals);
    let batch = pass.batch(now);
    for part in batch.claims.map(|(_, part)| part).chain([batch.after]) {
        if let Err(failure) = act(part).await {
            debug!(error = %failure, "write failed; the next pass retries");
        }
    }
}

/// The server's words, if it looked at the write and did not want it, or a webhook that must be asked is away, which may
/// last. Overload, absence and a session that ended are no refusals.
pub(crate) fn refusal(failure: &ActError) -> Option<Text> {
    match &failure.source {
        ApiError::Refused { code, message, .. }
            if (400..500).contains(code) && !matches!(code, 401 | 429) =>
        {
            Some(Text::new(message))
        }
        ApiError::WebhookUnavailable { message, .. } => Some(Text::new(message)),
        _ => None,
    }
}

/// Older claims first, then by name: equal input gives equal answers.
pub(crate) fn by_age(a: &ObjectMeta, b: &ObjectMeta) -> Ordering {
    let age = |meta: &ObjectMeta| meta.creation_timestamp.as_ref().map(|time| time.0);
    age(a).cmp(&age(b)).then_with(|| a.name_str().cmp(b.name_str()))
}

/// A status that changes with every claim is written at most once a second: claims that trickle in share a write.
pub(crate) fn may_write_status(last_updated: Option<&str>, now: &str) -> bool {
    last_updated != Some(now)
}

/// How a pass ends that may have a status to write later and may wait for something.
pub(crate) fn end(status_is_due: bool, wait: Option<Wait>) -> End {
    match (status_is_due, wait) {
        (true, _) => End::After(STATUS_PACE),
        (false, Some(wait)) => End::WaitFor(wait),
        (false, None) => End::Done,
    }
}

#[cfg(test)]
mod tests {
    use capm3_engine::ResourceKind;
    use futures::{FutureExt, future::ready};
    use serde_json::json;

    use super::*;

    fn creation(name: &str) -> Plan {
        let kind =
            ResourceKind { group: "g".into(), version: "v".into(), kind: "K".into(), plural: "ks".into() };
        let mut plan = Plan::done();
        plan.create_value(kind, ObjectKey::new("n", name), json!({}));
        plan
    }

    /// Each claim makes an object of its name; a refused one makes `refused-<name>-<reason>` instead.
    #[derive(Default)]
    struct Three {
        refused: Refusals,
    }

    impl Pass for Three {
        fn batch<'a>(&'a self, _now: &'a str) -> Batch<'a> {
            let claim = |name: &str| {
                let refused = self.refused.get(name).map(|words| format!("refused-{name}-{words}"));
                (name.to_owned(), creation(&refused.unwrap_or_else(|| name.to_owned())))
            };
            let claims = Claims::new(["a", "bad", "c"].into_iter().map(claim));
            Batch { before: creation("before"), claims, after: creation("after") }
        }

        fn refuse(&mut self, refusals: Refusals) {
            self.refused = refusals;
        }
    }

    fn refuse(code: u16) -> ActError {
        let source = ApiError::Refused { code, reason: "Invalid".into(), message: "no".into() };
        ActError::reading("create", source)
    }

    #[test]
    fn one_refused_claim_is_reported_and_keeps_nobody_waiting() {
        let mut done = Vec::new();
        let act = |plan: Plan| {
            let text = plan.writes[0].to_string();
            if text.ends_with("/bad") {
                return ready(Err(refuse(422)));
            }
            done.push(text.rsplit_once('/').unwrap().1.to_owned());
            ready(Ok(()))
        };
        one_by_one("now", || Some(Three::default()), act).now_or_never().unwrap();
        assert_eq!(done, ["before", "a", "c", "a", "refused-bad-no", "c", "after"]);
    }

    #[test]
    fn an_overloaded_server_refuses_nobody() {
        assert_eq!(refusal(&refuse(422)), Some(Text::new("no")));
        for code in [401, 429, 500, 503] {
            assert_eq!(refusal(&refuse(code)), None, "{code}");
        }
        let source = ApiError::WebhookUnavailable {
            code: 500,
            reason: "InternalError".into(),
            message: "no endpoints".into(),
        };
        assert!(refusal(&ActError::reading("patch", source)).is_some(), "nobody is there to judge it");
    }

    #[test]
    fn the_parts_of_a_batch_are_written_in_order() {
        let plan = Three::default().batch("now").into_plan();
        let names: Vec<String> = plan.writes.iter().map(ToString::to_string).collect();
        assert_eq!(
            names,
            ["create K n/before", "create K n/a", "create K n/bad", "create K n/c", "create K n/after"]
        );
    }
}
