//! The rules, one file each, and what several of them need.

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{BareMetalHost, CAPI_GROUP, Machine},
    reference::SecretRef,
    v1beta2::Metal3Machine,
};
use capm3_engine::{Object, ObjectKey};

pub(super) mod address_without_claim;
pub(super) mod blocked_move;
pub(super) mod claim_without_address;
pub(super) mod claim_without_data;
pub(super) mod claim_without_machine;
pub(super) mod cluster_gone;
pub(super) mod conversion_left;
pub(super) mod data_without_claim;
pub(super) mod data_without_secret;
pub(super) mod data_without_template;
pub(super) mod dead_reservation;
pub(super) mod forgotten_pause;
pub(super) mod free_with_cluster_label;
pub(super) mod free_with_dead_secret;
pub(super) mod free_with_image;
pub(super) mod host_of_another;
pub(super) mod host_without_secret;
pub(super) mod ip_claim_without_data;
pub(super) mod left_powered_off;
pub(super) mod long_deletion;
pub(super) mod lost_host;
pub(super) mod machine_provider_id;
pub(super) mod machine_without_data;
pub(super) mod machine_without_owner;
pub(super) mod node_twice;
pub(super) mod node_without_machine;
pub(super) mod old_mark;
pub(super) mod other_content;
pub(super) mod owned_host;
pub(super) mod owner_gone;
pub(super) mod pause_of_a_person;
pub(super) mod pool_gone;
pub(super) mod pool_status;
pub(super) mod provider_id;
pub(super) mod remediation_without_machine;
pub(super) mod same_address;
pub(super) mod same_boot_mac;
pub(super) mod same_index;
pub(super) mod second_host;
pub(super) mod secret_without_data;
pub(super) mod stale_finalizer;
pub(super) mod stale_request;
pub(super) mod superseded_data;
pub(super) mod template_status;
pub(super) mod two_addresses;
pub(super) mod two_machines;
pub(super) mod undated_mark;
pub(super) mod unrecorded_host;
pub(super) mod vanished_machine;

use super::{
    finding::{Finding, Severity},
    repair::{Repair, Step},
    rule::Rule,
    view::{View, beside, is_in_use},
};

use data_without_claim::repair as delete_data;

/// The Secrets that a host names, by field.
fn secrets_of(host: &BareMetalHost) -> Vec<(&'static str, &SecretRef)> {
    let spec = &host.spec;
    let all =
        [("userData", &spec.user_data), ("metaData", &spec.meta_data), ("networkData", &spec.network_data)];
    all.into_iter().filter_map(|(field, secret)| Some((field, secret.as_ref()?))).collect()
}

/// The Machine that owns a Metal3Machine, if it names one.
fn owner_name(machine: &Metal3Machine) -> Option<String> {
    machine.metadata.owner(CAPI_GROUP, Machine::API.kind).map(|owner| owner.name.clone())
}

/// To delete the Machine that owns a Metal3Machine, or the Metal3Machine itself if nobody owns it.
fn delete_machine(owner: Option<String>, machine: &Metal3Machine) -> Step {
    match owner {
        Some(owner) => {
            let ObjectKey { namespace, .. } = machine.key();
            Step::Run(format!("kubectl delete machine {owner} -n {namespace}"))
        }
        None => Step::delete(machine),
    }
}
