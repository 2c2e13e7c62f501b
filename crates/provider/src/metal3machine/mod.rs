//! Metal3Machine: from Machine to host and back.
//!
//! Woken by itself, by its Machine, Cluster and Metal3Cluster, by its host, its claim and its data, by the Nodes of
//! its workload cluster and, while it has no host, in its turn by a host that became usable, or by one that was
//! kept for it and cannot be had any more.

mod associate;
mod data;
mod decide;
mod delete;
mod glance;
mod host_spec;
mod left_behind;
mod line;
mod live;
mod node;
mod observe;
mod offers;
mod pause;
mod refusal;
mod silence;
mod stage;
mod status;
#[cfg(test)]
mod tests;
mod watch;

use std::{sync::Arc, time::Duration};

use crate::plan::Plan;
pub use associate::choose_host;
use capm3_api::{
    neighbours::{Node, SecretMetadata},
    v1beta2::Metal3Machine,
};
use capm3_domain::wait::Refusal;
use capm3_engine::{ActError, ApiError, Controller, ObjectKey, Outcome, Queue, Reader, ResourceKind, drive};

pub use decide::{Awaits, Decision, NodeWrite, decide};
pub use glance::{Glance, Reported, glance};
pub use host_spec::{claim as claim_host, host_annotation};
pub use live::{Live, Question};
pub use observe::{Nodes, Snapshot, observe};
use offers::Offers;
use serde_json::json;
pub use stage::Stage;
use tracing::debug;

use crate::{
    context::{Context, boxed},
    host_crd,
    workload::Workload,
};

pub(crate) fn controller(context: &Context) -> Controller {
    let queue = Arc::new(Queue::default());
    let offers = Arc::new(Offers::default());
    watch::watch(context, &queue, &offers);
    let (context, told) = (context.clone(), Arc::clone(&queue));
    Controller::new(
        "metal3machine",
        queue,
        Arc::new(move |key: ObjectKey| {
            let (context, offers, told) = (context.clone(), Arc::clone(&offers), Arc::clone(&told));
            boxed(async move {
                offers.looks(&key);
                let mut awaits = Awaits::Nothing;
                let outcome = reconcile(&context, &key, &mut awaits).await;
                offers.has_looked(&*context.caches, &key, &awaits).pass_on(&told);
                outcome
            })
        }),
    )
}

/// How many questions one look may put to the server.
const QUESTIONS: usize = 10;

async fn reconcile(context: &Context, key: &ObjectKey, awaits: &mut Awaits) -> Outcome {
    if context.caches.get::<Metal3Machine>(key).is_none() {
        return left_behind::clean_up(context, key).await;
    }
    let mut live = Live::default();
    let lacks = match context.host_crd.lacks(&context.client).await {
        Ok(lacks) => lacks,
        Err(error) => return Outcome::Failed(error),
    };
    let outcome = look_and_act(context, key, awaits, &mut live, &lacks).await;
    if let Outcome::Failed(failure) = &outcome
        && let Some(refusal) = refusal::of(failure)
    {
        let reported = look(context, key, &live, &lacks, Some(refusal));
        if let Err(error) = context.executor.act(&reported.plan).await {
            debug!(%key, %error, cause = %error.source, "the refusal cannot be reported");
        }
    }
    match outcome {
        // Nobody tells of a newer CRD.
        Outcome::Settled if !lacks.is_empty() => Outcome::After(host_crd::AGAIN),
        outcome => outcome,
    }
}

async fn look_and_act(
    context: &Context,
    key: &ObjectKey,
    awaits: &mut Awaits,
    live: &mut Live,
    lacks: &[&'static str],
) -> Outcome {
    for _ in 0..QUESTIONS {
        let mut first = Some(look(context, key, live, lacks, None));
        if let Some(write) = first.as_ref().and_then(|decision| decision.node.clone()) {
            first = None;
            if let Err(source) = tell_node(context, &write).await {
                let what = format!(
                    "set the provider ID of Node {} of workload cluster {}",
                    write.name, write.cluster
                );
                return Outcome::Failed(ActError { what, kind: Some(ResourceKind::of::<Node>()), source });
            }
        }
        // What belongs to a host that is given back cannot be done once the machine is gone.
        if let Some(decision) = first.as_ref().filter(|decision| decision.stage == Stage::Deletion)
            && let Err(error) = try_best(context, key, &decision.best_effort).await
        {
            return Outcome::Failed(error);
        }
        let (mut asked, mut best_effort) = (None, Plan::done());
        let outcome = drive(&context.executor, || {
            let decision = first.take().unwrap_or_else(|| look(context, key, live, lacks, None));
            (asked, best_effort) = (decision.ask, decision.best_effort);
            *awaits = decision.awaits;
            decision.plan
        })
        .await;
        let Some(question) = asked else {
            return match (try_best(context, key, &best_effort).await, outcome) {
                (Err(error), Outcome::Settled) => Outcome::Failed(error),
                (_, outcome) => outcome,
            };
        };
        if let Err(error) = live::ask(context, key, question, live).await {
            return Outcome::Failed(error);
        }
    }
    Outcome::Restless
}

/// Writes of Secrets that are not worth failing for: a refusal is left at that, unless no Secret can be read at present.
/// Anything else is tried again.
async fn try_best(context: &Context, key: &ObjectKey, best_effort: &Plan) -> Result<(), ActError> {
    let secrets = context.caches.health_of(&ResourceKind::of::<SecretMetadata>());
    let is_outage = secrets.is_some_and(|health| !health.state().is_healthy());
    match context.executor.act(best_effort).await {
        Err(error) if error.source.is_transient() || is_outage => Err(error),
        Err(error) => {
            debug!(%key, %error, cause = %error.source, "not done, and not needed");
            Ok(())
        }
        Ok(()) => Ok(()),
    }
}

/// Looks and decides; `refused` is what the server did not want, which is all there is to say then.
fn look(
    context: &Context,
    key: &ObjectKey,
    live: &Live,
    host_lacks: &[&'static str],
    refused: Option<Refusal>,
) -> Decision {
    let workload = |cluster: &ObjectKey| context.workloads.get(cluster);
    let Some(mut snapshot) = observe::observe_to_act(&*context.caches, workload, key) else {
        return Decision { plan: Plan::done(), ..Decision::default() };
    };
    snapshot.fast_track = context.fast_track;
    snapshot.live = live.clone();
    snapshot.host_lacks = host_lacks.to_vec();
    snapshot.refused = refused;
    let decision = decide(&snapshot, &context.clock.now_text());
    if let Some(cluster) = &decision.connect {
        context.workloads.ensure(cluster);
    }
    decision
}

/// How long a workload cluster may take to answer; its silence must not hold up other clusters.
const NODE_WRITE: Duration = Duration::from_secs(10);

/// Writes a provider ID on a Node that has none. A Node that was given another one meanwhile is refused by its API
/// server and judged at the next look.
async fn tell_node(context: &Context, write: &NodeWrite) -> Result<(), ApiError> {
    let Workload::Synced(store, client) = context.workloads.get(&write.cluster) else { return Ok(()) };
    let (kind, key) = (ResourceKind::of::<Node>(), ObjectKey::new("", &write.name));
    let patch = json!({"spec": {"providerID": write.provider_id}});
    let answer = tokio::time::timeout(NODE_WRITE, client.merge_patch(&kind, &key, None, &patch)).await;
    let answer = answer.map_err(|late| ApiError::NoAnswer { source: late.into() }).flatten();
    if let Err(error @ (ApiError::NoAnswer { .. } | ApiError::LimitExceeded(_))) = &answer {
        context.workloads.suspect(&write.cluster, &error.to_string());
    }
    let answer = answer?;
    if let Ok(node) = serde_json::from_value::<Node>(answer) {
        store.apply(node);
    }
    Ok(())
}
