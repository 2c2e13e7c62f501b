//! Mistakes in manifests and in network data, found before a host boots.
//!
//! Takes the objects of a user ([`Manifests`]) and network data documents ([`NetworkData`]); gives [`Finding`]s, each with its
//! code, the field, what is wrong and what helps. Must not read files and knows no lines: who calls it maps fields to places.
//!
//! A rule is data: one file with a `RULE` and a pure function, registered in [`RULES`]. The table also makes `docs/lint.md` and
//! `capm3 lint --explain`. To add a rule:
//!
//! 1. Choose what it looks at ([`Check`]): objects go to `manifest/`, documents to `document/`. A document rule does not
//!    care where the document comes from; its fields are paths in the document, such as `links[0].vlan_link`, and
//!    [`Origin`] maps them to the template. A rule about one consumer is a [`Check::Consumer`] in `consumer/`: it is asked once for each
//!    [`Target`], and equal findings are merged, so its messages must not name the target.
//! 2. Write `RULE` and the function in a file of its own, and add it to [`RULES`] with the next free code.
//! 3. Add a folder `crates/capm3/tests/lint/CODE` with a wrong manifest, what is printed, and the corrected manifest.
//! 4. Run `cargo xtask generate`.

mod consumer;
mod document;
mod finding;
mod manifest;
mod manifests;
mod network_data;
mod origin;
mod page;
mod rule;
mod run;
mod shape;
mod sketch;
mod table;
mod target;

pub use finding::{Draft, Finding, Fix, ObjectId, Severity, merge};
pub use manifests::{Collection, Manifests, RawObject, Subject, UserNetworkData, is_nmstate};
pub use network_data::NetworkData;
pub use origin::Origin;
pub use page::{book, explain, page};
pub use rule::{Check, Example, MachineAddress, Rule};
pub use run::{Rules, judge_addresses, judge_document, judge_manifests};
pub use shape::shape;
pub use sketch::sketch;
pub use table::{RULES, rule};
pub use target::{Target, describe};
