//! `cargo xtask real webhooks`: a real API server asks the webhooks of a manager that makes its own certificates.
//!
//! The manager runs beside the cluster: its Service is a name for this machine, so that the API server finds it as it
//! finds a pod, with the name in the certificate that it expects.

use std::{
    fs,
    net::TcpListener,
    process::{Child, Command, Stdio},
};

use anyhow::{Context, Result, bail, ensure};
use capm3_admission::{defaulter_name, review::Route, validator_name};
use capm3_api::ApiKind;
use capm3_engine::{
    ApiClient, Detail, ObjectKey, ResourceKind,
    client::{ApiError, over_network},
};
use serde_json::{Value, json};

use super::manager;
use crate::{
    conformance::client::Client,
    install::until_asked,
    real::{Cluster, wait::Stopwatch},
};

const SERVICE: (&str, &str) = capm3_api::crd::CONVERSION_SERVICE;
/// How a machine whose image has no checksum is refused.
const REFUSAL: &str = "admission webhook \"validation.metal3machine.infrastructure.cluster.x-k8s.io\" denied the request: \
    Metal3Machine.infrastructure.cluster.x-k8s.io \"b\" is invalid: Spec.Image.Checksum: Required value: ";

/// A running manager; dropping it kills it.
struct Manager(Child);

impl Drop for Manager {
    fn drop(&mut self) {
        let _ended = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// Runs the scenario on a cluster that is started for it.
pub fn run() -> Result<()> {
    let binary = manager::build()?;
    let cluster = Cluster::start()?;
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let text = fs::read_to_string(cluster.kubeconfig())?;
        let client = over_network(&text, None, "capm3-e2e").await?;
        install(&client, port).await?;
        let log = cluster.log("manager");
        let child = Command::new(&binary)
            .args(["manager", "--health-addr=127.0.0.1:0", "--diagnostics-address=0"])
            .args(["--self-managed-certs", "--kubeconfig"])
            .arg(cluster.kubeconfig())
            .args([format!("--webhook-port={port}"), format!("--webhook-service-namespace={}", SERVICE.0)])
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(fs::File::create(&log)?)
            .spawn()?;
        let _manager = Manager(child);
        let played = play(&client, &Client::new(&cluster.kubeconfig()).await?).await;
        played.with_context(|| fs::read_to_string(&log).unwrap_or_default())
    })
}

/// Namespace, Service, CRDs and webhook configurations, none of which knows an authority yet.
async fn install(client: &ApiClient, port: u16) -> Result<()> {
    let (namespace, name) = SERVICE;
    client.create(&ResourceKind::namespaces(), "", json!({"metadata": {"name": namespace}})).await?;
    let service =
        json!({"metadata": {"name": name}, "spec": {"type": "ExternalName", "externalName": "localhost"}});
    client.create(&core("Service", "services"), namespace, service).await?;
    for mut crd in capm3_api::crd::all() {
        let service = crd.pointer_mut("/spec/conversion/webhook/clientConfig/service");
        if let Some(service) = service.and_then(Value::as_object_mut) {
            service.insert("port".to_owned(), port.into());
        }
        client.create(&ResourceKind::definitions(), "", crd).await?;
    }
    for (kind, plural, word) in [
        ("MutatingWebhookConfiguration", "mutatingwebhookconfigurations", "mutating"),
        ("ValidatingWebhookConfiguration", "validatingwebhookconfigurations", "validating"),
    ] {
        let kind = ResourceKind { group: "admissionregistration.k8s.io".to_owned(), ..core(kind, plural) };
        let name = format!("capm3-{word}-webhook-configuration");
        let object = json!({"metadata": {"name": name}, "webhooks": registered(word == "mutating", port)});
        client.create(&kind, "", object).await?;
    }
    Ok(())
}

/// One webhook a path, as the Go provider registers them.
fn registered(mutating: bool, port: u16) -> Vec<Value> {
    let webhook = |path: String| {
        let (api, name) = match Route::of(&path)? {
            Route::Default(api) if mutating => (api, defaulter_name(api.group, api.kind)),
            Route::Validate(api) if !mutating => (api, validator_name(api.group, api.kind)),
            _ => return None,
        };
        let ApiKind { group, version, plural, .. } = api;
        let service = json!({"namespace": SERVICE.0, "name": SERVICE.1, "path": path, "port": port});
        let rule = json!({
            "apiGroups": [group], "apiVersions": [version], "resources": [plural], "operations": ["CREATE", "UPDATE"],
        });
        Some(json!({
            "name": name, "admissionReviewVersions": ["v1", "v1beta1"], "clientConfig": {"service": service},
            "failurePolicy": "Fail", "matchPolicy": "Equivalent", "sideEffects": "None", "rules": [rule],
        }))
    };
    Route::paths().filter_map(webhook).collect()
}

fn core(kind: &str, plural: &str) -> ResourceKind {
    ResourceKind { group: String::new(), version: "v1".into(), kind: kind.into(), plural: plural.into() }
}

fn ours(version: &str, kind: &str, plural: &str) -> ResourceKind {
    ResourceKind {
        group: capm3_api::v1beta2::GROUP.to_owned(),
        version: version.to_owned(),
        ..core(kind, plural)
    }
}

async fn play(client: &ApiClient, raw: &Client) -> Result<()> {
    let (stored, older) = (
        ours("v1beta2", "Metal3Cluster", "metal3clusters"),
        ours("v1beta1", "Metal3Cluster", "metal3clusters"),
    );
    let cluster = |name: &str, host: &str| json!({"metadata": {"name": name}, "spec": {"controlPlaneEndpoint": {"host": host}}});
    let watch = Stopwatch::start();
    // Until the API server knows the authority, of admission and of conversion, and has read its configurations.
    until_asked(raw).await?;
    say(&format!("the API server trusts the manager after {:.1} s", watch.elapsed().as_secs_f64()));
    let created = client.create(&stored, "default", cluster("a", "10.0.0.1")).await?;
    ensure!(is(&created, "/spec/controlPlaneEndpoint/port", 6443), "not filled in: {created}");
    say("an object is filled in");
    let machines = ours("v1beta2", "Metal3Machine", "metal3machines");
    let machine = json!({"metadata": {"name": "b"}, "spec": {"image": {"url": "http://h/i"}}});
    match client.create(&machines, "default", machine).await {
        Err(ApiError::Refused { code: 422, message, .. }) if message.starts_with(REFUSAL) => {}
        other => bail!("not refused as it should be: {other:?}"),
    }
    say("a wrong object is refused in the words of the rules");
    let converted: Value =
        client.get(&older, &ObjectKey::new("default", "a")).await?.context("no object in v1beta1")?;
    ensure!(is(&converted, "/spec/noCloudProvider", true), "not converted: {converted}");
    let endpoint = json!({"host": "10.0.0.2", "port": 443});
    let domains = json!({"rack1": {"controlPlane": true}});
    let of_old = json!({
        "metadata": {"name": "c"}, "spec": {"controlPlaneEndpoint": endpoint, "failureDomains": domains},
    });
    client.create(&older, "default", of_old).await?;
    let up: Value =
        client.get(&stored, &ObjectKey::new("default", "c")).await?.context("no object in v1beta2")?;
    ensure!(is(&up, "/spec/failureDomains/0/name", "rack1"), "not converted: {up}");
    say("objects are converted both ways");
    for number in 0..60 {
        client.create(&stored, "default", cluster(&format!("many-{number}"), "10.0.0.1")).await?;
    }
    let page = client.list_page::<Value>(&older, "default", Detail::Whole, None).await?;
    ensure!(page.items.len() == 62, "{} objects", page.items.len());
    ensure!(page.items.iter().all(|it| is(it, "/spec/noCloudProvider", true)), "a list is not converted");
    say("a list of 62 objects is converted");
    Ok(())
}

fn is(object: &Value, pointer: &str, expected: impl Into<Value>) -> bool {
    object.pointer(pointer) == Some(&expected.into())
}

fn say(what: &str) {
    eprintln!("webhooks: {what}");
}
