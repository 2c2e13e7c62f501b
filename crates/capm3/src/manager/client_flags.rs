//! How often the manager asks API servers.

use capm3_engine::client::RateLimit;
use clap::Args;

use crate::numbers;

/// Flags of the clients, as the Go manager names them.
#[derive(Debug, Args)]
#[command(next_help_heading = "Requests")]
pub struct ClientArgs {
    /// Requests per second to the management cluster; 0 sets no limit, because the API server limits its clients itself
    #[arg(long, default_value = "0", value_parser = numbers::rate, value_name = "N")]
    kube_api_qps: f64,

    /// Requests at once to the management cluster, with --kube-api-qps
    #[arg(long, default_value = "30", value_parser = numbers::whole::<u32>, value_name = "N")]
    kube_api_burst: u32,

    /// Reads per second from each workload cluster; 0 sets no limit
    #[arg(long, default_value = "0", value_parser = numbers::rate, value_name = "N")]
    clustercache_client_qps: f64,

    /// Reads at once from each workload cluster, with --clustercache-client-qps
    #[arg(long, default_value = "30", value_parser = numbers::whole::<u32>, value_name = "N")]
    clustercache_client_burst: u32,
}

impl ClientArgs {
    /// Limit of the requests to the management cluster.
    pub fn management(&self) -> Option<RateLimit> {
        RateLimit::new(self.kube_api_qps, self.kube_api_burst)
    }

    /// Limit of the reads from one workload cluster: rate and burst.
    pub fn workload(&self) -> (f64, u32) {
        (self.clustercache_client_qps, self.clustercache_client_burst)
    }
}
