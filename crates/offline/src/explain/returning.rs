//! Hosts that are in use by a machine that goes, and so come back.

use std::sync::Arc;

use capm3_api::{
    metadata::MetadataExt, neighbours::BareMetalHost, v1beta2::Metal3Machine, vocabulary::host_state,
};
use capm3_domain::host::{Eligibility, HostRequest, eligibility, reuse_label};
use capm3_engine::{ObjectKey, Reader};
use capm3_provider::metal3machine::MachineSnapshot;

use super::Site;

/// Name of the machine that is being deleted and has this host.
pub(super) fn leaving_consumer(site: &Site, host: &BareMetalHost) -> Option<String> {
    let consumer = host.spec.consumer_ref.as_ref()?;
    let name = consumer.name.as_deref().filter(|_| consumer.kind.as_deref() == Some("Metal3Machine"))?;
    let machine = site.objects.get::<Metal3Machine>(&ObjectKey::new(host.metadata.namespace_str(), name))?;
    machine.metadata.is_deleting().then(|| name.to_owned())
}

/// What is done with a host before it comes back and suits this machine: its state, and for whom.
pub(super) fn comes_back(site: &Site, snapshot: &MachineSnapshot<'_>, name: &str) -> Option<String> {
    let key = ObjectKey::new(snapshot.metal3_machine.metadata.namespace_str(), name);
    let host: Arc<BareMetalHost> = site.objects.get(&key)?;
    let leaving = leaving_consumer(site, &host)?;
    let mut back = host.as_ref().clone();
    back.spec.consumer_ref = None;
    back.spec.image = None;
    back.spec.custom_deploy = None;
    back.status.provisioning.state = Some(host_state::AVAILABLE.into());
    let machine = snapshot.machine.as_deref().cloned().unwrap_or_default();
    let reuse = reuse_label(&machine, snapshot.machine_set.as_deref());
    let request = HostRequest::new(&snapshot.metal3_machine, &machine, reuse);
    let suits = matches!(eligibility(&request, &back), Eligibility::Free | Eligibility::Reserved);
    suits.then(|| format!("{} for {leaving}", host.state()))
}
