//! The host operator: takes BareMetalHosts through their states.
//!
//! `decide` is the state machine, `desired` what is wanted of a host, `hardware` what inspection finds, `drive` what a node finds on its config drive.
//! It never touches consumers, labels or anything in a host's spec. Woken by the host itself and by the Secrets
//! that its config drive needs.

mod decide;
mod desired;
mod drive;
mod hardware;
mod status;

use std::{sync::Arc, time::Duration};

use capm3_api::vocabulary::host_state::{PROVISIONED, PROVISIONING};
use capm3_engine::{Controller, Object, ObjectKey, Outcome, Plan, Reader};

pub(crate) use self::decide::{Drive, Snapshot, decide};
use self::desired::needs_drive;
pub(crate) use self::desired::phase;
pub(crate) use self::drive::{Problem, assemble, read};
use crate::{
    context::{self, Context},
    kinds::BareMetalHost,
};

/// When a Secret that could not be read is tried again.
const READ_AGAIN: Duration = Duration::from_secs(1);

/// Finalizer of the operator.
pub(crate) const FINALIZER: &str = "baremetalhost.metal3.io";

pub(crate) fn controller(context: &Arc<Context>) -> Controller {
    context::controller("hosts", &context.queues.hosts, context, reconcile)
}

async fn reconcile(context: Arc<Context>, key: ObjectKey) -> Outcome {
    let Some(host) = context.caches.get::<BareMetalHost>(&key) else {
        context.host_watch.stop(&key);
        context.config_drives.forget(&key);
        return Outcome::Settled;
    };
    if !matches!(host.state(), PROVISIONING | PROVISIONED) {
        context.config_drives.close(&key);
    }
    let drive = match prepare(&context, &host).await {
        Ok(drive) => drive,
        Err(outcome) => return outcome,
    };
    context
        .drive(|| match context.caches.get::<BareMetalHost>(&key) {
            Some(host) => {
                let left = left(&context, &host);
                decide(&Snapshot { host, now: context.clock.now_text(), left, drive: drive.clone() })
            }
            None => Plan::done(),
        })
        .await
}

/// Time left of the present phase.
fn left(context: &Context, host: &BareMetalHost) -> Duration {
    let key = host.key();
    match phase(host) {
        Some(phase) => context.host_watch.left(&key, phase, context.pace.duration(phase, &key)),
        None => {
            context.host_watch.stop(&key);
            Duration::ZERO
        }
    }
}

/// Makes the config drive once a deployment and notes what the node will find on it.
async fn prepare(context: &Context, host: &BareMetalHost) -> Result<Drive, Outcome> {
    if !needs_drive(host) {
        return Ok(Drive::NotNeeded);
    }
    if context.config_drives.is_current(&host.key()) {
        return Ok(Drive::Made);
    }
    match read(&context.client, host).await {
        Ok(data) => {
            context.config_drives.put(&host.key(), data);
            Ok(Drive::Made)
        }
        Err(Problem::Refused(problem)) => Ok(Drive::Refused(problem)),
        Err(Problem::NotRead) => Err(Outcome::After(READ_AGAIN)),
    }
}
