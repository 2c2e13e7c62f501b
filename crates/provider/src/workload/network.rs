//! Workload clusters over the network.

use capm3_engine::{ApiClient, client::over_network_by_secret};
use futures::{FutureExt, future::BoxFuture};

use super::{Connect, ConnectError};

/// Makes clients from the kubeconfig Secrets of workload clusters.
#[derive(Debug, Clone, Copy)]
pub struct ConnectOverNetwork {
    user_agent: &'static str,
}

impl ConnectOverNetwork {
    /// Clients of that name.
    pub const fn new(user_agent: &'static str) -> Self {
        Self { user_agent }
    }
}

impl Connect for ConnectOverNetwork {
    fn connect<'a>(&'a self, kubeconfig: &'a [u8]) -> BoxFuture<'a, Result<ApiClient, ConnectError>> {
        async move {
            let text = std::str::from_utf8(kubeconfig).map_err(|e| ConnectError(e.to_string()))?;
            over_network_by_secret(text, self.user_agent).await.map_err(|e| ConnectError(e.to_string()))
        }
        .boxed()
    }
}
