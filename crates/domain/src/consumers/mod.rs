//! Readers of network data other than cloud-init: glean on ramdisks and small images, Talos, and nmstate.
//!
//! Takes a document; gives what a reader does not take of it, each with its place and reason, and what Talos and nmstate
//! configure. The models were written from descriptions of each reader and not compared with runs of it, unlike that of
//! [`crate::cloud_init`].

pub mod glean;
pub mod nmstate;
mod reader;
pub mod talos;

use std::{fmt, net::IpAddr};

pub use reader::Reader;
use serde::Serialize;
use serde_json::Value;

use crate::{cloud_init::Configuration, validation::node::Node};

/// Something of the document that a reader does not take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Fault {
    /// Where in the document, such as `links[0].bond_mode`.
    pub place: String,
    /// What happens.
    pub message: String,
    /// Whether the node gets none of its network for it.
    pub is_fatal: bool,
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.place, self.message)
    }
}

/// What is configured, and what is not taken.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Outcome {
    /// The device of each link, in their order; empty for one that is not taken.
    pub devices: Vec<String>,
    /// What is configured; nothing if a fault is fatal.
    pub configuration: Configuration,
    /// What is not taken.
    pub faults: Vec<Fault>,
}

impl Outcome {
    /// The same with nothing configured if a fault is fatal.
    fn settled(mut self) -> Self {
        if self.faults.iter().any(|fault| fault.is_fatal) {
            self.configuration = Configuration::default();
        }
        self
    }
}

impl Fault {
    fn lost(node: &Node<'_>, message: impl Into<String>) -> Self {
        Self { place: node.path().to_owned(), message: message.into(), is_fatal: false }
    }

    fn fatal(node: &Node<'_>, message: impl Into<String>) -> Self {
        Self { is_fatal: true, ..Self::lost(node, message) }
    }
}

/// A list of the document.
fn items<'d>(document: &'d Value, list: &str) -> Vec<Node<'d>> {
    Node::root(document).at(list).items().collect()
}

fn kind<'d>(entry: &Node<'d>) -> &'d str {
    entry.at("type").text_or_empty()
}

/// Servers among the services of a network or of its routes.
fn own_dns<'d>(network: &Node<'d>) -> Vec<Node<'d>> {
    let routes = network.at("routes").items().flat_map(|route| route.at("services").items());
    let services = network.at("services").items().chain(routes);
    services.filter(|service| kind(service) == "dns").collect()
}

/// `ADDRESS/PREFIX` of an address and its mask; the prefix of the address counts first, none is that of a host.
fn with_prefix(address: &str, netmask: &str) -> String {
    if address.contains('/') {
        return address.to_owned();
    }
    let ones = |octets: &[u8]| octets.iter().map(|octet| octet.count_ones()).sum::<u32>();
    let prefix = match netmask.parse::<IpAddr>() {
        Ok(IpAddr::V4(mask)) => ones(&mask.octets()),
        Ok(IpAddr::V6(mask)) => ones(&mask.octets()),
        Err(_) if address.contains(':') => 128,
        Err(_) => 32,
    };
    format!("{address}/{prefix}")
}
