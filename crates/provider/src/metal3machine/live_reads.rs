//! Questions that a cache must not answer: what it does not show may be there anyway.
//!
//! A decision that rests on an absence, or that needs more of an object than is cached, names its question; the
//! server is asked, the answer enters the cache, and the decision is made again. What is not proven is a [`Doubt`].

use std::{collections::BTreeMap, fmt};

use capm3_api::{
    neighbours::{BareMetalHost, Cluster, Machine, MachineSet, SecretMetadata},
    v1beta2::Metal3MachineTemplate,
};
use capm3_engine::{
    ActError, ApiError, ObjectKey, Outcome,
    absence::{Doubt, Verdict},
};
use serde_json::Value;

use super::definition_check::DefinitionCheck;
use crate::{context::Context, indexes::HOSTS_BY_CONSUMER};

/// What must be asked of the server itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Question {
    /// Whether the host of this name, which the machine has recorded, is gone.
    Host(String),
    /// Whether no host names the machine.
    Hosts,
    /// Whether the Metal3MachineTemplate of this name is gone.
    Template(String),
    /// Whether the MachineSet of this name is gone, by which the machine is known to be one that hosts are kept for.
    MachineSet(String),
    /// Whether the owner Machine of this name is gone.
    Machine(String),
    /// Whether the Cluster of this name is gone.
    Cluster(String),
    /// Whether the Secret of this name, with the credentials of the host's management controller, is gone.
    Credentials(String),
    /// Whether the Secret of this name, which the host names for metadata or network data, is gone.
    HostData(String),
    /// Whether the definition of Metal3Machines is being deleted, and this machine only with it.
    Definition,
    /// The host of this name with its whole status, of which the cache keeps a part.
    WholeHost(String),
}

/// What was asked of the server itself during one pass.
#[derive(Debug, Clone, Default)]
pub struct Live {
    answers: BTreeMap<Question, Option<Doubt>>,
    whole_host: Option<Value>,
    trusts_the_reader: bool,
}

impl Live {
    /// For a reader whose word is final: files, or a pass that acts on nothing.
    pub fn trusting_the_reader() -> Self {
        Self { trusts_the_reader: true, ..Self::default() }
    }

    /// Whether the server has answered this, so that the cache holds its answer.
    pub fn has_answered(&self, question: &Question) -> bool {
        self.trusts_the_reader || self.answers.contains_key(question)
    }

    /// Why the answer to a question proves nothing.
    pub fn doubt(&self, question: &Question) -> Option<&Doubt> {
        self.answers.get(question)?.as_ref()
    }

    /// The host as stored, if it was asked for and is there.
    pub fn whole_host(&self) -> Option<&Value> {
        self.whole_host.as_ref()
    }

    /// Takes the answer to a question about an absence in.
    pub fn answer(&mut self, question: Question, doubt: Option<Doubt>) {
        self.answers.insert(question, doubt);
    }

    /// Takes the host in as it is stored.
    pub fn answer_whole_host(&mut self, name: String, host: Option<Value>) {
        self.whole_host = host;
        self.answer(Question::WholeHost(name), None);
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Host(name) | Self::WholeHost(name) => write!(f, "BareMetalHost {name}"),
            Self::Hosts => f.write_str("every BareMetalHost that names this machine"),
            Self::Template(name) => write!(f, "Metal3MachineTemplate {name}"),
            Self::MachineSet(name) => write!(f, "MachineSet {name}"),
            Self::Machine(name) => write!(f, "Machine {name}"),
            Self::Cluster(name) => write!(f, "Cluster {name}"),
            Self::Credentials(name) | Self::HostData(name) => write!(f, "Secret {name}"),
            Self::Definition => f.write_str("the CustomResourceDefinition of Metal3Machine"),
        }
    }
}

impl Question {
    /// What is read, in words.
    pub(super) fn aim(&self, namespace: &str) -> String {
        match self {
            Self::Host(name) | Self::WholeHost(name) => format!("read BareMetalHost {namespace}/{name}"),
            Self::Hosts => format!("list BareMetalHosts of namespace {namespace}"),
            Self::Template(name) => format!("read Metal3MachineTemplate {namespace}/{name}"),
            Self::MachineSet(name) => format!("read MachineSet {namespace}/{name}"),
            Self::Machine(name) => format!("read Machine {namespace}/{name}"),
            Self::Cluster(name) => format!("read Cluster {namespace}/{name}"),
            Self::Credentials(name) | Self::HostData(name) => format!("read Secret {namespace}/{name}"),
            Self::Definition => "read the CustomResourceDefinition of Metal3Machine".to_owned(),
        }
    }
}

/// Asks the server; what it says enters the cache.
pub(super) async fn ask(
    context: &Context,
    definition: &DefinitionCheck,
    key: &ObjectKey,
    question: Question,
    live: &mut Live,
) -> Result<(), Outcome> {
    let here = |name: &str| ObjectKey::new(&key.namespace, name);
    let failed = |source: ApiError| Outcome::Failed(ActError::reading(question.aim(&key.namespace), source));
    let verdict = match &question {
        Question::WholeHost(name) => {
            let host = context.read_live::<BareMetalHost>(&here(name)).await.map_err(failed)?;
            live.answer_whole_host(name.clone(), host);
            return Ok(());
        }
        Question::Host(name) => context.prove_absent::<BareMetalHost>(&here(name)).await,
        Question::Template(name) => context.prove_absent::<Metal3MachineTemplate>(&here(name)).await,
        Question::MachineSet(name) => context.prove_absent::<MachineSet>(&here(name)).await,
        Question::Machine(name) => context.prove_absent::<Machine>(&here(name)).await,
        Question::Cluster(name) => context.prove_absent::<Cluster>(&here(name)).await,
        Question::Credentials(name) | Question::HostData(name) => {
            context.prove_absent::<SecretMetadata>(&here(name)).await
        }
        Question::Hosts => context.prove_none(&key.namespace, &HOSTS_BY_CONSUMER, &key.to_string()).await,
        Question::Definition => {
            let doubt = definition.ask(context, key).await?;
            live.answer(question, doubt);
            return Ok(());
        }
    };
    let doubt = match verdict.map_err(failed)? {
        Verdict::Unknown(doubt) => Some(doubt),
        Verdict::Gone | Verdict::Present => None,
    };
    live.answer(question, doubt);
    Ok(())
}
