//! Workload clusters over the network.

use capm3_engine::{
    ApiClient,
    client::{RateLimit, over_network_by_secret},
    metrics::RequestCounts,
};
use futures::{FutureExt, future::BoxFuture};

use super::{Connect, ConnectError};

/// Makes clients from the kubeconfig Secrets of workload clusters.
#[derive(Debug, Clone)]
pub struct ConnectOverNetwork {
    user_agent: &'static str,
    /// Reads per second from each cluster and reads at once; no limit if the rate is 0.
    rate: (f64, u32),
    requests: RequestCounts,
}

impl ConnectOverNetwork {
    /// Clients of that name.
    pub fn new(user_agent: &'static str) -> Self {
        Self { user_agent, rate: (0.0, 0), requests: RequestCounts::default() }
    }

    /// The same, with a limit for the reads from each cluster. A write is one patch per Node, so writes have none.
    #[must_use]
    pub fn at_rate(self, rate: f64, burst: u32) -> Self {
        Self { rate: (rate, burst), ..self }
    }
}

impl Connect for ConnectOverNetwork {
    /// There may be any number of clusters, so they are not counted one by one.
    fn requests(&self) -> RequestCounts {
        self.requests.clone()
    }

    fn connect<'a>(&'a self, kubeconfig: &'a [u8]) -> BoxFuture<'a, Result<ApiClient, ConnectError>> {
        async move {
            let text = std::str::from_utf8(kubeconfig).map_err(|e| ConnectError(e.to_string()))?;
            let client = over_network_by_secret(text, self.user_agent).await;
            let client = client.map_err(|e| ConnectError(e.to_string()))?;
            Ok(client.counted_in(self.requests.clone()).at_rate(RateLimit::new(self.rate.0, self.rate.1)))
        }
        .boxed()
    }
}
