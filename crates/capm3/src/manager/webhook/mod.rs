//! The webhooks of the manager: takes flags, gives a running HTTPS server. Every replica serves, whoever leads.

mod flags;
mod self_managed;

use std::{net::SocketAddr, path::Path, time::Duration};

use capm3_admission::{
    Webhooks as Reviews,
    https::{self, CertificateFiles, Limits, Refresh, Served, Server},
};
use capm3_engine::{ApiClient, Clock, client::ServiceAccount};
use tokio::net::TcpListener;
use tracing::{info, warn};

pub use self::flags::WebhookArgs;
use self::self_managed::SelfManaged;
use crate::exit::Failure;

/// How often the files of the certificate are checked.
const POLL_INTERVAL: Duration = Duration::from_secs(10);

/// The webhook server of this process.
pub struct Webhooks {
    server: Server,
    served: Served,
}

/// Starts the server; none if it is switched off. The client is for certificates that are made here.
pub async fn start(
    args: &WebhookArgs,
    client: &ApiClient,
    clock: Clock,
) -> Result<Option<Webhooks>, Failure> {
    let Some(port) = args.port() else {
        info!("no webhooks are served: --webhook-port=0");
        return Ok(None);
    };
    let tls = args.tls()?;
    if !tls.not_offered().is_empty() {
        warn!(names = ?tls.not_offered(), "asked for and not offered: not safe");
    }
    let served = Served::default();
    match args.self_managed(&ServiceAccount::default())? {
        None => from_files(args.cert_dir(), &served)?,
        Some(service) => {
            let certificates = SelfManaged::new(client.clone(), clock, service, served.clone());
            tokio::spawn(certificates.run());
        }
    }
    let config = tls.server(served.clone()).map_err(|error| Failure::CouldNotRun(error.to_string()))?;
    let listener = bind(port).await?;
    let server = https::serve(listener, Some(config), Reviews, Limits::default());
    let server = server.map_err(|error| Failure::CouldNotRun(format!("--webhook-port {port}: {error}")))?;
    info!(webhooks = %server.local_addr(), "webhook server started");
    Ok(Some(Webhooks { server, served }))
}

impl Webhooks {
    /// Tells, whenever it is called, why the API server gets no answer from this process.
    pub fn problem(&self) -> impl Fn() -> Option<&'static str> + Send + Sync + 'static {
        let (is_serving, served) = (self.server.is_serving(), self.served.clone());
        move || match (is_serving(), served.has_certificate()) {
            (false, _) => Some("the webhook server does not accept connections"),
            (true, false) => Some("the webhook server has no certificate yet"),
            (true, true) => None,
        }
    }

    /// The same, but only what nothing but a restart would end.
    pub fn is_ended(&self) -> impl Fn() -> Option<&'static str> + Send + Sync + 'static {
        let is_serving = self.server.is_serving();
        move || (!is_serving()).then_some("the webhook server does not accept connections")
    }

    /// The certificate that is served.
    pub fn served(&self) -> Served {
        self.served.clone()
    }

    /// Lets requests in flight end, for so long at most.
    pub async fn stop(self, limit: Duration) {
        self.server.stop(limit).await;
    }
}

/// All addresses of the pod. Without IPv6 those of IPv4.
async fn bind(port: u16) -> Result<TcpListener, Failure> {
    let (all, all_ipv4) = (SocketAddr::from(([0u16; 8], port)), SocketAddr::from(([0u8; 4], port)));
    let bound = match TcpListener::bind(all).await {
        Err(error) if error.kind() != std::io::ErrorKind::AddrInUse => TcpListener::bind(all_ipv4).await,
        bound => bound,
    };
    bound.map_err(|error| {
        let ways = "choose another port, or 0 to serve no webhooks";
        Failure::CouldNotRun(format!("--webhook-port {port}: {error}; {ways}"))
    })
}

/// Serves the certificate of a folder, now and whenever it is replaced.
fn from_files(folder: &Path, served: &Served) -> Result<(), Failure> {
    let mut files = CertificateFiles::new(folder);
    let certified = files.load().map_err(|error| {
        let ways = "name the folder of tls.crt and tls.key by --webhook-cert-dir DIR, \
            have certificates made by --self-managed-certs, or serve no webhooks with --webhook-port=0";
        Failure::CouldNotRun(format!("webhooks need a certificate: {error}; {ways}"))
    })?;
    served.replace(certified);
    tokio::spawn(follow(files, served.clone()));
    Ok(())
}

async fn follow(mut files: CertificateFiles, served: Served) {
    loop {
        tokio::time::sleep(POLL_INTERVAL).await;
        // Two small files: not worth a thread.
        match files.refresh() {
            Refresh::Same => {}
            Refresh::New(certified) => {
                served.replace(*certified);
                info!("the webhook server serves another certificate");
            }
            Refresh::Broken(error) => {
                warn!(%error, "the certificate of the webhooks cannot be replaced; the previous one stays in use");
            }
        }
    }
}
