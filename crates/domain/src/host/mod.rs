//! Which host a machine takes, and why not the others.
//!
//! Takes a machine's request ([`HostRequest`]) and the hosts of its namespace, gives a [`HostChoice`]: the outcome and
//! one [`HostVerdict`] for each host that was not taken. Equal input gives equal output whatever the order of the
//! hosts, so retries and replicas agree. Must not claim anything: the claim is a compare-and-swap of the caller.

mod annotation;
mod blocker;
mod choose;
mod consumer;
mod eligibility;
mod label;
mod possible_hosts;
mod recorded_host;
mod rejection;
mod rendezvous;
mod request;
mod reservation_queue;
mod rightful_owner;
mod selector;
mod unrecorded_host;

pub use annotation::{HostAnnotationError, annotated_host};
pub use blocker::{Blocker, blocker};
pub use choose::{Chosen, HostChoice, HostOutcome, QuickChoice, choose, domain_of};
pub use consumer::{Consumer, Ownership, consumer_ref, ownership};
pub use eligibility::{Eligibility, could_be_taken, eligibility, has_image};
pub(crate) use label::{is_subdomain, value_problem};
pub use possible_hosts::{PossibleHosts, Undecided};
pub use recorded_host::{has_user_data_of, is_left_of, is_on_its_way_back, known_host, known_host_uid};
pub use rejection::{HostCounts, HostVerdict, Rejection};
pub use request::{HostRequest, control_plane_label, deployment_label, deployment_of_label, reuse_label};
pub use reservation_queue::{reservation_changed, reservation_order, waits_for_reserved};
pub use rightful_owner::{Bond, Holdings, bond, holdings, rightful_other};
pub use selector::{Requirement, Selector, SelectorError};
pub use unrecorded_host::is_in_use_unrecorded;

#[cfg(test)]
mod rows_tests;
