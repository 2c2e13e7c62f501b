//! Rendering: what a Metal3DataTemplate makes of one machine.
//!
//! Takes the template's metadata and network data, the objects of the machine and what its pools gave; gives the
//! bytes of the two documents, the pools that are needed for them, and the Secrets that carry them. Must not ask for
//! anything itself: the caller resolves objects and addresses first. Equal input gives equal bytes, because a node
//! that is provisioned again must find its data unchanged.

mod address;
mod error;
mod inline;
mod links;
mod mac;
mod metadata;
mod network_data;
mod networks;
mod objects;
mod overlap;
#[cfg(test)]
mod parity_metadata_tests;
#[cfg(test)]
mod parity_network_data_tests;
mod pools;
mod remedy;
mod routes;
#[cfg(test)]
mod rows_failures_tests;
#[cfg(test)]
mod rows_metadata_tests;
#[cfg(test)]
mod rows_network_data_tests;
#[cfg(test)]
mod rows_nova_tests;
mod secret;
mod services;
#[cfg(test)]
mod testing;
pub mod yaml;

pub use address::Address;
pub use error::{Problem, RenderError};
pub use inline::{InlineError, inline_address, inline_limit, inline_prefix};
pub(crate) use mac::is_mac;
pub(crate) use metadata::metadata_keys;
pub use metadata::render_meta_data;
pub use network_data::{network_data_value, render_network_data};
pub use objects::{Inputs, Objects};
pub use overlap::{Overlap, overlap};
pub use pools::{PoolPlace, PoolRef, Pools, place_of_pool, referenced_pools};
pub use secret::{Content, RenderedSecret, digest, inputs_digest, secret_name};
