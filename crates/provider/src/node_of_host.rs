//! Whether a Node runs on a host.

use capm3_api::{metadata::MetadataExt, neighbours::BareMetalHost, v1beta2::Metal3Machine};
use capm3_domain::provider_id::{ProviderId, SomeProviderId};

/// Whether the provider ID of a Node names another host. An older form, which has the uid that the host had before a
/// move, is the host's if it is the machine's own; a Node without an ID is, since the Machine names it.
pub(crate) fn is_on_another_host(
    provider_id: Option<&str>,
    host: &BareMetalHost,
    machine: &Metal3Machine,
) -> bool {
    let Some(found) = provider_id.filter(|id| !id.is_empty()) else { return false };
    let metadata = &host.metadata;
    let expected =
        ProviderId::new(metadata.namespace_str(), metadata.name_str(), machine.metadata.name_str());
    !found.parse().is_ok_and(|id: SomeProviderId| match &id {
        SomeProviderId::Current(id) => id.same_host(&expected),
        _ => {
            id.is_of_host(&expected, metadata.uid_str()) || machine.spec.provider_id.as_deref() == Some(found)
        }
    })
}
