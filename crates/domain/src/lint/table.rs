//! The rules by code.

use super::{Rule, consumer, document, manifest};

/// Every rule, in the order of the codes. A code is never used again for something else.
pub const RULES: &[Rule] = &[
    manifest::unreadable::RULE,
    manifest::refused::RULE,
    manifest::expressions_map::RULE,
    manifest::dangling_reference::RULE,
    manifest::wrong_kind::RULE,
    manifest::unknown_key::RULE,
    manifest::repeated_key::RULE,
    manifest::no_nova_document::RULE,
    manifest::secret_left_behind::RULE,
    manifest::host_name::RULE,
    manifest::external_cloud_provider::RULE,
    manifest::misplaced_domain_data::RULE,
    manifest::no_host::RULE,
    manifest::few_hosts::RULE,
    manifest::small_pool::RULE,
    manifest::pool_overlap::RULE,
    manifest::template_overlap::RULE,
    manifest::pool_gateway::RULE,
    manifest::pool_special_address::RULE,
    manifest::empty_range::RULE,
    document::duplicate_address::RULE,
    manifest::domain_without_host::RULE,
    manifest::range_gateway::RULE,
    document::dangling_link::RULE,
    document::no_address::RULE,
    document::no_gateway::RULE,
    document::no_match::RULE,
    document::mac::RULE,
    document::duplicate_id::RULE,
    document::vlan_parent::RULE,
    document::vlan_id::RULE,
    document::device_name::RULE,
    document::gateway_outside::RULE,
    document::special_address::RULE,
    document::family::RULE,
    document::bond_parameter::RULE,
    document::default_routes::RULE,
    document::mtu::RULE,
    document::bond_members::RULE,
    document::bond_mode::RULE,
    document::empty_value::RULE,
    document::unused_link::RULE,
    document::no_dns::RULE,
    document::member_address::RULE,
    document::other_service::RULE,
    consumer::cloud_init_refuses::RULE,
    consumer::cloud_init_drops::RULE,
    consumer::network_manager_refuses::RULE,
    consumer::glean_fails::RULE,
    consumer::glean_drops::RULE,
    consumer::talos_fails::RULE,
    consumer::talos_drops::RULE,
    consumer::nova_schema::RULE,
];

/// The rule of a code.
pub fn rule(code: &str) -> Option<&'static Rule> {
    RULES.iter().find(|rule| rule.code.as_str() == code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_ascend_and_every_rule_says_what_why_and_what_helps() {
        assert!(RULES.is_sorted_by(|one, next| one.code < next.code));
        for rule in RULES {
            let Rule { code, title, why, mend, example, .. } = rule;
            assert!(code.as_str().starts_with("CAPM3-L") && code.as_str().len() == 10, "{code}");
            assert!(!title.ends_with('.') && title.len() < 90, "{code}: {title}");
            assert!(why.ends_with('.') && mend.len() > 10, "{code}");
            assert_ne!(example.wrong, example.right, "{code}");
        }
    }
}
