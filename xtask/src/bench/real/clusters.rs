//! Many clusters of one machine each, on one management cluster. Every workload cluster has a path of its own below an embedded
//! server behind HTTPS: a connection of its own, and no Nodes but its own.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc};

use anyhow::{Context, Result};
use capm3_engine::{ApiClient, ObjectKey, client::over_network, clock::Stopwatch};
use capm3_lab::fleet::full_clusters;
use capm3_world::WorkloadApis;

use super::{Everything, Figures, REST, all, table_with_title};
use crate::{
    e2e::{Manager, Server, Stage, USER_AGENT},
    embedded::Embedded,
    requests,
};

/// The APIs of the workload clusters.
struct Paths {
    embedded: Embedded,
    client: ApiClient,
}

impl Paths {
    async fn start() -> Result<Self> {
        let embedded = Embedded::start()?;
        let kubeconfig = fs::read_to_string(embedded.kubeconfig()).context("reading the kubeconfig")?;
        let client = over_network(&kubeconfig, None, "capm3-world").await?;
        Ok(Self { embedded, client })
    }

    /// What the manager has asked of them, how often.
    fn requests(&self) -> BTreeMap<String, u64> {
        let mut rows = BTreeMap::new();
        for request in self.embedded.requests() {
            if request.user_agent == USER_AGENT {
                let resource = request.resource.trim_start_matches('/');
                let row = format!("{} {resource} {} (workload cluster)", request.verb, request.code);
                *rows.entry(row).or_default() += request.count;
            }
        }
        rows
    }
}

impl WorkloadApis for Paths {
    fn add(&self, cluster: &ObjectKey) {
        self.embedded.add_cluster(&cluster.to_string());
    }

    fn client(&self, cluster: &ObjectKey) -> ApiClient {
        self.client.below(format!("/clusters/{cluster}"))
    }

    fn kubeconfig(&self, cluster: &ObjectKey) -> String {
        self.embedded.kubeconfig_of_cluster(&cluster.to_string())
    }
}

/// Requests so far, to the management cluster and to the workload clusters.
fn count(server: &Server, paths: &Paths) -> Result<BTreeMap<String, u64>> {
    let mut rows = server.everything_of_manager()?;
    rows.extend(paths.requests());
    Ok(rows)
}

pub(super) async fn measure(count_of_clusters: usize, binary: &Path) -> Result<Figures> {
    let server = Server::start_real()?;
    let paths = Arc::new(Paths::start().await?);
    let apis: Arc<dyn WorkloadApis> = Arc::clone(&paths) as Arc<dyn WorkloadApis>;
    let stage = Stage::beside(&server, apis).await?;
    let manager = Manager::start(binary, &server)?;
    server.until_webhooks_are_asked().await?;
    let (started, empty) = (count(&server, &paths)?, manager.peak_rss_mb()?);
    let stopwatch = Stopwatch::start();
    stage.apply(&full_clusters(count_of_clusters)).await?;
    stage.until_ready(i64::try_from(count_of_clusters)?, 0).await?;
    let seconds = stopwatch.elapsed().as_secs_f64();
    stage.until_still().await?;
    let coming = requests::since(&started, &count(&server, &paths)?);
    let everything = Everything {
        per_machine: all(&coming) as f64 / count_of_clusters.max(1) as f64,
        to_delete_one: None,
        processor: manager.processor_seconds()?,
        limit: None,
    };
    let writes_at_rest = server.manager_writes_during(REST).await?;
    let full = manager.peak_rss_mb()?;
    let mut by_kind = table_with_title("to come up:", &coming);
    let each = full.saturating_sub(empty) * 1024 / u64::try_from(count_of_clusters.max(1))?;
    by_kind.push(format!("memory: {empty} MB without clusters, {full} MB with them, {each} KB for each"));
    Ok(Figures {
        bench: "real".to_owned(),
        size: 0,
        clusters: Some(count_of_clusters),
        seconds,
        processor: None,
        up: server.manager_requests()?,
        writes_at_rest,
        deletion: None,
        growth: None,
        everything: Some(everything),
        by_kind,
        peak_rss_mb: full,
        memory_of: "the manager alone".to_owned(),
    })
}
