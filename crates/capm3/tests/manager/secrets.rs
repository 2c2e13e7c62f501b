//! What is in Secrets is in no log, event or condition, however much is logged.

use std::{collections::BTreeSet, time::Duration};

use base64::{Engine, prelude::BASE64_STANDARD};
use capm3_engine::{ObjectKey, ResourceKind};
use capm3_lab::manifests;
use serde_json::{Value, json};

use crate::{
    process::Manager,
    site::{Site, TOKEN, three_racks},
};

const PASSWORD: &str = "the-password-of-the-host-7f3a9";
const KUBECONFIG_TOKEN: &str = "the-token-of-the-kubeconfig-7f3a9";
const RENDERED: &str = "the-text-of-the-rendered-secret-7f3a9";

/// Shorter text, such as a name, may stand anywhere.
const SHORTEST: usize = 16;

fn secrets() -> ResourceKind {
    ResourceKind {
        group: String::new(),
        version: "v1".into(),
        kind: "Secret".into(),
        plural: "secrets".into(),
    }
}

/// The three racks with a password, a kubeconfig that leads to the workload cluster, and a text in all metadata.
fn apply(site: &Site) {
    let mut all = three_racks();
    for manifest in &mut all {
        match manifest.kind() {
            "Secret" => manifest.object["stringData"]["password"] = json!(PASSWORD),
            "Metal3DataTemplate" => {
                manifest.object["spec"]["metaData"]["strings"] = json!([{"key": "text", "value": RENDERED}]);
            }
            _ => {}
        }
    }
    let mut kubeconfig: Value = serde_json::from_str(&site.kubeconfig_of("metal3", "my-cluster")).unwrap();
    kubeconfig["users"][0]["user"]["token"] = json!(KUBECONFIG_TOKEN);
    let metadata = json!({"name": "my-cluster-kubeconfig", "namespace": "metal3"});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": metadata,
        "stringData": {"value": kubeconfig.to_string()}});
    let at = all.iter().position(|it| it.kind() == "Namespace").unwrap() + 1;
    all.splice(at..at, manifests::parse("kubeconfig", &secret.to_string()).unwrap());
    site.apply(&all);
}

/// What must not be logged: each line of each value of each Secret, and the values as the API has them.
fn secret_texts(site: &Site) -> BTreeSet<String> {
    let mut texts = BTreeSet::from([PASSWORD, KUBECONFIG_TOKEN, RENDERED, TOKEN].map(str::to_owned));
    for secret in site.objects("Secret") {
        for value in secret["data"].as_object().into_iter().flatten().filter_map(|(_, value)| value.as_str())
        {
            let bytes = BASE64_STANDARD.decode(value).unwrap();
            texts.extend(String::from_utf8_lossy(&bytes).lines().map(str::to_owned));
            texts.insert(value.to_owned());
        }
    }
    texts.retain(|text| text.len() >= SHORTEST);
    texts
}

fn until(what: &str, site: &Site, manager: &Manager, is_so: impl Fn(&Site) -> bool) {
    for _ in 0..600 {
        if is_so(site) {
            return;
        }
        std::thread::park_timeout(Duration::from_millis(200));
    }
    let logs = manager.logs.lock().unwrap();
    panic!("{what}: {:#?}", logs.iter().rev().take(30).collect::<Vec<_>>());
}

fn are_provisioned(site: &Site, number: usize) -> bool {
    let machines = site.objects("Metal3Machine");
    let is_ready = |it: &Value| it["status"]["initialization"]["provisioned"] == true;
    machines.iter().filter(|it| is_ready(it)).count() == number
}

#[test]
fn no_secret_is_logged_in_a_life_at_the_highest_verbosity() {
    let site = Site::start();
    apply(&site);
    let flags = [
        "-v=10",
        "--enable-ipam",
        "--webhook-port=0",
        "--leader-elect",
        "--leader-elect-namespace=capm3-system",
    ];
    // It says more than any -v: the libraries log everything too.
    let manager = Manager::start_logging(site.kubeconfig(), &flags, Some("trace"));
    until("six machines", &site, &manager, |site| are_provisioned(site, 6));
    let mut texts = secret_texts(&site);
    assert!(texts.len() > 20, "{texts:?}");
    // A kubeconfig that cannot be read, and one whose server cannot be reached.
    let key = ObjectKey::new("metal3", "my-cluster-kubeconfig");
    for broken in [
        format!("clusters:\n- a\n   token: {KUBECONFIG_TOKEN}\n"),
        site.kubeconfig_of("metal3", "no-cluster"),
    ] {
        let value = BASE64_STANDARD.encode(&broken);
        site.patch(&secrets(), &key, &json!({"data": {"value": value}}));
        let deployments = ResourceKind {
            group: "cluster.x-k8s.io".into(),
            version: "v1beta2".into(),
            kind: "MachineDeployment".into(),
            plural: "machinedeployments".into(),
        };
        let workers = ObjectKey::new("metal3", "my-cluster-workers");
        let known = site.objects("Metal3Machine").len();
        site.patch(&deployments, &workers, &json!({"spec": {"replicas": known - 2}}));
        let is_reported = |site: &Site| {
            let machines = site.objects("Metal3Machine");
            machines.len() > known
                && machines.iter().any(|it| it["status"].to_string().contains("workload cluster"))
        };
        until("a machine without Node", &site, &manager, is_reported);
        texts.extend(secret_texts(&site));
    }
    let clusters = ResourceKind {
        group: "cluster.x-k8s.io".into(),
        version: "v1beta2".into(),
        kind: "Cluster".into(),
        plural: "clusters".into(),
    };
    site.delete(&clusters, &ObjectKey::new("metal3", "my-cluster"));
    until("everything deleted", &site, &manager, |site| site.objects("Metal3Machine").is_empty());
    let logs: Vec<String> = manager.logs.lock().unwrap().iter().map(Value::to_string).collect();
    assert!(logs.len() > 1000 && logs.iter().any(|line| line.contains("\"TRACE\"")), "{} lines", logs.len());
    let events = site.objects("Event").iter().map(|it| it.to_string()).collect::<Vec<_>>();
    assert!(!events.is_empty());
    for text in &texts {
        let telling = logs.iter().chain(&events).find(|line| line.contains(text.as_str()));
        assert_eq!(telling, None, "{text}");
    }
}
