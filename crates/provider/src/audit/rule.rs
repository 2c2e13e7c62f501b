//! One rule of the audit as data, and the table of all rules.
//!
//! The table is what the audit runs, what `--explain` prints and what `docs/audit.md` is made of. A rule looks at a [`View`]
//! and gives findings; it reads and writes nothing else.

use super::{Finding, Severity, View, rules};

/// A rule.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// Its code, which stays the same from release to release.
    pub code: &'static str,
    /// How bad it is what it finds.
    pub severity: Severity,
    /// What it finds, in a few words.
    pub title: &'static str,
    /// How it comes about and why it matters.
    pub why: &'static str,
    /// How it is repaired.
    pub repair: &'static str,
    pub(super) find: fn(&View<'_>) -> Vec<Finding>,
}

/// Every rule, by code.
pub const RULES: &[Rule] = &[
    rules::vanished_machine::RULE,
    rules::second_host::RULE,
    rules::unrecorded_host::RULE,
    rules::lost_host::RULE,
    rules::host_of_another::RULE,
    rules::two_machines::RULE,
    rules::provider_id::RULE,
    rules::machine_provider_id::RULE,
    rules::node_without_machine::RULE,
    rules::node_twice::RULE,
    rules::free_with_image::RULE,
    rules::free_with_dead_secret::RULE,
    rules::free_with_cluster_label::RULE,
    rules::blocked_move::RULE,
    rules::dead_reservation::RULE,
    rules::forgotten_pause::RULE,
    rules::pause_of_a_person::RULE,
    rules::undated_mark::RULE,
    rules::old_mark::RULE,
    rules::left_powered_off::RULE,
    rules::stale_request::RULE,
    rules::owned_host::RULE,
    rules::host_without_secret::RULE,
    rules::same_boot_mac::RULE,
    rules::claim_without_machine::RULE,
    rules::claim_without_data::RULE,
    rules::data_without_claim::RULE,
    rules::superseded_data::RULE,
    rules::same_index::RULE,
    rules::data_without_template::RULE,
    rules::template_status::RULE,
    rules::machine_without_data::RULE,
    rules::data_without_secret::RULE,
    rules::other_content::RULE,
    rules::secret_without_data::RULE,
    rules::address_without_claim::RULE,
    rules::ip_claim_without_data::RULE,
    rules::claim_without_address::RULE,
    rules::same_address::RULE,
    rules::pool_gone::RULE,
    rules::pool_status::RULE,
    rules::two_addresses::RULE,
    rules::machine_without_owner::RULE,
    rules::stale_finalizer::RULE,
    rules::long_deletion::RULE,
    rules::remediation_without_machine::RULE,
    rules::cluster_gone::RULE,
    rules::owner_gone::RULE,
    rules::conversion_left::RULE,
];
