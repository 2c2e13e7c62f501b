//! Why data cannot be rendered until an input is corrected.

use std::fmt;

use capm3_api::vocabulary::reason;

use super::{Code, Text};
use crate::{
    address::AddressError,
    render::{Problem, RenderError},
};

/// Why data cannot be rendered. Prints as `status.errorMessage` shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DataError {
    /// A document cannot be rendered.
    Render {
        /// The Metal3DataTemplate.
        template: String,
        /// What is wrong.
        error: RenderError,
    },
    /// A pool refuses an address.
    Address {
        /// The pool.
        pool: String,
        /// What its address manager reports on the claim.
        report: Text,
        /// How many addresses the pool has, if that is known.
        capacity: Option<u128>,
    },
    /// A Secret of the name that is needed belongs to somebody else.
    ForeignSecret(String),
    /// The machine asks for another template.
    OtherTemplate {
        /// The Metal3Machine.
        machine: String,
        /// The template that it asks for.
        asked: String,
        /// The template of the data.
        template: String,
    },
}

impl DataError {
    /// The stable code.
    pub fn code(&self) -> Code {
        match self {
            Self::Render { error, .. } => error.problem.code(),
            Self::Address { .. } => Code::new("CAPM3-D001"),
            Self::ForeignSecret(_) => Code::new("CAPM3-D002"),
            Self::OtherTemplate { .. } => Code::new("CAPM3-D003"),
        }
    }

    /// Reason of the condition `Ready`.
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Render { error: RenderError { problem: Problem::OutOfBounds, .. }, .. }
            | Self::Address { .. } => reason::IP_ALLOCATION_FAILED,
            Self::Render { .. } | Self::OtherTemplate { .. } => reason::RENDER_FAILED,
            Self::ForeignSecret(_) => reason::SECRET_NOT_OURS,
        }
    }

    /// The same for people: without the texts that only programs for the Go provider know.
    pub fn sentence(&self) -> Text {
        let exhausted = Text::new(AddressError::Exhausted { requested: false });
        match self {
            Self::Address { pool, report, capacity } if *report == exhausted => Text::from(match capacity {
                Some(1) => format!("IPPool {pool} has no free address (1 address)"),
                Some(many) => format!("IPPool {pool} has no free address ({many} addresses)"),
                None => format!("pool {pool} has no free address"),
            }),
            other => Text::new(other),
        }
    }

    /// The same with all that helps a reader who has only this line.
    pub fn advice(&self) -> Text {
        match self {
            Self::Render { template, error } => Text::from(error.advice(template)),
            other => Text::new(other),
        }
    }
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Render { error, .. } => error.fmt(f),
            Self::Address { pool, report, capacity } => {
                write!(f, "IP Allocation for {pool} failed : {report}")?;
                match capacity {
                    Some(1) => f.write_str(" (the pool has 1 address)"),
                    Some(many) => write!(f, " (the pool has {many} addresses)"),
                    None => Ok(()),
                }
            }
            Self::ForeignSecret(name) => {
                write!(f, "Secret {name} has another owner and is not changed; delete or rename it")
            }
            Self::OtherTemplate { machine, asked, template } => write!(
                f,
                "metal3Machine associated with Metal3DataTemplate is not found: Metal3Machine {machine} asks for template \
                 {asked:?}, not {template:?}"
            ),
        }
    }
}

impl Problem {
    /// The stable code.
    pub fn code(&self) -> Code {
        Code::new(match self {
            Self::UnknownObject => "CAPM3-D010",
            Self::MissingAnnotatedObject { .. } => "CAPM3-D011",
            Self::MissingObject { .. } => "CAPM3-D012",
            Self::MissingAnnotation { .. } => "CAPM3-D013",
            Self::PoolOfTwoKinds => "CAPM3-D014",
            Self::NoAddress => "CAPM3-D015",
            Self::NoGatewayPool => "CAPM3-D016",
            Self::NoGateway => "CAPM3-D017",
            Self::WrongFamily { .. } => "CAPM3-D018",
            Self::NoPrefix => "CAPM3-D019",
            Self::NoInlinePrefix => "CAPM3-D020",
            Self::OutOfBounds => "CAPM3-D021",
            Self::BadRange => "CAPM3-D022",
            Self::BadPoolPrefix { .. } => "CAPM3-D023",
            Self::BadPrefix { .. } => "CAPM3-D024",
            Self::NoNics => "CAPM3-D025",
            Self::NoSuchNic { .. } => "CAPM3-D026",
            Self::BadMac { .. } => "CAPM3-D027",
            Self::NoBootMac { .. } => "CAPM3-D028",
            Self::IllegalBondParameters { .. } => "CAPM3-D029",
            Self::NoVlanId { .. } => "CAPM3-D030",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exhausted_pool_has_a_sentence_for_people_and_the_text_of_the_go_provider() {
        let error = |report: &str, capacity| DataError::Address {
            pool: "p".to_owned(),
            report: Text::new(report),
            capacity,
        };
        for (error, sentence, status) in [
            (
                error("Exhausted IP Pools", Some(2)),
                "IPPool p has no free address (2 addresses)",
                "IP Allocation for p failed : Exhausted IP Pools (the pool has 2 addresses)",
            ),
            (
                error("Exhausted IP Pools", Some(1)),
                "IPPool p has no free address (1 address)",
                "IP Allocation for p failed : Exhausted IP Pools (the pool has 1 address)",
            ),
            (
                error("Exhausted IP Pools", None),
                "pool p has no free address",
                "IP Allocation for p failed : Exhausted IP Pools",
            ),
            (
                error("paused", None),
                "IP Allocation for p failed : paused",
                "IP Allocation for p failed : paused",
            ),
        ] {
            assert_eq!(
                (error.sentence().to_string().as_str(), error.to_string().as_str()),
                (sentence, status)
            );
        }
    }
}
