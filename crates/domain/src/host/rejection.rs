//! Why a host was not taken, for people and for the summary in a condition.

use std::{collections::BTreeMap, fmt};

use capm3_api::vocabulary::annotation;

use super::Consumer;

/// A host that was not taken, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostVerdict {
    /// Name of the host.
    pub host: String,
    /// Why it was not taken.
    pub rejection: Rejection,
}

impl fmt::Display for HostVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.host, self.rejection)
    }
}

/// Why a host was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rejection {
    /// Somebody uses it.
    ConsumedBy(Consumer),
    /// It is reserved for machines of another owner; the value of the label.
    ReservedForOther(String),
    /// Its labels do not meet `hostSelector`.
    LabelMismatch {
        /// The first requirement that does not hold.
        requirement: String,
        /// The label's value on the host.
        found: Option<String>,
    },
    /// It is being deleted.
    Deleting,
    /// Its operator reports an error.
    InError(String),
    /// Its operator is paused.
    Paused,
    /// It is marked as unhealthy, by this annotation.
    Unhealthy(&'static str),
    /// It is detached from its operator.
    Detached,
    /// Its operator is servicing it.
    Servicing,
    /// It is provisioned by somebody else.
    ExternallyProvisioned,
    /// It has an image or a deploy step that no machine put there.
    ForeignImage,
    /// It is in a state in which it cannot be provisioned.
    NotAvailable(String),
    /// It could be used, but a host of the failure domain asked for was there; the domain of this host.
    OtherFailureDomain(Option<String>),
    /// It could be used, but a host reserved for this owner goes first.
    NotReserved,
    /// It could be used, but another host of the same worth was taken.
    NotDrawn,
}

/// The groups of the summary, in its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Group {
    Consumed,
    Reserved,
    NotAvailable,
    InError,
    Unhealthy,
    Paused,
    Detached,
    Servicing,
    ExternallyProvisioned,
    ForeignImage,
    Deleting,
    LabelMismatch,
    Usable,
}

impl Group {
    fn words(self) -> &'static str {
        match self {
            Self::Consumed => "consumed",
            Self::Reserved => "reserved",
            Self::NotAvailable => "not available",
            Self::InError => "in error",
            Self::Unhealthy => "unhealthy",
            Self::Paused => "paused",
            Self::Detached => "detached",
            Self::Servicing => "servicing",
            Self::ExternallyProvisioned => "externally provisioned",
            Self::ForeignImage => "with a foreign image",
            Self::Deleting => "deleting",
            Self::LabelMismatch => "label mismatch",
            Self::Usable => "usable",
        }
    }
}

impl Rejection {
    /// In one word, for programs.
    pub fn word(&self) -> &'static str {
        match self {
            Self::ConsumedBy(_) => "Consumed",
            Self::ReservedForOther(_) => "ReservedForOther",
            Self::LabelMismatch { .. } => "LabelMismatch",
            Self::Deleting => "Deleting",
            Self::InError(_) => "InError",
            Self::Paused => "Paused",
            Self::Unhealthy(_) => "Unhealthy",
            Self::Detached => "Detached",
            Self::Servicing => "Servicing",
            Self::ExternallyProvisioned => "ExternallyProvisioned",
            Self::ForeignImage => "ForeignImage",
            Self::NotAvailable(_) => "NotAvailable",
            Self::OtherFailureDomain(_) => "OtherFailureDomain",
            Self::NotReserved => "NotReserved",
            Self::NotDrawn => "NotDrawn",
        }
    }

    fn group(&self) -> Group {
        match self {
            Self::ConsumedBy(_) => Group::Consumed,
            Self::ReservedForOther(_) => Group::Reserved,
            Self::LabelMismatch { .. } => Group::LabelMismatch,
            Self::Deleting => Group::Deleting,
            Self::InError(_) => Group::InError,
            Self::Paused => Group::Paused,
            Self::Unhealthy(_) => Group::Unhealthy,
            Self::Detached => Group::Detached,
            Self::Servicing => Group::Servicing,
            Self::ExternallyProvisioned => Group::ExternallyProvisioned,
            Self::ForeignImage => Group::ForeignImage,
            Self::NotAvailable(_) => Group::NotAvailable,
            Self::OtherFailureDomain(_) | Self::NotReserved | Self::NotDrawn => Group::Usable,
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ConsumedBy(consumer) => write!(f, "consumed by {consumer}"),
            Self::ReservedForOther(label) => {
                write!(f, "reserved for other machines (node-reuse label \"{label}\")")
            }
            Self::LabelMismatch { requirement, found } => match found {
                Some(value) => {
                    write!(f, "does not match hostSelector: {requirement}, but the value is \"{value}\"")
                }
                None => write!(f, "does not match hostSelector: {requirement}, but there is no such label"),
            },
            Self::Deleting => f.write_str("being deleted"),
            Self::InError(message) => write!(f, "in error: {message}"),
            Self::Paused => write!(f, "paused by annotation {}", annotation::HOST_PAUSED),
            Self::Unhealthy(key) => write!(f, "marked as unhealthy by annotation {key}"),
            Self::Detached => {
                write!(f, "detached from its operator (annotation {})", annotation::HOST_DETACHED)
            }
            Self::Servicing => f.write_str("being serviced"),
            Self::ExternallyProvisioned => f.write_str("externally provisioned"),
            Self::ForeignImage => f.write_str("has an image or deploy step that no machine set"),
            Self::NotAvailable(state) if state.is_empty() => f.write_str("not available: no state yet"),
            Self::NotAvailable(state) => write!(f, "not available: {state}"),
            Self::OtherFailureDomain(Some(domain)) => write!(f, "usable, but in failure domain \"{domain}\""),
            Self::OtherFailureDomain(None) => f.write_str("usable, but in no failure domain"),
            Self::NotReserved => f.write_str("usable, but a host reserved for this owner has priority"),
            Self::NotDrawn => f.write_str("usable, but another host was selected"),
        }
    }
}

/// How many hosts were not taken for which kind of reason. Prints as one line in a fixed order, such as
/// `12 hosts: 5 consumed, 3 not available, 2 unhealthy, 2 label mismatch`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HostCounts {
    groups: BTreeMap<Group, usize>,
}

impl<'a> FromIterator<&'a Rejection> for HostCounts {
    fn from_iter<I: IntoIterator<Item = &'a Rejection>>(rejections: I) -> Self {
        let mut counts = Self::default();
        for rejection in rejections {
            *counts.groups.entry(rejection.group()).or_default() += 1;
        }
        counts
    }
}

impl HostCounts {
    /// How many hosts there are.
    pub fn total(&self) -> usize {
        self.groups.values().sum()
    }
}

impl fmt::Display for HostCounts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.total() {
            0 => return f.write_str("the namespace has no BareMetalHost"),
            1 => f.write_str("1 host: ")?,
            total => write!(f, "{total} hosts: ")?,
        }
        for (n, (group, count)) in self.groups.iter().enumerate() {
            let comma = if n == 0 { "" } else { ", " };
            write!(f, "{comma}{count} {}", group.words())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn consumed() -> Rejection {
        Rejection::ConsumedBy(Consumer {
            kind: "Metal3Machine".into(),
            namespace: "ns".into(),
            name: "m".into(),
        })
    }

    fn mismatch(found: Option<&str>) -> Rejection {
        Rejection::LabelMismatch { requirement: "size=l".into(), found: found.map(str::to_owned) }
    }

    #[test]
    fn counts_print_in_a_fixed_order() {
        let unavailable = || Rejection::NotAvailable("inspecting".into());
        let mut rejections = vec![mismatch(None), Rejection::Unhealthy("k"), unavailable(), consumed()];
        rejections.extend([consumed(), unavailable(), mismatch(Some("s"))]);
        let counts: HostCounts = rejections.iter().collect();
        assert_eq!(counts.to_string(), "7 hosts: 2 consumed, 2 not available, 1 unhealthy, 2 label mismatch");
        rejections.reverse();
        assert_eq!(rejections.iter().collect::<HostCounts>(), counts);
    }

    #[test]
    fn few_hosts_are_counted_in_words_that_fit() {
        assert_eq!(HostCounts::default().to_string(), "the namespace has no BareMetalHost");
        let one: HostCounts = [&Rejection::Detached].into_iter().collect();
        assert_eq!(one.to_string(), "1 host: 1 detached");
    }

    #[test]
    fn verdicts_are_sentences() {
        let table = [
            (consumed(), "h: consumed by Metal3Machine ns/m"),
            (mismatch(Some("s")), "h: does not match hostSelector: size=l, but the value is \"s\""),
            (mismatch(None), "h: does not match hostSelector: size=l, but there is no such label"),
            (Rejection::NotAvailable(String::new()), "h: not available: no state yet"),
            (Rejection::NotAvailable("preparing".into()), "h: not available: preparing"),
            (Rejection::Paused, "h: paused by annotation baremetalhost.metal3.io/paused"),
            (
                Rejection::Unhealthy(annotation::UNHEALTHY),
                "h: marked as unhealthy by annotation capm3.metal3.io/unhealthy",
            ),
        ];
        for (rejection, text) in table {
            let verdict = HostVerdict { host: "h".into(), rejection };
            assert_eq!(verdict.to_string(), text);
        }
    }
}
