//! A rule: what it says, why, and the function that finds it.

use super::{Draft, Manifests, NetworkData, ObjectId, Severity, Target};
use crate::wait::Code;

/// A rule of `lint`.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    /// The stable code.
    pub code: Code,
    /// What is wrong, in a few words.
    pub title: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// Why it is a mistake: what happens.
    pub why: &'static str,
    /// What helps.
    pub mend: &'static str,
    /// The mistake and its correction.
    pub example: Example,
    /// What finds it.
    pub check: Check,
}

/// Two pieces of YAML.
#[derive(Debug, Clone, Copy)]
pub struct Example {
    /// With the mistake.
    pub wrong: &'static str,
    /// Without.
    pub right: &'static str,
}

/// A static address of a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineAddress {
    /// Namespace of the machine.
    pub namespace: String,
    /// Name of the machine.
    pub machine: String,
    /// The address.
    pub address: String,
    /// The template that it was rendered from.
    pub object: ObjectId,
    /// The field of the template.
    pub field: String,
}

/// What a rule looks at, and the function that finds mistakes there.
#[derive(Debug, Clone, Copy)]
pub enum Check {
    /// All objects.
    Manifests(fn(&Manifests<'_>) -> Vec<(ObjectId, Draft)>),
    /// A network data document, whoever reads it.
    Document(fn(&NetworkData<'_>) -> Vec<Draft>),
    /// A network data document and one consumer of it.
    Consumer(fn(&NetworkData<'_>, Target) -> Vec<Draft>),
    /// The addresses of all machines.
    Addresses(fn(&[MachineAddress]) -> Vec<(ObjectId, Draft)>),
    /// Who reads the files reports it; there is nothing to look at here.
    Reader,
}

impl Check {
    /// What it looks at, in words.
    pub fn subject(self) -> &'static str {
        match self {
            Self::Manifests(_) => "objects",
            Self::Document(_) => "network data, whatever reads it",
            Self::Consumer(_) => "network data and what the target makes of it",
            Self::Addresses(_) => "the addresses of all machines",
            Self::Reader => "files",
        }
    }
}
