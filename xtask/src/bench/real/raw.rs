//! The limit: a program that sends only the writes that must happen for each machine, in the order in which they depend on
//! each other, as many at once as the workers of the manager. It decides nothing, checks nothing and survives nothing.
//!
//! The world plays around it as around the manager. A manager answers the webhooks and looks after another namespace.

use std::{collections::BTreeSet, fs, path::Path, sync::Arc};

use anyhow::{Context, Result};
use capm3_api::{
    ipam::{IpAddress, IpClaim},
    metadata::MetadataExt,
    neighbours::{BareMetalHost, CAPI_GROUP, Machine, Node, SecretMetadata},
    v1beta2::{API_VERSION, Metal3Cluster, Metal3Data, Metal3DataClaim, Metal3Machine},
    vocabulary::{annotation, finalizer, host_state, label},
};
use capm3_engine::{
    ApiClient, Informer, Object, ObjectKey, ResourceKind, Store, client::over_network, clock::Stopwatch,
};
use capm3_lab::fleet::full_fleet;
use serde_json::{Value, json};
use tokio::{
    sync::{Notify, Semaphore},
    task::JoinSet,
};

use crate::e2e::{Manager, Server, Stage};

const NAMESPACE: &str = "fleet";

/// Workers of the controllers of machines and of data.
const WORKERS: usize = 10;

/// Seconds that the raw writer takes for a fleet.
pub async fn measure(size: usize, binary: &Path) -> Result<f64> {
    let server = Server::start_real()?;
    let stage = Stage::on(&server).await?;
    let _webhooks = Manager::start_with(binary, &server, &["--namespace=elsewhere"])?;
    server.until_webhooks_are_asked().await?;
    let kubeconfig = fs::read_to_string(server.kubeconfig()).context("reading the kubeconfig")?;
    let client = over_network(&kubeconfig, None, "raw-writer").await?;
    let writer = Arc::new(Writer::new(client));
    let stopwatch = Stopwatch::start();
    stage.apply(&full_fleet(size)).await?;
    let sent = tokio::spawn(Arc::clone(&writer).run(size + 1));
    tokio::select! {
        result = stage.until_ready(1, i64::try_from(size)?) => result?,
        Err(failed) = failed(sent) => return Err(failed),
    }
    Ok(stopwatch.elapsed().as_secs_f64())
}

/// Ends only if the writer fails.
async fn failed(sent: tokio::task::JoinHandle<Result<()>>) -> Result<()> {
    sent.await??;
    std::future::pending().await
}

struct Writer {
    client: ApiClient,
    machines: Arc<Store<Metal3Machine>>,
    owners: Arc<Store<Machine>>,
    hosts: Arc<Store<BareMetalHost>>,
    nodes: Arc<Store<Node>>,
    changed: Arc<Notify>,
    /// Each kind has the workers that its controller has: a template and a pool are each served by one.
    of_machines: Semaphore,
    of_data: Semaphore,
    of_template: Semaphore,
    of_pool: Semaphore,
}

/// A store that follows the server and reports each change.
fn followed<K: Object>(client: &ApiClient, changed: &Arc<Notify>) -> Arc<Store<K>> {
    let store = Arc::new(Store::<K>::new(&[]));
    let changed = Arc::clone(changed);
    store.subscribe(move |_| changed.notify_waiters());
    let informer = Informer::new(client.clone(), Arc::clone(&store), capm3_engine::Detail::Whole);
    tokio::spawn(informer.run());
    store
}

impl Writer {
    fn new(client: ApiClient) -> Self {
        let changed = Arc::new(Notify::new());
        Self {
            machines: followed(&client, &changed),
            owners: followed(&client, &changed),
            hosts: followed(&client, &changed),
            nodes: followed(&client, &changed),
            of_machines: Semaphore::new(WORKERS),
            of_data: Semaphore::new(WORKERS),
            of_template: Semaphore::new(1),
            of_pool: Semaphore::new(1),
            changed,
            client,
        }
    }

    /// Writes for so many machines, as they come.
    async fn run(self: Arc<Self>, count: usize) -> Result<()> {
        let ready =
            json!({"status": {"initialization": {"provisioned": true}, "conditions": [condition("Ready")]}});
        self.patch::<Metal3Cluster>("fleet", Some("status"), &ready).await?;
        let (mut seen, mut tasks) = (BTreeSet::new(), JoinSet::new());
        while seen.len() < count {
            let unseen = || {
                let all = self.machines.all().into_iter();
                let new: Vec<_> = all.filter(|machine| !seen.contains(&machine.key())).collect();
                (!new.is_empty()).then_some(new)
            };
            let came = self.until(unseen).await;
            for machine in came {
                let writer = Arc::clone(&self);
                let number = seen.len();
                seen.insert(machine.key());
                tasks.spawn(async move { writer.serve(number, &machine).await });
            }
        }
        while let Some(ended) = tasks.join_next().await {
            ended??;
        }
        Ok(())
    }

    /// Waits until something that is followed shows what is wanted.
    async fn until<T>(&self, mut check: impl FnMut() -> Option<T>) -> T {
        loop {
            let changed = self.changed.notified();
            tokio::pin!(changed);
            changed.as_mut().enable();
            match check() {
                Some(found) => return found,
                None => changed.await,
            }
        }
    }

    async fn patch<K: Object>(&self, name: &str, part: Option<&str>, patch: &Value) -> Result<Value> {
        let namespace = if ResourceKind::of::<K>().kind == "Node" { "" } else { NAMESPACE };
        let key = ObjectKey::new(namespace, name);
        let kind = ResourceKind::of::<K>();
        let answer = self.client.merge_patch(&kind, &key, part, patch).await;
        answer.with_context(|| format!("patch {kind} {name}"))
    }

    async fn create<K: Object>(&self, object: Value) -> Result<Value> {
        let kind = ResourceKind::of::<K>();
        let answer = self.client.create(&kind, NAMESPACE, object).await;
        answer.with_context(|| format!("create {kind}"))
    }

    /// An event, as the manager writes them.
    async fn event(&self, about: &str, reason: &str) -> Result<()> {
        let kind = ResourceKind {
            group: String::new(),
            version: "v1".into(),
            kind: "Event".into(),
            plural: "events".into(),
        };
        let event = json!({"metadata": {"name": format!("{about}.{reason}").to_lowercase(), "namespace": NAMESPACE},
            "involvedObject": {"apiVersion": API_VERSION, "kind": "Metal3Machine", "namespace": NAMESPACE, "name": about},
            "type": "Normal", "reason": reason, "message": "written by the raw writer", "count": 1,
            "source": {"component": "raw-writer"}});
        self.client.create(&kind, NAMESPACE, event).await?;
        Ok(())
    }

    /// Everything for one machine.
    async fn serve(&self, number: usize, machine: &Metal3Machine) -> Result<()> {
        let key = machine.key();
        let owner_of =
            |machine: Arc<Metal3Machine>| Some(machine.metadata.owner(CAPI_GROUP, "Machine")?.name.clone());
        let owner = self.until(|| self.machines.get(&key).and_then(owner_of)).await;
        let owner = ObjectKey::new(NAMESPACE, owner);
        let boots = self.until(|| self.owners.get(&owner)?.spec.bootstrap.data_secret_name.clone()).await;
        let one = One { number, machine, boots };
        let claim = self.take_host(&one).await?;
        let data = self.give_data(&one, &claim).await?;
        let address = self.ask_for_address(&one, &data).await?;
        self.give_address(&one, &address).await?;
        self.render(&one, &data).await?;
        self.provision(&one).await?;
        self.finish(&one).await
    }

    async fn take_host(&self, one: &One<'_>) -> Result<Value> {
        let (name, host) = (one.name(), one.host());
        let key = ObjectKey::new(NAMESPACE, &host);
        let is_available = |host: &Arc<BareMetalHost>| host.state() == host_state::AVAILABLE;
        self.until(|| self.hosts.get(&key).filter(is_available)).await;
        let _worker = self.of_machines.acquire().await?;
        // What is taken must not be forgotten: the finalizer comes before the claim, and the record after it.
        let held = json!({"metadata": {"finalizers": [finalizer::MACHINE]}});
        self.patch::<Metal3Machine>(name, None, &held).await?;
        let consumer =
            json!({"apiVersion": API_VERSION, "kind": "Metal3Machine", "namespace": NAMESPACE, "name": name});
        let taken = json!({"metadata": {"labels": {label::CLUSTER_NAME: "fleet"},
            "annotations": {annotation::BLOCK_MOVE: ""}}, "spec": {"consumerRef": consumer, "online": true}});
        self.patch::<BareMetalHost>(&host, None, &taken).await?;
        self.event(name, "HostClaimed").await?;
        let record = json!({"metadata": {"annotations": {annotation::HOST: format!("{NAMESPACE}/{host}")}}});
        self.patch::<Metal3Machine>(name, None, &record).await?;
        let labelled = json!({"metadata": {"labels": {label::CLUSTER_NAME: "fleet"}}});
        self.patch::<SecretMetadata>(&format!("{host}-bmc"), None, &labelled).await?;
        self.create::<Metal3DataClaim>(json!({
            "metadata": {"name": name, "namespace": NAMESPACE, "labels": one.machine.metadata.labels,
                "finalizers": [finalizer::MACHINE, finalizer::DATA_CLAIM],
                "ownerReferences": [owner("Metal3Machine", API_VERSION, name, one.machine.metadata.uid_str())]},
            "spec": {"template": {"name": "fleet", "namespace": NAMESPACE}}}))
            .await
    }

    async fn give_data(&self, one: &One<'_>, claim: &Value) -> Result<Value> {
        let _worker = self.of_template.acquire().await?;
        let (name, data) = (one.name(), one.data());
        let secret = |suffix: &str| json!({"name": format!("{name}-{suffix}"), "namespace": NAMESPACE});
        let made = self
            .create::<Metal3Data>(json!({
                "metadata": {"name": data, "namespace": NAMESPACE, "labels": one.machine.metadata.labels,
                    "finalizers": [finalizer::DATA_CLAIM, finalizer::DATA],
                    "ownerReferences": [owner("Metal3DataClaim", API_VERSION, name, uid(claim))]},
                "spec": {"index": one.number, "template": {"name": "fleet", "namespace": NAMESPACE},
                    "claim": {"name": name, "namespace": NAMESPACE},
                    "metaData": secret("metadata"), "networkData": secret("networkdata")}}))
            .await?;
        let served = json!({"status": {"renderedData": {"name": data, "namespace": NAMESPACE}}});
        self.patch::<Metal3DataClaim>(name, Some("status"), &served).await?;
        Ok(made)
    }

    async fn ask_for_address(&self, one: &One<'_>, data: &Value) -> Result<Value> {
        let _worker = self.of_data.acquire().await?;
        self.create::<IpClaim>(json!({
            "metadata": {"name": one.address_claim(), "namespace": NAMESPACE, "labels": one.machine.metadata.labels,
                "finalizers": [finalizer::DATA, finalizer::IP_CLAIM],
                "ownerReferences": [owner("Metal3Data", API_VERSION, &one.data(), uid(data))]},
            "spec": {"pool": {"name": "fleet", "namespace": NAMESPACE}}}))
            .await
    }

    async fn give_address(&self, one: &One<'_>, claim: &Value) -> Result<()> {
        let _worker = self.of_pool.acquire().await?;
        let (asked, address) = (one.address_claim(), one.address());
        let name = format!("fleet-{}", address.replace('.', "-"));
        let pool = json!({"name": "fleet", "namespace": NAMESPACE});
        self.create::<IpAddress>(json!({
            "metadata": {"name": name, "namespace": NAMESPACE, "labels": one.machine.metadata.labels,
                "finalizers": [finalizer::IP_ADDRESS],
                "ownerReferences": [owner("IPClaim", "ipam.metal3.io/v1alpha1", &asked, uid(claim))]},
            "spec": {"address": address, "prefix": 8, "gateway": "10.0.0.1", "pool": pool,
                "claim": {"name": asked, "namespace": NAMESPACE}}}))
            .await?;
        let served = json!({"status": {"address": {"name": name, "namespace": NAMESPACE}}});
        self.patch::<IpClaim>(&asked, Some("status"), &served).await?;
        Ok(())
    }

    async fn render(&self, one: &One<'_>, data: &Value) -> Result<()> {
        let _worker = self.of_data.acquire().await?;
        let name = one.name();
        let network = json!({"links": [], "networks": [{"id": "net", "link": "eno1", "type": "ipv4",
            "ip_address": one.address()}], "services": []});
        let documents = [
            ("metadata", "metaData", format!("name: {name}\n")),
            ("networkdata", "networkData", network.to_string()),
        ];
        for (suffix, key, document) in documents {
            self.create::<SecretMetadata>(json!({
                "metadata": {"name": format!("{name}-{suffix}"), "namespace": NAMESPACE,
                    "labels": {label::CLUSTER_NAME: "fleet"},
                    "ownerReferences": [owner("Metal3Data", API_VERSION, &one.data(), uid(data))]},
                "type": "infrastructure.cluster.x-k8s.io/secret", "stringData": {key: document}}))
                .await?;
        }
        let rendered = json!({"status": {"ready": true, "conditions": [condition("Ready")]}});
        self.patch::<Metal3Data>(&one.data(), Some("status"), &rendered).await?;
        Ok(())
    }

    async fn provision(&self, one: &One<'_>) -> Result<()> {
        let _worker = self.of_machines.acquire().await?;
        let secret = |name: String| json!({"name": name, "namespace": NAMESPACE});
        let filled = json!({"spec": {
            "image": {"url": "http://192.0.2.1/image.qcow2", "checksum": "http://192.0.2.1/image.sum"},
            "userData": secret(one.boots.clone()), "metaData": secret(format!("{}-metadata", one.name())),
            "networkData": secret(format!("{}-networkdata", one.name()))}});
        self.patch::<BareMetalHost>(&one.host(), None, &filled).await?;
        Ok(())
    }

    async fn finish(&self, one: &One<'_>) -> Result<()> {
        let (name, host) = (one.name(), ObjectKey::new(NAMESPACE, one.host()));
        let provisioned = || self.hosts.get(&host).filter(|host| host.state() == host_state::PROVISIONED);
        let provisioned = self.until(provisioned).await;
        let uid = provisioned.metadata.uid_str();
        let is_of_host = |node: &&Arc<Node>| node.metadata.label(label::NODE_UUID) == Some(uid);
        let node = self.until(|| self.nodes.all().iter().find(is_of_host).cloned()).await;
        let _worker = self.of_machines.acquire().await?;
        let id = format!("metal3://{NAMESPACE}/{}/{name}", host.name);
        let identified = json!({"spec": {"providerID": id}});
        self.patch::<Node>(node.metadata.name_str(), None, &identified).await?;
        self.patch::<Metal3Machine>(name, None, &identified).await?;
        let types = [
            "Ready",
            "AssociateBareMetalHost",
            "AssociateMetal3MachineMetaData",
            "Metal3DataReady",
            "BareMetalHostProvisioned",
        ];
        let done = json!({"status": {"initialization": {"provisioned": true},
            "conditions": types.map(condition), "renderedData": {"name": one.data(), "namespace": NAMESPACE},
            "userData": {"name": one.boots, "namespace": NAMESPACE}}});
        self.patch::<Metal3Machine>(name, Some("status"), &done).await?;
        Ok(())
    }
}

/// One machine, and what is made for it.
struct One<'a> {
    number: usize,
    machine: &'a Metal3Machine,
    /// Name of the Secret with its bootstrap data.
    boots: String,
}

impl One<'_> {
    fn name(&self) -> &str {
        self.machine.metadata.name_str()
    }

    fn host(&self) -> String {
        format!("host-{:05}", self.number)
    }

    fn data(&self) -> String {
        format!("fleet-{}", self.number)
    }

    fn address_claim(&self) -> String {
        format!("{}-fleet", self.data())
    }

    fn address(&self) -> String {
        let number = self.number + 10;
        format!("10.{}.{}.{}", number >> 16 & 0xff, number >> 8 & 0xff, number & 0xff)
    }
}

fn uid(object: &Value) -> &str {
    object.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default()
}

fn owner(kind: &str, api_version: &str, name: &str, uid: &str) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "name": name, "uid": uid, "controller": true})
}

fn condition(type_: &str) -> Value {
    json!({"type": type_, "status": "True", "reason": "Done", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z"})
}
