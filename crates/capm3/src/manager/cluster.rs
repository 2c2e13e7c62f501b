//! Which cluster the manager works for: takes the flag, gives a client. The flag wins, then KUBECONFIG, then the service account
//! of the pod.

use std::path::Path;

use capm3_engine::{
    ApiClient,
    client::{InClusterError, ServiceAccount, over_network, server_of_pod},
};

use crate::{exit::Failure, remote::named_kubeconfig};

/// A client for the management cluster; nothing is sent yet.
pub async fn connect(
    kubeconfig: Option<&Path>,
    context: Option<&str>,
    user_agent: &str,
) -> Result<ApiClient, Failure> {
    match (kubeconfig.map(Path::to_owned), named_kubeconfig()) {
        (Some(path), _) => by_kubeconfig("--kubeconfig", &path, context, user_agent).await,
        (None, Some(path)) => by_kubeconfig("KUBECONFIG", &path, context, user_agent).await,
        (None, None) if context.is_some() => {
            Err(Failure::Usage("--context needs a kubeconfig: set --kubeconfig PATH too".to_owned()))
        }
        (None, None) => by_service_account(user_agent),
    }
}

async fn by_kubeconfig(
    origin: &str,
    path: &Path,
    context: Option<&str>,
    user_agent: &str,
) -> Result<ApiClient, Failure> {
    let wrong =
        |error: &dyn std::fmt::Display| Failure::Usage(format!("{origin} {}: {error}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| wrong(&error))?;
    over_network(&text, context, user_agent).await.map_err(|error| wrong(&error))
}

fn by_service_account(user_agent: &str) -> Result<ApiClient, Failure> {
    let server = server_of_pod(|name| std::env::var(name).ok());
    let client = server.and_then(|server| ServiceAccount::default().connect(server, user_agent));
    client.map_err(|error| match error {
        InClusterError::NoPod => Failure::Usage(
            "no cluster is configured: set --kubeconfig PATH or KUBECONFIG, or run in a pod of the cluster"
                .to_owned(),
        ),
        other => Failure::CouldNotRun(format!(
            "cannot use the service account of the pod: {other} (--kubeconfig PATH)"
        )),
    })
}
