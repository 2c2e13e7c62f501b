//! Whose the metadata and the network data are that a blank host names before its machine writes to it.
//!
//! Takes the host and the metadata of the Secrets that it names; gives the references that are a user's own, and those of
//! which nothing is seen. Decides nothing about data that the machine brings itself: that replaces what is there.

use std::collections::{BTreeMap, BTreeSet};

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{BareMetalHost, SecretMetadata},
    reference::SecretRef,
    v1beta2::{GROUP, Metal3Data, Metal3Machine},
    vocabulary::reason,
};
use capm3_engine::{ObjectKey, Reader};

use super::{
    decide::{Pass, Step},
    live_reads::Question,
};
use crate::host_patch::is_blank;

/// What is known of the data that a blank host names; empty for any other host.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostData {
    /// Members of the spec that name a Secret of a user: it is there, and no Metal3Data owns it.
    pub of_users: BTreeSet<&'static str>,
    /// Members of the spec that name a Secret which is not seen, with its name.
    pub unseen: BTreeMap<&'static str, String>,
}

/// Looks at the Secrets that the host names.
pub(super) fn observe(reader: &impl Reader, host: &BareMetalHost) -> HostData {
    let mut known = HostData::default();
    for (field, reference) in references(host).into_iter().filter(|_| is_blank(host)) {
        let Some(reference) = reference.filter(|reference| !reference.name_str().is_empty()) else {
            continue;
        };
        let home = host.metadata.namespace_str();
        let namespace = reference.namespace.as_deref().filter(|namespace| !namespace.is_empty());
        // No machine names a Secret of another namespace.
        if namespace.is_some_and(|namespace| namespace != home) {
            known.of_users.insert(field);
            continue;
        }
        match reader.get::<SecretMetadata>(&ObjectKey::new(home, reference.name_str())) {
            Some(secret) if is_rendered(&secret) => {}
            Some(_) => {
                known.of_users.insert(field);
            }
            None => {
                known.unseen.insert(field, reference.name_str().to_owned());
            }
        }
    }
    known
}

/// Passes once it is known of each Secret on the host that the machine would take off whether it is there. One that
/// is there and is not seen yet may be a user's; a reference to one that is gone would keep the host from being
/// provisioned.
pub(super) fn confirm(pass: &mut Pass<'_>) -> Step {
    let host_goes = pass.snapshot.host.as_ref().is_none_or(|host| host.metadata.is_deleting());
    if host_goes || pass.new.status.user_data.is_none() {
        return Ok(());
    }
    for (field, name) in &pass.snapshot.host_data.unseen {
        if !brings(&pass.new, field) {
            pass.prove(Question::HostData(name.clone()), |status, wait| {
                status.meta_data_fails(reason::CREATE_ERROR, wait);
            })?;
        }
    }
    Ok(())
}

/// The references of a host to data beside its user data.
pub(crate) fn references(host: &BareMetalHost) -> [(&'static str, Option<&SecretRef>); 2] {
    [("metaData", host.spec.meta_data.as_ref()), ("networkData", host.spec.network_data.as_ref())]
}

fn brings(machine: &Metal3Machine, field: &str) -> bool {
    match field {
        "metaData" => machine.status.meta_data.is_some(),
        _ => machine.status.network_data.is_some(),
    }
}

/// Whether the Secret was rendered for a machine. It stays so while its Metal3Data is being deleted.
fn is_rendered(secret: &SecretMetadata) -> bool {
    secret.metadata.owner(GROUP, Metal3Data::API.kind).is_some()
}
