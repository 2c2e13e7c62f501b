//! `cargo xtask real image`: the image on a real API server, as a pod has it: read-only, as its user, with the service account, hosts
//! and resolv.conf of the pod. The API server is found by DNS first and by the hosts file then, and asks its webhooks.

use std::{
    collections::BTreeMap,
    fs,
    net::{Ipv4Addr, TcpListener},
    path::Path,
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::Value;

use super::{
    build,
    contents::BILL,
    dns,
    sandbox::{self, Sandbox},
    tools::Tools,
};
use crate::{
    conformance::client::Client,
    install::{Loopback, account_kubeconfig, install_release, until_asked},
    real::{CannotRun, Cluster, wait},
};

/// Where a pod has its service account, and where the Deployment mounts the certificate of the webhooks.
const ACCOUNT: &str = "/var/run/secrets/kubernetes.io/serviceaccount";
const CERTIFICATES: &str = "/tmp/k8s-webhook-server/serving-certs";
/// What the Deployment leaves a process to end.
const GRACE: Duration = Duration::from_secs(10);
const TIMEOUT: Duration = Duration::from_secs(60);
/// What the short name of the API server is called in full, with a search domain of the pod.
const FULL_NAME: &str = "kubernetes.default.svc.cluster.local.";

/// Builds the image, has it checked by the tools of others, and runs it.
pub fn run() -> Result<()> {
    sandbox::possible().map_err(|error| CannotRun(format!("{error:#}")))?;
    let tools = Tools::fetch().map_err(|error| CannotRun(format!("{error:#}")))?;
    let (file, archive) = build()?;
    let root = tools.unpack(&file, &archive)?;
    say("skopeo and umoci read what was put in");
    alone(&root)?;
    on_a_server(&root)
}

/// What needs no server: the program starts without anything else, and can write nowhere.
fn alone(root: &Path) -> Result<()> {
    let bill: Value = serde_json::from_slice(&fs::read(root.join(BILL))?)?;
    let components = bill.pointer("/components").and_then(Value::as_array).map_or(0, Vec::len);
    ensure!(components > 100, "{components} components in the bill of materials");
    let sandbox = Sandbox::at(root)?;
    let (status, text) = sandbox.output(&["/capm3", "version", "-o", "json"])?;
    ensure!(status.success(), "version: {status} {text}");
    let version: Value = serde_json::from_str(&text).with_context(|| text.clone())?;
    ensure!(version.get("static") == Some(&true.into()), "{version}");
    let commit = version.get("commit").and_then(Value::as_str).unwrap_or_default();
    say(&format!("runs alone, of commit {commit}; {components} components in its bill of materials"));
    let (status, text) = sandbox.output(&["/capm3", "manifests", "--output", "/written"])?;
    ensure!(!status.success() && text.contains("Read-only file system"), "it could write: {status} {text}");
    Ok(())
}

fn on_a_server(root: &Path) -> Result<()> {
    let cluster = Cluster::start()?;
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let webhooks = Loopback::at(port)?;
    install_release(&cluster, &webhooks)?;
    let folder = cluster.folder().join("pod");
    webhooks.write_pair(&folder.join("certificates"))?;
    let server = account(&cluster, &folder)?;
    let names = dns::Server::start(BTreeMap::from([(FULL_NAME, Ipv4Addr::LOCALHOST)]))?;
    let (own, search) =
        ("127.0.0.1 localhost\n", "search capm3-system.svc.cluster.local svc.cluster.local cluster.local\n");
    let pods = [
        Pod {
            name: "by DNS",
            host: "kubernetes.default",
            hosts: own.to_owned(),
            resolv_conf: format!("{search}nameserver {}\noptions ndots:5\n", names.address),
        },
        Pod {
            name: "by the hosts file",
            host: "kubernetes",
            hosts: format!("{own}127.0.0.1 kubernetes\n"),
            resolv_conf: String::new(),
        },
    ];
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    for pod in &pods {
        let log = cluster.log("manager");
        let played = pod.play(root, &folder, &log, &cluster, server, port, &runtime);
        played.with_context(|| fs::read_to_string(&log).unwrap_or_default())?;
    }
    let asked = names.asked();
    let is_full = |name: &String| name.as_str() == FULL_NAME;
    ensure!(asked.iter().any(is_full), "the DNS server was asked for {asked:?}");
    let first = asked.first().map_or("", String::as_str);
    ensure!(
        first == "kubernetes.default.capm3-system.svc.cluster.local.",
        "the first search domain was not tried: {asked:?}"
    );
    Ok(())
}

/// Writes the files of a service account; gives the port of the API server.
fn account(cluster: &Cluster, folder: &Path) -> Result<u16> {
    let file = cluster.folder().join("account.kubeconfig");
    account_kubeconfig(cluster, &file)?;
    let config: Value = serde_json::from_slice(&fs::read(&file)?)?;
    let word = |pointer: &str| {
        config.pointer(pointer).and_then(Value::as_str).with_context(|| format!("no {pointer}"))
    };
    let authority = BASE64_STANDARD.decode(word("/clusters/0/cluster/certificate-authority-data")?)?;
    let account = folder.join("account");
    fs::create_dir_all(&account)?;
    fs::write(account.join("ca.crt"), authority)?;
    fs::write(account.join("token"), word("/users/0/user/token")?)?;
    fs::write(account.join("namespace"), capm3_install::NAMESPACE)?;
    let port = word("/clusters/0/cluster/server")?.rsplit(':').next().and_then(|port| port.parse().ok());
    port.context("the server has no port")
}

/// How a pod finds the API server.
struct Pod {
    name: &'static str,
    host: &'static str,
    hosts: String,
    resolv_conf: String,
}

impl Pod {
    #[expect(clippy::too_many_arguments, reason = "one place calls it")]
    fn play(
        &self,
        root: &Path,
        folder: &Path,
        log: &Path,
        cluster: &Cluster,
        server: u16,
        webhooks: u16,
        runtime: &tokio::runtime::Runtime,
    ) -> Result<()> {
        let mut sandbox = Sandbox::at(root)?;
        for (name, text, to) in
            [("hosts", &self.hosts, "/etc/hosts"), ("resolv.conf", &self.resolv_conf, "/etc/resolv.conf")]
        {
            let file = folder.join(name);
            fs::write(&file, text)?;
            sandbox.mount(&file, to)?;
        }
        sandbox.mount(&folder.join("account"), ACCOUNT)?;
        sandbox.mount(&folder.join("certificates"), CERTIFICATES)?;
        sandbox.set("KUBERNETES_SERVICE_HOST", self.host.to_owned());
        sandbox.set("KUBERNETES_SERVICE_PORT", server.to_string());
        let webhook_port = format!("--webhook-port={webhooks}");
        // An address to listen at may be a name too.
        let loopback = ["--health-addr=localhost:0", "--diagnostics-address=127.0.0.1:0"];
        let arguments =
            ["/manager", "--leader-elect", "--enable-ipam", &webhook_port, loopback[0], loopback[1]];
        let mut manager = sandbox.start(&arguments, log)?;
        runtime.block_on(async { until_asked(&Client::new(&cluster.kubeconfig()).await?).await })?;
        let is_logged = |words: &str| anyhow::Ok(fs::read_to_string(log)?.contains(words));
        let leads = wait::until(TIMEOUT, || Ok(is_logged("became leader")?.then_some(())))?;
        if let Some(status) = manager.ended()? {
            bail!("the manager ended: {status}");
        }
        ensure!(leads.is_some(), "it does not lead");
        ensure!(manager.user()? == (65532, 65532), "it runs as {:?}", manager.user()?);
        let status = manager.stop(GRACE)?;
        ensure!(status.success() && is_logged("released the Lease")?, "it ended with {status} on SIGTERM");
        say(&format!(
            "{}: {} is found, its webhooks answer, and it ends when it is asked to",
            self.name, self.host
        ));
        Ok(())
    }
}

fn say(what: &str) {
    eprintln!("image: {what}");
}
