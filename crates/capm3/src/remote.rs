//! A running cluster.

use std::path::{Path, PathBuf};

use capm3_engine::{
    ApiClient, ApiError, Detail, Object, ObjectKey, ResourceKind, client::over_network, manifests::Document,
};
use clap::Args;
use serde_json::Value;

use crate::exit::Failure;

/// Stands for the file in messages about objects of the cluster.
pub const PLACE: &str = "cluster";

/// Which cluster, as kubectl takes it.
#[derive(Debug, Args)]
pub struct RemoteArgs {
    /// Kubeconfig of the cluster; without it, that of KUBECONFIG or ~/.kube/config
    #[arg(long, value_name = "PATH")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig; without it, the current one
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

impl RemoteArgs {
    /// Whether a cluster was named.
    pub fn is_named(&self) -> bool {
        self.kubeconfig.is_some() || self.context.is_some()
    }

    /// A client for that cluster; nothing is sent yet. `ways` shows what to do if no kubeconfig is there.
    pub fn connect(&self, user_agent: &str, ways: &str) -> Result<Remote, Failure> {
        let path = self.kubeconfig.clone().or_else(usual_kubeconfig);
        let path = path.ok_or_else(|| Failure::Usage(format!("no kubeconfig found: {ways}")))?;
        Remote::connect(&path, self.context.as_deref(), user_agent)
    }
}

/// The first file of KUBECONFIG that is there, else the one in the home folder.
fn usual_kubeconfig() -> Option<PathBuf> {
    named_kubeconfig().or_else(|| {
        let path = PathBuf::from(std::env::var_os("HOME")?).join(".kube/config");
        path.exists().then_some(path)
    })
}

/// The first file of KUBECONFIG that is there, or the first one if none is.
pub fn named_kubeconfig() -> Option<PathBuf> {
    let list = std::env::var_os("KUBECONFIG").filter(|list| !list.is_empty())?;
    let paths: Vec<PathBuf> = std::env::split_paths(&list).collect();
    let there = paths.iter().find(|path| path.exists()).cloned();
    there.or_else(|| paths.into_iter().next())
}

/// A cluster and what runs requests to it.
pub struct Remote {
    client: ApiClient,
    runtime: tokio::runtime::Runtime,
}

impl Remote {
    /// A client for the kubeconfig; nothing is sent yet.
    pub fn connect(kubeconfig: &Path, context: Option<&str>, user_agent: &str) -> Result<Self, Failure> {
        let path = kubeconfig.display();
        let text = std::fs::read_to_string(kubeconfig);
        let text = text.map_err(|e| Failure::Usage(format!("--kubeconfig {path}: {e}")))?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|e| Failure::CouldNotRun(format!("cannot start the runtime: {e}")))?;
        let client = runtime.block_on(over_network(&text, context, user_agent));
        let client = client.map_err(|e| Failure::Usage(format!("--kubeconfig {path}: {e}")))?;
        Ok(Self { client, runtime })
    }

    /// The namespace that the kubeconfig's context names.
    pub fn namespace(&self) -> &str {
        self.client.default_namespace()
    }

    /// Every object of a kind in a namespace; `None` when the kind is not served, which says nothing about its objects.
    pub fn list(
        &self,
        kind: &ResourceKind,
        namespace: &str,
        detail: Detail,
    ) -> Result<Option<Vec<Document>>, ApiError> {
        self.runtime.block_on(list(&self.client, kind, namespace, detail))
    }

    /// Shows every object of a kind in a namespace, page by page; `false` when the kind is not served.
    pub fn each(
        &self,
        kind: &ResourceKind,
        namespace: &str,
        detail: Detail,
        visit: impl FnMut(Value),
    ) -> Result<bool, ApiError> {
        self.runtime.block_on(each(&self.client, kind, namespace, detail, visit))
    }

    /// Runs what needs more than one answer, with the client.
    pub fn run<'r, F: Future>(&'r self, work: impl FnOnce(&'r ApiClient) -> F) -> F::Output {
        self.runtime.block_on(work(&self.client))
    }

    /// One object as it is; `None` when there is none.
    pub fn document(&self, kind: &ResourceKind, key: &ObjectKey) -> Result<Option<Document>, ApiError> {
        let found = self.runtime.block_on(self.client.get::<Value>(kind, key))?;
        Ok(found.map(|value| Document::made(PLACE, value)))
    }

    /// One object; `None` when there is none.
    pub fn get<K: Object>(&self, key: &ObjectKey) -> Result<Option<K>, ApiError> {
        self.runtime.block_on(self.client.get_object::<K>(key))
    }
}

/// Every object of a kind in a namespace; `None` when the kind is not served.
pub async fn list(
    client: &ApiClient,
    kind: &ResourceKind,
    namespace: &str,
    detail: Detail,
) -> Result<Option<Vec<Document>>, ApiError> {
    let mut documents = Vec::new();
    let visit = |value| documents.push(Document::made(PLACE, value));
    let is_served = each(client, kind, namespace, detail, visit).await?;
    Ok(is_served.then_some(documents))
}

/// Shows every object of a kind in a namespace, page by page; `false` when the kind is not served.
async fn each(
    client: &ApiClient,
    kind: &ResourceKind,
    namespace: &str,
    detail: Detail,
    mut visit: impl FnMut(Value),
) -> Result<bool, ApiError> {
    let mut token: Option<String> = None;
    loop {
        let page = match client.list_page::<Value>(kind, namespace, detail, token.as_deref()).await {
            Ok(page) => page,
            Err(ApiError::NotServed { .. }) => return Ok(false),
            Err(error) => return Err(error),
        };
        for mut value in page.items {
            // Items of a list carry no kind of their own.
            if let Some(members) = value.as_object_mut() {
                members.insert("apiVersion".to_owned(), Value::String(kind.api_version()));
                members.insert("kind".to_owned(), Value::String(kind.kind.clone()));
            }
            visit(value);
        }
        match page.metadata.continue_ {
            Some(next) => token = Some(next),
            None => return Ok(true),
        }
    }
}

/// Something that could not be read, with every cause.
pub fn unreadable(what: &str, error: &ApiError) -> Failure {
    Failure::CouldNotRun(format!("cannot read {what}: {}", error.with_causes()))
}
