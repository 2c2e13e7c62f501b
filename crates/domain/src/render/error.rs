//! Why a template cannot be rendered.

use thiserror::Error;

use super::inline::InlineError;

/// A template that cannot be rendered: what is wrong, where in the template, and at which object.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{problem}: {path}{}{detail}", self.separator())]
pub struct RenderError {
    /// What is wrong.
    pub problem: Problem,
    /// Where in the template, such as `spec.networkData.links.ethernets[1].macAddress`.
    pub path: String,
    /// Which object lacks what, such as `host rack2-host-3 has eno1, eno2`; may be empty.
    pub detail: String,
}

impl RenderError {
    pub(super) fn new(problem: Problem, path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { problem, path: path.into(), detail: detail.into() }
    }

    /// A range that gives no address. `name` is that of the network or key, which is easier to find than a number.
    pub(super) fn inline(error: &InlineError, path: &str, name: &str) -> Self {
        let problem = match error {
            InlineError::OutOfBounds { .. } => Problem::OutOfBounds,
            _ => Problem::BadRange,
        };
        Self::new(problem, format!("{path} ({name})"), error.to_string())
    }

    /// The whole of it, for a person who has only this line: object, field, what was found, and what would help.
    pub fn advice(&self, template: &str) -> String {
        format!("Metal3DataTemplate {template}: {self}; {}", self.problem.way_out())
    }

    fn separator(&self) -> &'static str {
        match self.problem {
            _ if self.detail.is_empty() => "",
            Problem::OutOfBounds | Problem::BadRange => ": ",
            _ => ", ",
        }
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
    /// The pool serves the other family.
    #[error("{address} is not an {family} address")]
    WrongFamily {
        /// What the pool gave.
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

impl Problem {
    /// What would help, as an order without a full stop.
    pub fn way_out(&self) -> &'static str {
        match self {
            Self::UnknownObject => "name one of the three objects",
            Self::MissingAnnotatedObject { .. } | Self::MissingObject { .. } => {
                "wait until the machine has it, or name another object"
            }
            Self::MissingAnnotation { .. } => "set the annotation, or name the pool in the template",
            Self::PoolOfTwoKinds => "use one pool, or give one of them another name",
            Self::NoAddress | Self::NoGatewayPool => "name a pool that exists and has addresses left",
            Self::NoGateway => "give the route or the pool a gateway",
            Self::WrongFamily { .. } => "name a pool or a range of that family",
            Self::NoPrefix | Self::NoInlinePrefix => "set prefix",
            Self::OutOfBounds => "widen the range, or ask for fewer machines",
            Self::BadRange => "correct the range",
            Self::BadPrefix { .. } => "set a prefix that fits the family and the subnet",
            Self::NoNics => "wait for the host's inspection, or start it",
            Self::NoSuchNic { .. } => "name an interface that the host has, or choose other hosts",
            Self::BadMac { .. } => "write six pairs of hexadecimal digits",
            Self::NoBootMac { .. } => "set spec.bootMACAddress of the host",
            Self::IllegalBondParameters { .. } => {
                "take them out of parameters, and set the bond's own fields where it has them"
            }
            Self::NoVlanId { .. } => "set vlanID",
        }
    }
}

fn quoted(names: &[String]) -> String {
    let quoted: Vec<_> = names.iter().map(|name| format!("{name:?}")).collect();
    quoted.join(", ")
}
