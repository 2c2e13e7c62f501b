//! Why a template cannot be rendered.

use thiserror::Error;

use super::{inline::InlineError, remedy::Remedy};

/// A template that cannot be rendered: what is wrong, where in the template, and at which object.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{problem}: {}", self.whereabouts())]
pub struct RenderError {
    /// What is wrong.
    pub problem: Problem,
    /// Where in the template, such as `spec.networkData.links.ethernets[1].macAddress`.
    pub path: String,
    /// Apart, so that results stay small.
    more: Box<More>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct More {
    /// Which object lacks what, such as `host rack2-host-3 has eno1, eno2`; may be empty.
    detail: String,
    /// The member below the path that says it; may be empty.
    member: &'static str,
    /// What the path leads through, by its id or key, which is easier to find than a number.
    item: Option<Item>,
    remedy: Remedy,
}

/// A network, link or key of a template.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Item {
    kind: &'static str,
    name: String,
}

impl RenderError {
    pub(super) fn new(problem: Problem, path: impl Into<String>, detail: impl Into<String>) -> Self {
        let remedy = Remedy::of(&problem);
        let more = More { detail: detail.into(), member: "", item: None, remedy };
        Self { problem, path: path.into(), more: Box::new(more) }
    }

    /// A range that gives no address.
    pub(super) fn inline(error: &InlineError, path: impl Into<String>) -> Self {
        let problem = match error {
            InlineError::OutOfBounds { .. } => Problem::OutOfBounds,
            _ => Problem::BadRange,
        };
        Self::new(problem, path, error.to_string())
    }

    /// The same, with the id or key of what the path leads through.
    pub(super) fn of(mut self, kind: &'static str, name: &str) -> Self {
        self.more.item = Some(Item { kind, name: name.to_owned() });
        self
    }

    /// The same, with the member that says it.
    pub(super) fn at(mut self, member: &'static str) -> Self {
        self.more.member = member;
        self
    }

    /// The same, where something else helps than usually does.
    pub(super) fn remedied(mut self, remedy: Remedy) -> Self {
        self.more.remedy = remedy;
        self
    }

    /// The same with the text of another problem, which users of the Go provider know at this place.
    pub(super) fn reported_as(mut self, problem: Problem) -> Self {
        self.more.detail = match self.more.detail.as_str() {
            "" => self.problem.to_string(),
            detail => format!("{}: {detail}", self.problem),
        };
        self.problem = problem;
        self
    }

    /// The whole of it, for a person who has only this line: object, field, what was found, and what would help.
    pub fn advice(&self, template: &str) -> String {
        format!("Metal3DataTemplate {template}: {self}; {}", self.more.remedy.on_a_cluster())
    }

    /// What would help where the template is a file.
    pub fn way_out(&self) -> String {
        self.more.remedy.in_files()
    }

    /// The field that is wrong, as precisely as it is known.
    pub fn field(&self) -> String {
        match self.more.member {
            "" => self.path.clone(),
            member => format!("{}.{member}", self.path),
        }
    }

    /// What was found there; empty if there is nothing to say.
    pub fn found(&self) -> &str {
        &self.more.detail
    }

    /// The network, link or key, such as `network baremetal`; empty if it is none.
    pub fn item(&self) -> String {
        self.more.item.as_ref().map(|item| format!("{} {}", item.kind, item.name)).unwrap_or_default()
    }

    fn whereabouts(&self) -> String {
        if matches!(self.problem, Problem::OutOfBounds | Problem::BadRange) {
            return self.whereabouts_of_range();
        }
        let mut text = self.path.clone();
        if !self.found().is_empty() {
            text.push_str(&format!(", {}", self.found()));
        }
        if self.more.item.is_some() {
            text.push_str(&format!(" ({})", self.item()));
        }
        text
    }

    /// Ranges are printed as in their design.
    fn whereabouts_of_range(&self) -> String {
        let path = self.path.strip_prefix("spec.").unwrap_or(&self.path);
        let name = self.more.item.as_ref().map(|item| format!(" ({})", item.name)).unwrap_or_default();
        format!("{path}{name}: {}", self.more.detail)
    }
}

/// What is wrong with a template. Texts begin as users of the Go provider know them.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Problem {
    /// `object` is none of the three kinds.
    #[error("unknown object type")]
    UnknownObject,
    /// The object that should carry an annotation is not there.
    #[error("{object} is nil but referenced in annotation {annotation}")]
    MissingAnnotatedObject {
        /// Kind of the object.
        object: String,
        /// Key of the annotation.
        annotation: String,
    },
    /// The object whose name, label or interface is asked for is not there.
    #[error("{object} is not known yet")]
    MissingObject {
        /// Kind of the object.
        object: String,
    },
    /// The annotation that should name a pool does not.
    #[error("annotation {annotation} not found or empty on {object}")]
    MissingAnnotation {
        /// Kind of the object.
        object: String,
        /// Key of the annotation.
        annotation: String,
    },
    /// One name stands for pools of two kinds.
    #[error("multiple references with the same name but different resource types")]
    PoolOfTwoKinds,
    /// The pool gave no address.
    #[error("pool not found in cache")]
    NoAddress,
    /// The pool of a gateway gave no address.
    #[error("failed to fetch pool from cache")]
    NoGatewayPool,
    /// A route leads nowhere.
    #[error("no gateway")]
    NoGateway,
    /// An address is of the other family.
    #[error("{address} is not an {family} address")]
    WrongFamily {
        /// What the template or the pool gave.
        address: String,
        /// What was asked for.
        family: &'static str,
    },
    /// The pool does not say how long the prefix is.
    #[error("the pool gives no prefix")]
    NoPrefix,
    /// Neither the network nor the range's subnet says how long the prefix is.
    #[error("prefix is required with ipAddress unless its subnet gives it")]
    NoInlinePrefix,
    /// The index lies behind the last address of a range.
    #[error("IP address out of bounds")]
    OutOfBounds,
    /// A range of addresses cannot be used.
    #[error("bad address range")]
    BadRange,
    /// No subnet has such a prefix as the pool gives.
    #[error("prefix out of range: {prefix} for {family}")]
    BadPoolPrefix {
        /// The prefix.
        prefix: i32,
        /// Its family.
        family: &'static str,
    },
    /// No subnet has such a prefix.
    #[error("prefix out of range: {prefix} for {family}")]
    BadPrefix {
        /// The prefix.
        prefix: i32,
        /// Its family.
        family: &'static str,
    },
    /// The host was not inspected.
    #[error("NICs list not populated")]
    NoNics,
    /// The host has no such interface.
    #[error("NIC name not found {name}")]
    NoSuchNic {
        /// Name of the interface.
        name: String,
    },
    /// Not a MAC address.
    #[error("bad MAC address: {value}")]
    BadMac {
        /// What was given.
        value: String,
    },
    /// The host has no boot MAC address.
    #[error("metadata key \"{key}\": BareMetalHost {namespace}/{name} spec.bootMACAddress is empty")]
    NoBootMac {
        /// Key in the metadata.
        key: String,
        /// Namespace of the host.
        namespace: String,
        /// Name of the host.
        name: String,
    },
    /// Bond parameters that would replace what the bond says elsewhere.
    #[error("illegal params {} into bond params blob into link id={link}", quoted(names))]
    IllegalBondParameters {
        /// Names of the parameters.
        names: Vec<String>,
        /// Id of the bond.
        link: String,
    },
    /// A VLAN without number.
    #[error("renderNetworkLinks: VLAN link \"{link}\" is missing required VlanID")]
    NoVlanId {
        /// Id of the VLAN.
        link: String,
    },
}

fn quoted(names: &[String]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("{name:?}")).collect();
    quoted.join(", ")
}
