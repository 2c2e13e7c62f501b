//! A client over the network, from a kubeconfig or another configuration: one HTTP/2 connection for all watches and requests, with time
//! limits, and without the library's own retries.

use std::time::Duration;

use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use kube::{
    Config,
    client::{Body, ConfigExt},
    config::{KubeConfigOptions, Kubeconfig},
};
use thiserror::Error;
use tower::{ServiceBuilder, timeout::Timeout, util::BoxCloneSyncService};
use tracing::{debug, info};

use super::{
    ApiClient,
    activity::{Activity, Noting},
    kubeconfig::{KubeconfigProblem, check_cluster, check_credentials, read, read_foreign},
    token::BearerToken,
};

const CONNECT: Duration = Duration::from_secs(10);

/// HTTP/2 pings: a connection without an answer to one is given up, and with it every watch on it.
const PING_INTERVAL: Duration = Duration::from_secs(15);
const PING_TIMEOUT: Duration = Duration::from_secs(10);

/// Looking up the name, the connection and the TLS handshake with a server that somebody else named.
const CONNECT_FOREIGN: Duration = Duration::from_secs(20);

/// What such a server may send ahead of what is read: a connection costs no more than that.
const WINDOW: u32 = 128 * 1024;

/// Why there is no client.
#[derive(Debug, Error)]
pub enum NetworkError {
    /// The kubeconfig cannot be used.
    #[error("the kubeconfig cannot be used: {0}")]
    Kubeconfig(#[from] KubeconfigProblem),
    /// Its certificates or keys cannot be used. The library's own words would quote them.
    #[error("its certificates or keys cannot be used: they are not PEM, or do not match")]
    Certificates,
    /// It does not come to credentials by what it names.
    #[error("no credentials are available: {0}")]
    Credentials(kube::Error),
}

/// A client for the cluster that a kubeconfig describes, in its current context unless another is named. Nothing is
/// sent yet.
pub async fn over_network(
    kubeconfig: &str,
    context: Option<&str>,
    user_agent: &str,
) -> Result<ApiClient, NetworkError> {
    let options = KubeConfigOptions { context: context.map(str::to_owned), ..KubeConfigOptions::default() };
    client(read(kubeconfig)?, options, user_agent, false).await
}

/// The same for a kubeconfig that was found in a Secret: it may name no commands and no files of ours, and its server may
/// be anybody's, so that little is buffered for it.
pub async fn over_network_by_secret(kubeconfig: &str, user_agent: &str) -> Result<ApiClient, NetworkError> {
    client(read_foreign(kubeconfig)?, KubeConfigOptions::default(), user_agent, true).await
}

async fn client(
    kubeconfig: Kubeconfig,
    options: KubeConfigOptions,
    user_agent: &str,
    is_foreign: bool,
) -> Result<ApiClient, NetworkError> {
    check_cluster(&kubeconfig, options.context.as_deref())?;
    let config =
        Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(KubeconfigProblem::from)?;
    check_credentials(&config.cluster_url, &config.auth_info)?;
    connect(config, None, user_agent, is_foreign)
}

/// A client by a configuration, with a token that its credentials do not have.
pub(super) fn connect(
    config: Config,
    token: Option<BearerToken>,
    user_agent: &str,
    is_foreign: bool,
) -> Result<ApiClient, NetworkError> {
    let activity = Activity::default();
    let mut tcp = connector();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    tcp.set_connect_timeout(Some(CONNECT));
    // HTTP/1.1 has no pings: this ends a watch whose server has forgotten it.
    tcp.set_keepalive(Some(PING_INTERVAL));
    tcp.set_keepalive_interval(Some(PING_TIMEOUT));
    let connector = hyper_rustls::HttpsConnectorBuilder::new()
        .with_tls_config(config.rustls_client_config().map_err(|_| NetworkError::Certificates)?)
        .https_or_http()
        .enable_http1()
        .enable_http2()
        .wrap_connector(Noting { connector: tcp, activity: activity.clone() });
    let connect_time = if is_foreign { CONNECT_FOREIGN } else { Duration::MAX };
    let connector = BoxCloneSyncService::new(Timeout::new(connector, connect_time));
    let mut builder = Client::builder(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .http2_keep_alive_interval(PING_INTERVAL)
        .http2_keep_alive_timeout(PING_TIMEOUT)
        .http2_keep_alive_while_idle(true);
    if is_foreign {
        builder
            .pool_max_idle_per_host(2)
            .http1_max_buf_size(WINDOW as usize)
            .http2_adaptive_window(false)
            .http2_initial_stream_window_size(WINDOW)
            .http2_initial_connection_window_size(2 * WINDOW);
    }
    let transport: Client<_, Body> = builder.build(connector);
    let service = ServiceBuilder::new()
        .layer(config.base_uri_layer())
        .option_layer(config.auth_layer().map_err(NetworkError::Credentials)?)
        .option_layer(token)
        .map_err(tower::BoxError::from)
        .service(transport);
    let (server, port) = (config.cluster_url.host(), config.cluster_url.port_u16());
    match is_foreign {
        // Whoever connects to a workload cluster names it.
        true => debug!(server, port, "connecting"),
        false => info!(server, port, "connecting to the management cluster"),
    }
    let client = ApiClient::new(kube::Client::new(service, config.default_namespace), user_agent);
    let host = config.cluster_url.authority().map_or_else(String::new, ToString::to_string);
    Ok(client.with_activity(activity).of_host(host))
}

/// A connector that asks the C library for the addresses of a name, and so everything that a workstation is configured to
/// ask. A static binary cannot.
#[cfg(not(target_feature = "crt-static"))]
fn connector() -> HttpConnector {
    HttpConnector::new()
}

#[cfg(target_feature = "crt-static")]
fn connector() -> HttpConnector<super::names::Names> {
    HttpConnector::new_with_resolver(super::names::Names::default())
}
