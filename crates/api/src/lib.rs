//! The kinds of Cluster API Provider Metal3 and what it reads of its neighbours.
//!
//! Takes nothing and decides nothing: types, names, schemas and the
//! conversion between versions only. [`v1beta2`] are the provider's own kinds, [`v1beta1`] their older form,
//! [`ipam`] the address kinds of the built-in address manager, [`neighbours`] narrow, all-optional views of foreign
//! kinds, [`vocabulary`] every label, annotation, finalizer, condition and reason once, [`crd`] what an API
//! server needs to serve the kinds. Foreign kinds are never written whole, so a view may leave out what it does
//! not need.

mod compact_deserialize;
pub mod conditions;
pub mod conversion;
pub mod crd;
pub mod ipam;
mod kind;
pub mod metadata;
pub mod neighbours;
pub mod reference;
mod schema;
pub mod v1beta1;
pub mod v1beta2;
pub mod vocabulary;

pub use kind::ApiKind;
