//! Workload clusters over the network.

use capm3_engine::{ApiClient, client::over_network_by_secret};
use capm3_provider::workload::{Connect, ConnectError};
use futures::{FutureExt, future::BoxFuture};

/// Makes clients from the kubeconfig Secrets of workload clusters.
pub struct ConnectOverNetwork;

impl Connect for ConnectOverNetwork {
    fn connect<'a>(&'a self, kubeconfig: &'a [u8]) -> BoxFuture<'a, Result<ApiClient, ConnectError>> {
        async move {
            let text = std::str::from_utf8(kubeconfig).map_err(|e| ConnectError(e.to_string()))?;
            over_network_by_secret(text, super::USER_AGENT).await.map_err(|e| ConnectError(e.to_string()))
        }
        .boxed()
    }
}
