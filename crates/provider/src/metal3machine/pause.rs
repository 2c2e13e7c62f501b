//! Pause: the machine is left alone, and while its Cluster is paused its host is, so that both can be moved.

use super::{
    associate,
    decide::{Pass, Step},
    live_reads::Question,
};
use crate::{
    host_patch::{push_annotations, push_annotations_at},
    plan::End,
};
use capm3_api::{
    conditions::find,
    metadata::MetadataExt,
    neighbours::{BareMetalHost, Cluster},
    vocabulary::{annotation, condition, reason},
};
use capm3_domain::{
    host::{Ownership, annotated_host},
    pause::{pause, unpause},
    wait::{Pause, Wait},
};

/// Passes unless machine or Cluster are paused; brings the host in line with the Cluster either way.
pub(super) fn run(pass: &mut Pass<'_>, cluster: Option<&Cluster>) -> Step {
    let cluster_rests = cluster.is_some_and(Cluster::is_paused);
    let is_annotated = pass.new.metadata.annotation(annotation::PAUSED).is_some();
    let pause = Pause::of("Metal3Machine", is_annotated && !cluster_rests, cluster_rests);
    if let Err(error) = annotated_host(&pass.snapshot.metal3_machine) {
        let wait = Wait::HostRecord(error);
        pass.status().pause_failed(cluster_rests, &wait);
        return Err(End::WaitFor(wait));
    }
    if pause.is_some() && own_host(pass).is_some() {
        associate::remember_user_data(pass);
    }
    if cluster_rests {
        rest_host(pass)?;
    } else if let Some(cluster) = cluster {
        wake_host(pass, cluster.metadata.name_str());
    }
    pass.status().paused(pause.as_ref());
    pause.map_or(Ok(()), |pause| Err(End::WaitFor(Wait::Paused(pause))))
}

/// The conditions of a machine that goes must not report a pause that has ended.
pub(super) fn clear_pause_conditions(pass: &mut Pass<'_>) {
    let paused = find(&pass.new.status.conditions, condition::PAUSED);
    if paused.is_none_or(|paused| paused.reason == reason::NOT_PAUSED) {
        return;
    }
    pass.status().paused(None);
    if own_host(pass).is_some() {
        pass.status().host_taken();
    }
}

fn own_host<'a>(pass: &Pass<'a>) -> Option<&'a BareMetalHost> {
    let host = pass.snapshot.host.as_deref()?;
    (pass.snapshot.ownership(host) == Ownership::Ours).then_some(host)
}

/// The host is paused with its whole status beside it, which only the server has.
fn rest_host(pass: &mut Pass<'_>) -> Step {
    let Some(host) = own_host(pass) else { return Ok(()) };
    let is_paused = host.metadata.annotation(annotation::HOST_PAUSED).is_some();
    if is_paused && host.metadata.annotation(annotation::BLOCK_MOVE).is_none() {
        return Ok(());
    }
    let question = Question::WholeHost(host.metadata.name_str().to_owned());
    if !is_paused && !pass.snapshot.live.has_answered(&question) {
        return Err(pass.ask(question));
    }
    let whole = pass.snapshot.live.whole_host();
    let status = whole.and_then(|host| host.get("status")).cloned().unwrap_or_default();
    let version =
        whole.and_then(|host| host.pointer("/metadata/resourceVersion")?.as_str().map(str::to_owned));
    let version = version.or_else(|| host.metadata.resource_version.clone());
    if let Some(annotations) = pause(host.metadata.annotations.as_ref(), &status) {
        push_annotations_at(&mut pass.others, host, version, annotations);
    }
    Ok(())
}

fn wake_host(pass: &mut Pass<'_>, cluster: &str) {
    let Some(host) = own_host(pass) else { return };
    if let Some(annotations) = unpause(host, cluster) {
        pass.wakes_host = true;
        push_annotations(&mut pass.others, host, annotations);
    }
}
