//! The provider's rules: pure decisions over plain data.
//!
//! Takes objects of [`capm3_api`] and gives decisions with their reasons. No client, no clock, no I/O, no
//! randomness: equal input gives equal output, so every rule is tested by a table beside it and the command line
//! tools give the very answers that the controllers act on.

pub mod address;
pub mod capacity;
pub mod cloud_init;
pub mod consumers;
pub mod data_template;
pub mod host;
pub mod index;
pub mod label_sync;
pub mod lint;
pub mod nova;
pub mod numbers;
pub mod pause;
pub mod provider_id;
pub mod release;
pub mod remediation;
pub mod render;
pub mod user_data;
pub mod validation;
pub mod wait;
