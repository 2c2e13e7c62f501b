//! The way back to the reference implementation: what our controllers wrote, after `capm3 migrate --portable`, is put into a
//! server that has the reference's CRDs.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

#[allow(dead_code, reason = "a part is used here")]
#[path = "../../../api/tests/schema_facts/facts.rs"]
mod facts;
#[allow(dead_code, reason = "a part is used here")]
#[path = "../../../lab/tests/takeover/namespace.rs"]
mod namespace;
mod reference;
mod taken_over;

use std::{collections::BTreeSet, path::Path, sync::Arc, time::Duration};

use capm3_apiserver::{ApiServer, Options as ServerOptions};
use capm3_engine::manifests::Document;
use capm3_lab::{Lab, Options, manifests};
use capm3_offline::migrate::{self, Migration, Severity};
use http::Request;
use http_body_util::BodyExt;
use serde_json::{Value, json};

/// The kinds that the reference implementation and its address manager know.
const PLURALS: [&str; 12] = [
    "metal3clusters",
    "metal3clustertemplates",
    "metal3dataclaims",
    "metal3datas",
    "metal3datatemplates",
    "metal3machines",
    "metal3machinetemplates",
    "metal3remediations",
    "metal3remediationtemplates",
    "ipaddresses",
    "ipclaims",
    "ippools",
];

/// What a server stores by itself, and owners, whose uids are of another server.
const OF_THE_SERVER: [&str; 6] =
    ["uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "ownerReferences"];

/// The objects of the reference's kinds after an example has come up here, with racks.
async fn written(example: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(example);
    let mut objects = manifests::read(&folder).unwrap();
    for host in objects.iter_mut().filter(|manifest| manifest.kind() == "BareMetalHost") {
        let labels = &mut host.object["metadata"]["labels"];
        if labels.is_null() {
            *labels = json!({"infrastructure.cluster.x-k8s.io/failure-domain": "rack1"});
        }
    }
    let lab = Lab::start(&Options::default()).await.unwrap();
    lab.apply(&objects).await.unwrap();
    lab.settle(Duration::from_secs(3600)).await;
    of_the_reference(&lab)
}

/// The objects of the reference's kinds, as they are stored.
fn of_the_reference(lab: &Lab) -> Vec<Value> {
    let groups = ["infrastructure.cluster.x-k8s.io/", "ipam.metal3.io/"];
    let is_theirs = |object: &Arc<Value>| {
        groups.iter().any(|group| object["apiVersion"].as_str().unwrap_or_default().starts_with(group))
    };
    let all = lab.server().objects(None);
    all.iter().filter(|object| is_theirs(object)).map(|object| object.as_ref().clone()).collect()
}

fn portable(objects: &[Value]) -> Migration {
    let texts = [("dump.yaml".to_owned(), migrate::to_yaml(objects))];
    migrate::migrate_texts(&texts, migrate::Options { prune: false, portable: true })
}

/// A server with the reference's CRDs and nobody's rules.
struct Reference(ApiServer);

impl Reference {
    async fn start() -> Self {
        let server = ApiServer::new(ServerOptions::new(Arc::new(|| jiff::Timestamp::UNIX_EPOCH), 1));
        let reference = Self(server);
        let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        for plural in PLURALS {
            let (code, answer) = reference.send("POST", crds, &reference::crd(plural)).await;
            assert_eq!(code, 201, "{plural}: {answer}");
        }
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "metal3"}});
        reference.send("POST", "/api/v1/namespaces", &namespace).await;
        reference
    }

    async fn send(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let content = if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let request = Request::builder().method(method).uri(path).header("content-type", content);
        let client = kube::Client::new(self.0.clone(), "default");
        let response =
            client.send(request.body(body.to_string().into_bytes().into()).unwrap()).await.unwrap();
        let code = response.status().as_u16();
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    /// Creates an object as `kubectl create` does: a member that the schema does not have is an error.
    async fn create(&self, object: &Value) -> (u16, Value) {
        let mut object = object.clone();
        object["metadata"]
            .as_object_mut()
            .unwrap()
            .retain(|member, _| !OF_THE_SERVER.contains(&member.as_str()));
        self.send("POST", &format!("{}?fieldValidation=Strict", collection(&object)), &object).await
    }

    /// Writes a status as a controller does; gives what is stored then.
    async fn put_status(&self, object: &Value) -> Value {
        let path = format!("{}/{}", collection(object), object["metadata"]["name"].as_str().unwrap());
        let patch = json!({"status": object["status"]});
        let (mut code, mut answer) = self.send("PATCH", &format!("{path}/status"), &patch).await;
        if code == 404 {
            (code, answer) = self.send("PATCH", &path, &patch).await;
        }
        assert_eq!(code, 200, "{path}: {answer}");
        answer
    }
}

fn collection(object: &Value) -> String {
    let document = Document::made(String::new(), object.clone());
    let kind = document.resource();
    format!("/apis/{}/namespaces/metal3/{}", kind.api_version(), kind.plural)
}

fn title(object: &Value) -> String {
    format!("{} {}", object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap())
}

/// Members that were sent and are not there.
fn pruned(path: &str, sent: &Value, stored: &Value, found: &mut BTreeSet<String>) {
    match (sent, stored) {
        (Value::Object(sent), _) => {
            for (member, value) in sent {
                let path = format!("{path}.{member}");
                match stored.get(member) {
                    None if path.matches('.').count() > 1 || !value.is_object() => drop(found.insert(path)),
                    there => pruned(&path, value, there.unwrap_or(&Value::Null), found),
                }
            }
        }
        (Value::Array(sent), Value::Array(stored)) => {
            for (at, (sent, stored)) in sent.iter().zip(stored).enumerate() {
                pruned(&format!("{path}[{at}]"), sent, stored, found);
            }
        }
        _ => {}
    }
}

/// Every object is accepted strictly, but for those that the report names as an error; of their status the server drops exactly
/// what the report says is dropped, which is given.
async fn assert_accepted(what: &str, objects: &[Value], refused: &[&str]) -> BTreeSet<String> {
    let migration = portable(objects);
    assert_eq!(migration.documents.len(), objects.len(), "{what}");
    let reference = Reference::start().await;
    let errors = migration.problems.iter().filter(|problem| problem.severity == Severity::Error);
    let named: BTreeSet<&str> = errors.map(|problem| problem.place.object.as_str()).collect();
    assert_eq!(named, refused.iter().copied().collect(), "{what}: {:?}", migration.problems);
    let (mut lost, mut kinds) = (BTreeSet::new(), BTreeSet::new());
    for (document, object) in migration.documents.iter().zip(objects) {
        let (code, answer) = reference.create(document).await;
        let title = title(document);
        if named.contains(title.as_str()) {
            assert_eq!(code, 400, "{what}: {title}: {answer}");
            assert!(answer["message"].as_str().unwrap().contains("unknown field"), "{answer}");
            continue;
        }
        assert_eq!(code, 201, "{what}: {title}: {answer}");
        kinds.insert(document["kind"].as_str().unwrap().to_owned());
        if object.get("status").is_some() {
            let stored = reference.put_status(object).await;
            let mut paths = BTreeSet::new();
            let sent = json!({"status": object["status"]});
            pruned("", &sent, &stored, &mut paths);
            lost.extend(paths.into_iter().map(|path| format!("{title}: {}", path.trim_start_matches('.'))));
        }
    }
    assert!(kinds.len() >= 8, "{what}: {kinds:?}");
    let dropped = migration.changes.iter().filter(|change| change.to == "dropped");
    let dropped = dropped.filter(|change| !named.contains(change.place.object.as_str()));
    let reported: BTreeSet<String> =
        dropped.map(|change| format!("{}: {}", change.place.object, change.place.path)).collect();
    assert_eq!(lost, reported, "{what}");
    reported
}

#[tokio::test(start_paused = true)]
async fn what_was_written_here_is_accepted_there_but_for_what_the_report_names() {
    let templates = ["Metal3MachineTemplate my-cluster-cp", "Metal3MachineTemplate my-cluster-workers"];
    for (example, refused) in [("no-cloud-provider", &[][..]), ("three-racks", &templates[..])] {
        let dropped = assert_accepted(example, &written(example).await, refused).await;
        assert!(dropped.iter().any(|it| it.ends_with("status.failureDomain")), "{example}: {dropped:?}");
    }
}

/// The server with the reference's CRDs is not one that accepts anything.
#[tokio::test(start_paused = true)]
async fn what_only_this_provider_has_is_refused_there() {
    let reference = Reference::start().await;
    let template = |spec: Value| {
        json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3DataTemplate",
            "metadata": {"name": "t", "namespace": "metal3"}, "spec": spec})
    };
    for spec in [
        json!({"templateReference": "key"}),
        json!({"metaData": {"strings": [{"key": "a", "value": ""}]}}),
        json!({"networkData": {"links": {"ethernets": [{"id": "e", "type": "phy"}]}}}),
        json!({"metaData": {"ipAddresses": [{"key": "a", "start": "10.0.0.1"}]}}),
    ] {
        let (code, answer) = reference.create(&template(spec.clone())).await;
        assert!(code == 400 || code == 422, "{spec}: {code} {answer}");
        let migration = portable(&[template(spec)]);
        for document in migration.documents {
            let (code, answer) = reference.create(&document).await;
            assert!(code == 201 || code == 409 || !migration.problems.is_empty(), "{document}: {answer}");
        }
    }
}
