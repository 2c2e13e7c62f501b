//! What is done about an orphaned host: report it, and release it on request.
//!
//! Nothing here clears a host without a request on it, and without proof that its machine is gone before each step.

use std::time::Duration;

use crate::plan::Plan;
use capm3_api::v1beta2::Metal3Machine;
use capm3_engine::{ActError, Object, ObjectKey, Outcome, Reader, absence::Verdict, drive};

use tokio::time::Instant;
use tracing::warn;

use super::{
    HostSnapshot, Orphan,
    decide::{Request, judge_request, refuse_release, release, report, request_release},
    observe,
    orphans::Due,
    reconcile::confirm_end_of_pause,
};
use crate::context::Context;

/// Reports the host and carries out a request for its release.
pub(super) async fn reconcile(context: &Context, snapshot: &HostSnapshot, orphan: &Orphan) -> Outcome {
    let host = snapshot.host.as_ref();
    let (since, due) = context.orphans.note(&host.key(), orphan);
    if due == Due::Now
        && let Err(error) = context.executor.act(&report(host, orphan)).await
    {
        return Outcome::Failed(error);
    }
    let released = match judge_request(host, orphan) {
        _ if snapshot.rests => Outcome::Settled,
        Request::Stands(machine) => release_step(context, &host.key(), &machine).await,
        Request::Refused(why) => drive_once(context, refuse_release(host, &why)).await,
        Request::None => match (context.release_orphans_after, orphan) {
            (Some(after), Orphan::NotFound(machine)) => {
                release_by_flag(context, snapshot, machine, after, since).await
            }
            _ => Outcome::Settled,
        },
    };
    match (due, released) {
        (Due::In(left), Outcome::Settled) => Outcome::After(left),
        (Due::In(left), Outcome::After(other)) => Outcome::After(left.min(other)),
        (_, released) => released,
    }
}

/// Asks for the release of a host that is orphaned for long enough.
async fn release_by_flag(
    context: &Context,
    snapshot: &HostSnapshot,
    machine: &ObjectKey,
    after: Duration,
    since: Instant,
) -> Outcome {
    let left = after.saturating_sub(since.elapsed());
    if !left.is_zero() {
        return Outcome::After(left);
    }
    match prove(context, &snapshot.host.key(), machine).await {
        Ok(()) => drive_once(context, request_release(&snapshot.host, machine)).await,
        Err(outcome) => outcome,
    }
}

/// Carries out the request as the deletion of the machine would: clear, wait for the host to be deprovisioned, release.
async fn release_step(context: &Context, host: &ObjectKey, machine: &ObjectKey) -> Outcome {
    if let Err(outcome) = prove(context, host, machine).await {
        return outcome;
    }
    if let Err(source) = confirm_end_of_pause(context, host).await {
        return Outcome::Failed(ActError::reading(format!("read the Cluster of {host}"), source));
    }
    drive(&context.executor, || match observe(&*context.caches, host) {
        Some(snapshot) if may_release(context, &snapshot, machine) => {
            release(&snapshot.host, machine, context.fast_track)
        }
        _ => Plan::done(),
    })
    .await
}

/// Whether the host is still the orphan of this machine, the request stands, and the proof holds.
fn may_release(context: &Context, snapshot: &HostSnapshot, machine: &ObjectKey) -> bool {
    let stands = snapshot.orphan.as_ref().map(|orphan| judge_request(&snapshot.host, orphan));
    stands == Some(Request::Stands(machine.clone()))
        && !snapshot.rests
        && context.caches.is_known_gone::<Metal3Machine>(machine, None)
}

/// Passes only with proof that the machine is gone.
async fn prove(context: &Context, host: &ObjectKey, machine: &ObjectKey) -> Result<(), Outcome> {
    match context.prove_absent::<Metal3Machine>(machine).await {
        Ok(Verdict::Gone) => Ok(()),
        // It is in the cache now, and wakes the host.
        Ok(Verdict::Present) => Err(Outcome::Settled),
        Ok(Verdict::Unknown(doubt)) => {
            warn!(%host, "the host is not released: cannot confirm that Metal3Machine {machine} is gone: {doubt}; retries");
            Err(Outcome::After(doubt.retry_after()))
        }
        Err(source) => {
            Err(Outcome::Failed(ActError::reading(format!("read Metal3Machine {machine}"), source)))
        }
    }
}

async fn drive_once(context: &Context, plan: Plan) -> Outcome {
    match context.executor.act(&plan).await {
        Ok(()) => Outcome::Settled,
        Err(error) => Outcome::Failed(error),
    }
}
