//! Questions that a cache must not answer: what it does not show may be there all the same.
//!
//! A decision that rests on an absence, or that needs more of an object than is cached, names its question; the
//! server is asked, the answer enters the cache, and the decision is made anew.

use std::collections::BTreeSet;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{BareMetalHost, MachineSet},
    v1beta2::{Metal3Machine, Metal3MachineTemplate},
    vocabulary::label,
};
use capm3_engine::{ActError, ApiError, ObjectKey, Reader, ResourceKind};
use serde_json::Value;

use crate::context::Context;

/// What must be read from the server itself.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Question {
    /// The host of this name, which the machine has recorded.
    Host(String),
    /// Every host of the machine's cluster: one of them may name the machine.
    Hosts,
    /// The Metal3MachineTemplate of this name.
    Template(String),
    /// The MachineSet of this name, by which the machine is known to be one that hosts are kept for.
    MachineSet(String),
    /// The host of this name with its whole status, of which the cache keeps a part.
    WholeHost(String),
}

/// What was read from the server itself during one look.
#[derive(Debug, Clone, Default)]
pub struct Live {
    answered: BTreeSet<Question>,
    whole_host: Option<Value>,
    trusts_the_reader: bool,
}

impl Live {
    /// For a reader whose word is final: files, or a look that acts on nothing.
    pub fn trusting_the_reader() -> Self {
        Self { trusts_the_reader: true, ..Self::default() }
    }

    /// Whether the server has answered this, so that the cache holds its answer.
    pub fn has_answered(&self, question: &Question) -> bool {
        self.trusts_the_reader || self.answered.contains(question)
    }

    /// The host as stored, if it was asked for and is there.
    pub fn whole_host(&self) -> Option<&Value> {
        self.whole_host.as_ref()
    }

    /// Takes the answer in.
    pub fn answer(&mut self, question: Question, whole_host: Option<Value>) {
        if matches!(question, Question::WholeHost(_)) {
            self.whole_host = whole_host;
        }
        self.answered.insert(question);
    }
}

impl Question {
    /// What is read, in words.
    fn aim(&self, namespace: &str) -> String {
        match self {
            Self::Host(name) | Self::WholeHost(name) => format!("read BareMetalHost {namespace}/{name}"),
            Self::Hosts => format!("list BareMetalHosts of namespace {namespace}"),
            Self::Template(name) => format!("read Metal3MachineTemplate {namespace}/{name}"),
            Self::MachineSet(name) => format!("read MachineSet {namespace}/{name}"),
        }
    }
}

/// Asks the server; what it says enters the cache.
pub(super) async fn ask(
    context: &Context,
    key: &ObjectKey,
    question: Question,
    live: &mut Live,
) -> Result<(), ActError> {
    let here = |name: &str| ObjectKey::new(&key.namespace, name);
    let failed = |source: ApiError| ActError { what: question.aim(&key.namespace), source };
    let mut whole_host = None;
    match &question {
        Question::Host(name) | Question::WholeHost(name) => {
            whole_host = context.read_live::<BareMetalHost>(&here(name)).await.map_err(failed)?;
        }
        Question::Template(name) => {
            context.read_live::<Metal3MachineTemplate>(&here(name)).await.map_err(failed)?;
        }
        Question::MachineSet(name) => {
            context.read_live::<MachineSet>(&here(name)).await.map_err(failed)?;
        }
        Question::Hosts => list_hosts(context, key).await.map_err(failed)?,
    }
    live.answer(question, whole_host);
    Ok(())
}

/// A claim comes with the label of the cluster, so the hosts of the cluster are all that can name the machine.
async fn list_hosts(context: &Context, key: &ObjectKey) -> Result<(), ApiError> {
    let kind = ResourceKind::of::<BareMetalHost>();
    let machine = context.caches.get::<Metal3Machine>(key);
    let cluster = machine.as_ref().and_then(|machine| machine.metadata.label(label::CLUSTER_NAME));
    let selector = cluster.map(|cluster| format!("{}={cluster}", label::CLUSTER_NAME));
    let mut token: Option<String> = None;
    loop {
        let page = context.client.list_selected::<Value>(
            &kind,
            &key.namespace,
            selector.as_deref(),
            token.as_deref(),
        );
        let page = page.await?;
        for mut host in page.items {
            // Items of a list carry no kind; the cache does not need it either.
            if let Some(host) = host.as_object_mut() {
                host.remove("kind");
            }
            context.caches.feed(&kind, host);
        }
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(next) => token = Some(next),
            None => return Ok(()),
        }
    }
}
