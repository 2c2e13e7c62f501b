//! Rules about objects, one file each.

mod bootstrap;
mod owners;
mod pools;
mod references;

pub(super) mod dangling_reference;
pub(super) mod domain_without_host;
pub(super) mod empty_range;
pub(super) mod expressions_map;
pub(super) mod external_cloud_provider;
pub(super) mod few_hosts;
pub(super) mod host_name;
pub(super) mod misplaced_domain_data;
pub(super) mod no_host;
pub(super) mod no_nova_document;
pub(super) mod pool_gateway;
pub(super) mod pool_overlap;
pub(super) mod pool_special_address;
pub(super) mod range_gateway;
pub(super) mod refused;
pub(super) mod repeated_key;
pub(super) mod secret_left_behind;
pub(super) mod small_pool;
pub(super) mod template_overlap;
pub(super) mod unknown_key;
pub(super) mod unreadable;
pub(super) mod wrong_kind;
