//! What would help when a template cannot be rendered.
//!
//! A template does not change once it is applied, because machines are made from it over time. What it lacks
//! goes into a new one; what hosts, pools and annotations lack is put right where it is.

use super::error::Problem;

/// What would help: something beside the template, another text of the template, or either. Orders, without a full stop.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Remedy {
    beside: Option<String>,
    template: Option<&'static str>,
}

/// How a template that is applied is changed.
const NEW_TEMPLATE: &str = "in a new Metal3DataTemplate (templateReference: that of the old template or, if it has none, the name of the old template) and roll out a \
                            Metal3MachineTemplate that refers to it";

/// The same where the template may not be applied yet.
const NEW_TEMPLATE_IF_APPLIED: &str = "(if the template is applied already: in a new Metal3DataTemplate with \
                                       templateReference: that of the old template or, if it has none, the name of the old template)";

impl Remedy {
    /// Another text of the template.
    pub fn template(order: &'static str) -> Self {
        Self { beside: None, template: Some(order) }
    }

    /// Something that is not in the template.
    pub fn beside(order: impl Into<String>) -> Self {
        Self { beside: Some(order.into()), template: None }
    }

    /// The same, or another text of the template.
    pub fn or_template(mut self, order: &'static str) -> Self {
        self.template = Some(order);
        self
    }

    /// An annotation that is not there or empty.
    pub fn annotation(annotation: &str, kind: &str, name: &str) -> Self {
        Self::beside(format!("set the annotation {annotation} on {kind} {name}"))
    }

    /// What usually helps.
    pub fn of(problem: &Problem) -> Self {
        match problem {
            Problem::UnknownObject => Self::template("name one of the three objects"),
            Problem::MissingAnnotatedObject { .. } | Problem::MissingObject { .. } => {
                Self::beside("wait until the machine has it").or_template("name another object")
            }
            Problem::MissingAnnotation { object, annotation } => {
                Self::beside(format!("set the annotation {annotation} on the {object}"))
            }
            Problem::PoolOfTwoKinds => Self::template("use one pool, or pools of different names"),
            Problem::NoAddress | Problem::NoGatewayPool => {
                Self::beside("create the pool, or give it addresses").or_template("name a pool that exists")
            }
            Problem::NoGateway => Self::template("give the route a gateway"),
            Problem::WrongFamily { .. } => Self::template("name a pool or an address of that family"),
            Problem::NoPrefix | Problem::BadPoolPrefix { .. } => {
                Self::beside("set the prefix of the pool as its family has it and replace the machine")
            }
            Problem::NoInlinePrefix => Self::template("set prefix"),
            Problem::OutOfBounds => Self::beside("ask for fewer machines").or_template("widen the range"),
            Problem::BadRange => Self::template("correct the range"),
            Problem::BadPrefix { .. } => Self::template("set a prefix that fits the family and the subnet"),
            Problem::NoNics => Self::beside("wait for the host's inspection, or start it"),
            Problem::NoSuchNic { .. } => Self::beside("give the machine a host that has the interface")
                .or_template("name an interface that the host has"),
            Problem::BadMac { .. } => Self::template("write six pairs of hexadecimal digits"),
            Problem::NoBootMac { .. } => Self::beside("set spec.bootMACAddress of the host"),
            Problem::IllegalBondParameters { .. } => {
                Self::template("take them out of parameters and set the bond's own fields where it has them")
            }
            Problem::NoVlanId { .. } => Self::template("set vlanID"),
        }
    }

    /// In words for those who have the template on a cluster.
    pub fn on_a_cluster(&self) -> String {
        self.sentence(NEW_TEMPLATE)
    }

    /// In words for those who have the template in a file.
    pub fn in_files(&self) -> String {
        self.sentence(NEW_TEMPLATE_IF_APPLIED)
    }

    fn sentence(&self, how: &str) -> String {
        let template = self.template.map(|order| format!("{order} {how}"));
        let orders: Vec<String> = self.beside.iter().cloned().chain(template).collect();
        orders.join(", or ")
    }
}
