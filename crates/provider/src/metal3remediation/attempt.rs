//! One attempt until the host may be powered on: power off, then the Node out of service.
//!
//! The power does not wait for the workload cluster: where that cannot be reached, which may be why the machine is unhealthy,
//! the host is powered on again at once.

use capm3_api::{
    metadata::MetadataExt,
    vocabulary::{event, finalizer},
};
use capm3_domain::{
    remediation::{Drain, Phase, PowerOff, RemediationWait, is_supported},
    wait::{Text, Wait},
};
use jiff::SignedDuration;

use super::{
    Decision, Question,
    decide::Target,
    node::{self, NodePart},
    pass::Pass,
};
use crate::{finalizers::add_finalizer, plan::End, workload::Remains};

/// Begins the first attempt, or the one that was interrupted.
pub(super) fn begin(mut pass: Pass<'_>, target: &Target<'_>) -> Decision {
    pass.begin();
    power_off(&mut pass, target);
    let (attempt, attempts) = (pass.progress.retry_count + 1, target.strategy.attempts());
    let host = target.host.metadata.name_str();
    let message = format!("attempt {attempt} of {attempts}: power-cycling host {host}");
    pass.event(false, event::REMEDIATION_STARTED, message);
    wait_for_power_off(pass, target)
}

/// Begins the attempt after one that has failed.
pub(super) fn begin_again(mut pass: Pass<'_>, target: &Target<'_>) -> Decision {
    pass.begin();
    power_off(&mut pass, target);
    let (attempt, attempts) = (pass.progress.retry_count + 1, target.strategy.attempts());
    let machine = target.machine.metadata.name_str();
    let message = format!("Machine {machine} is still unhealthy: attempt {attempt} of {attempts} begins");
    pass.event(true, event::REMEDIATION_RETRIED, message);
    wait_for_power_off(pass, target)
}

/// The next step of an attempt.
pub(super) fn proceed(mut pass: Pass<'_>, target: &Target<'_>) -> Decision {
    if pass.power_off_of(target.host).is_none() {
        // The attempt was recorded and not begun, as where a write is refused: its time begins when the host is asked.
        pass.restart();
        power_off(&mut pass, target);
        return wait_for_power_off(pass, target);
    }
    let Some(rest) = pass.rest(&target.strategy) else {
        let host = target.host.metadata.name_str();
        let message = format!("powering host {host} on again: the attempt has lasted too long");
        return power_on(pass, target, true, message);
    };
    // Without it, what is done to the Node from here on would not be taken back.
    add_finalizer(&mut pass.new.metadata, finalizer::REMEDIATION);
    power_off(&mut pass, target);
    if target.host.status.powered_on != Some(false) {
        return wait_for_power_off(pass, target);
    }
    // Half of the time is for the Node to come back.
    let rest = rest - (target.strategy.timeout - target.strategy.half());
    take_node_out_of_service(pass, target, rest)
}

/// Asks for the power to be off, softly at first if the strategy says so.
fn power_off(pass: &mut Pass<'_>, target: &Target<'_>) {
    let elapsed = pass.rest(&target.strategy).map(|rest| target.strategy.timeout - rest);
    let is_late = elapsed.is_none_or(|elapsed| elapsed >= target.strategy.half());
    let mode = match target.strategy.power_off {
        PowerOff::Soft if !is_late => PowerOff::Soft,
        _ => PowerOff::Hard,
    };
    // A host that is off stays off, however that was asked for.
    let is_there = pass.power_off_of(target.host).map(PowerOff::of_annotation);
    if is_there.is_none() || (is_there == Some(PowerOff::Soft) && mode == PowerOff::Hard) {
        pass.set_power_off(target.host, Some(mode.annotation()));
    }
}

fn wait_for_power_off(pass: Pass<'_>, target: &Target<'_>) -> Decision {
    let (strategy, rest) = (&target.strategy, pass.rest(&target.strategy));
    let rest = rest.unwrap_or(SignedDuration::ZERO);
    let until_hard = rest - (strategy.timeout - strategy.half());
    let is_soft = strategy.power_off == PowerOff::Soft && until_hard > SignedDuration::ZERO;
    let wait = RemediationWait::PowerOff { host: target.host.metadata.name_str().to_owned(), is_soft };
    pass.wait_at_most(wait, if is_soft { until_hard } else { rest })
}

fn take_node_out_of_service(pass: Pass<'_>, target: &Target<'_>, rest: SignedDuration) -> Decision {
    let host = target.host.metadata.name_str();
    let on = |why: &str| format!("powering host {host} on again: {why}");
    let found = match node::part(pass.snapshot) {
        NodePart::None => return power_on(pass, target, false, on("its Machine has no Node")),
        NodePart::Forbidden => {
            let message =
                on("the provider has no permission to read or change Nodes, so the Node is left unchanged");
            return power_on(pass, target, true, message);
        }
        NodePart::Unreachable(cause) => {
            let message = on(&format!("the workload cluster cannot be reached: {cause}"));
            return power_on(pass, target, true, message);
        }
        NodePart::NotKnown(_) if rest <= SignedDuration::ZERO => {
            return power_on(
                pass,
                target,
                true,
                on("the Nodes of the workload cluster are not known in time"),
            );
        }
        NodePart::NotKnown(cluster) => {
            let wait = Wait::Nodes(cluster.name.clone());
            return pass.wait_at_most(wait, rest).connecting(Some(cluster));
        }
        NodePart::Absent(_) => return power_on(pass, target, false, on("its Node is gone")),
        NodePart::There(found) => found,
    };
    let name = found.metadata.name_str().to_owned();
    if rest <= SignedDuration::ZERO {
        let message = on(&format!("what runs on Node {name} does not end in time"));
        return power_on(pass, target, true, message);
    }
    if found.metadata.is_deleting() {
        return pass.wait_at_most(RemediationWait::NodeDeletion(name), rest);
    }
    let Some(question) = pass.snapshot.node_to_read() else {
        return power_on(pass, target, false, on("its Machine has no Node"));
    };
    // The record alone does not prove that the taint is there: the Node is read.
    let Some(whole) = node::answer(pass.snapshot, &question) else {
        return Decision::ask(Question::Node(question));
    };
    if node::is_tainted(&pass, whole) {
        return drain(pass, target, name, rest);
    }
    let version = pass.snapshot.answers.version.as_ref().filter(|(of, _)| *of == question.cluster);
    match version {
        None => Decision::ask(Question::Version(question.cluster)),
        Some((_, version)) if is_supported(*version) => node::taint(pass, question, whole),
        Some(_) => node::delete(pass, question, whole, rest),
    }
}

/// The Node has the taint: what ran there goes, or it is not waited for any longer.
fn drain(pass: Pass<'_>, target: &Target<'_>, node: String, rest: SignedDuration) -> Decision {
    let watched = pass.snapshot.node_to_read();
    let drain = match &pass.snapshot.remains {
        Remains::Listed { pods, volumes } if pods.is_empty() && volumes.is_empty() => {
            let host = target.host.metadata.name_str();
            let message = format!("powering host {host} on again: nothing is left of Node {node}");
            return power_on(pass, target, false, message);
        }
        Remains::Listed { pods, volumes } => {
            Drain { node, pods: pods.clone(), volumes: volumes.clone(), unknown: None }
        }
        Remains::Unknown(cause) => Drain { node, unknown: Some(Text::new(cause)), ..Drain::default() },
        Remains::NotListed => Drain { node, ..Drain::default() },
    };
    pass.wait_at_most(RemediationWait::Drain(drain), rest).draining(watched)
}

/// Lets the host have power again. The phase is recorded first: the other way round, the host would be powered off twice.
fn power_on(mut pass: Pass<'_>, target: &Target<'_>, is_warning: bool, message: String) -> Decision {
    pass.progress.phase = Phase::Waiting;
    pass.set_power_off(target.host, None);
    pass.event(is_warning, event::POWER_ON_REQUESTED, message);
    pass.finish(End::Again)
}
