//! A random site: racks, hosts, machines, templates and pools in one or two namespaces of equal names.

use std::time::Duration;

use capm3_engine::rng::Rng;
use serde_json::{Value, json};

const INFRASTRUCTURE: &str = "infrastructure.cluster.x-k8s.io";
const RACKS: [&str; 3] = ["rack1", "rack2", "rack3"];
const NODE_REUSE: &str = "infrastructure.cluster.x-k8s.io/node-reuse";
const FAILURE_DOMAIN: &str = "infrastructure.cluster.x-k8s.io/failure-domain";

/// What a site may have.
pub const PARTS: [&str; 9] = [
    "racks",
    "templates by rack",
    "shared indexes",
    "reservations in pools",
    "reserved hosts",
    "own user data",
    "paused parts",
    "two namespaces",
    "a dead provider",
];

/// What is put into a lab, and when.
pub struct Site {
    /// All but hosts: machines come to wait for them.
    pub before: Vec<Value>,
    /// Hosts that come then: some machines run on them.
    pub first_hosts: Vec<Value>,
    /// The others.
    pub hosts: Vec<Value>,
    /// What is changed then: kind, name and patch.
    pub changes: Vec<(&'static str, String, Value)>,
    /// At which write the provider dies before the forecast is made.
    pub dies_at: Option<u64>,
    /// How long no provider runs then: what is there may be of the same second as what is to come.
    pub pause: Duration,
}

impl Site {
    pub fn random(seed: u64) -> Self {
        let draw = Draw(Rng::seeded(seed));
        let namespaces: &[&str] = if draw.one_in(2) { &["left", "right"] } else { &["left"] };
        let mut site = Self {
            before: Vec::new(),
            first_hosts: Vec::new(),
            hosts: Vec::new(),
            changes: Vec::new(),
            dies_at: None,
            pause: Duration::ZERO,
        };
        for namespace in namespaces {
            let home = Home { namespace, draw: &draw };
            site.before.extend(home.surroundings());
            let mut hosts = home.hosts();
            let first = if draw.one_in(2) { draw.below(hosts.len() as u64) } else { 0 };
            site.hosts.extend(hosts.split_off(usize::try_from(first).unwrap()));
            site.first_hosts.extend(hosts);
        }
        site.changes = changes(&draw);
        site.dies_at = draw.one_in(2).then(|| 1 + draw.below(60));
        site.pause = Duration::from_millis(draw.below(3000));
        site
    }

    /// What the site has of [`PARTS`].
    pub fn parts(&self) -> Vec<&'static str> {
        let all =
            [&self.before, &self.first_hosts, &self.hosts].map(|objects| json!(objects).to_string()).concat();
        let has = |text: &str| all.contains(text);
        let found = [
            has(&format!(r#""{FAILURE_DOMAIN}":"rack"#)) && has(r#""failureDomain":"rack"#),
            has("failureDomainDataTemplates"),
            has("templateReference"),
            has(r#""net-1-1-v4":"#),
            has(&format!(r#""{NODE_REUSE}":"#)),
            has(r#""userData":"#),
            !self.changes.is_empty(),
            has(r#""namespace":"right""#),
            self.dies_at.is_some(),
        ];
        PARTS.into_iter().zip(found).filter(|(_, is_there)| *is_there).map(|(part, _)| part).collect()
    }
}

struct Draw(Rng);

impl Draw {
    fn below(&self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    fn one_in(&self, bound: u64) -> bool {
        self.below(bound) == 0
    }

    fn of<'a>(&self, choices: &[&'a str]) -> &'a str {
        choices[usize::try_from(self.below(choices.len() as u64)).unwrap()]
    }
}

/// Parts that are paused, or nothing.
fn changes(draw: &Draw) -> Vec<(&'static str, String, Value)> {
    let paused = || super::annotated("cluster.x-k8s.io/paused", "");
    match draw.below(8) {
        0 => vec![("Metal3Machine", String::new(), paused())],
        1 => vec![("IPPool", "v4".to_owned(), paused())],
        2 => vec![("Metal3DataTemplate", "net-1".to_owned(), paused())],
        3 => vec![("Cluster", "c".to_owned(), json!({"spec": {"paused": true}}))],
        4 => {
            vec![("Metal3DataTemplate", "net-0".to_owned(), paused()), ("IPPool", "v6".to_owned(), paused())]
        }
        _ => Vec::new(),
    }
}

struct Home<'a> {
    namespace: &'a str,
    draw: &'a Draw,
}

impl Home<'_> {
    fn object(&self, api_version: &str, kind: &str, name: &str, spec: Value) -> Value {
        json!({"apiVersion": api_version, "kind": kind,
            "metadata": {"name": name, "namespace": self.namespace}, "spec": spec})
    }

    fn ours(&self, kind: &str, name: &str, spec: Value) -> Value {
        self.object(&format!("{INFRASTRUCTURE}/v1beta2"), kind, name, spec)
    }

    fn secret(&self, name: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": self.namespace},
            "stringData": {"value": "x"}})
    }

    fn surroundings(&self) -> Vec<Value> {
        let domains: Vec<Value> =
            RACKS.iter().map(|rack| json!({"name": rack, "controlPlane": true})).collect();
        let mut all = vec![
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.namespace}}),
            self.secret("boot"),
            self.secret("own"),
            self.object(
                "cluster.x-k8s.io/v1beta2",
                "Cluster",
                "c",
                json!({"infrastructureRef": {"apiGroup": INFRASTRUCTURE, "kind": "Metal3Cluster", "name": "c"}}),
            ),
            self.ours(
                "Metal3Cluster",
                "c",
                json!({"controlPlaneEndpoint": {"host": "10.0.0.100", "port": 6443},
                "failureDomains": domains}),
            ),
        ];
        all.extend(self.pools());
        all.extend((0..3).map(|number| self.data_template(number)));
        for number in 0..1 + self.draw.below(3) {
            all.extend(self.workers(number));
        }
        all
    }

    fn pools(&self) -> Vec<Value> {
        // Sometimes too small for all.
        let last = if self.draw.one_in(4) { 11 } else { 200 };
        let reserved = if self.draw.one_in(3) { json!({"net-1-1-v4": "10.1.0.10"}) } else { json!({}) };
        let v4 = json!({"namePrefix": "v4", "prefix": 24, "gateway": "10.1.0.1", "preAllocations": reserved,
            "pools": [{"start": "10.1.0.10", "end": format!("10.1.0.{last}")}]});
        let v6 = json!({"namePrefix": "v6", "prefix": 64, "gateway": "2001:db8::1",
            "pools": [{"start": "2001:db8::10", "end": "2001:db8::ff"}]});
        [("v4", v4), ("v6", v6)]
            .map(|(name, spec)| self.object("ipam.metal3.io/v1alpha1", "IPPool", name, spec))
            .into()
    }

    fn data_template(&self, number: u64) -> Value {
        let shares = number > 0 && self.draw.one_in(3);
        let mut ipv4 = vec![json!({"id": "v4", "link": "eno1", "ipAddressFromIPPool": "v4"})];
        if self.draw.one_in(3) {
            let end = format!("10.9.0.{}", 3 + self.draw.below(20));
            ipv4 = vec![
                json!({"id": "in", "link": "eno1", "prefix": 24, "ipAddress": {"start": "10.9.0.1", "end": end}}),
            ];
        }
        let mut networks = json!({"ipv4": ipv4});
        if self.draw.one_in(2) {
            networks["ipv6"] = json!([{"id": "v6", "link": "eno1", "ipAddressFromIPPool": "v6"}]);
        }
        let mut spec = json!({
            "metaData": {
                "objectNames": [{"key": "host", "object": "baremetalhost"}, {"key": "machine", "object": "machine"}],
                "indexes": [{"key": "index", "prefix": "node-"}],
                "fromLabels": [{"key": "rack", "object": "baremetalhost", "label": FAILURE_DOMAIN}]},
            "networkData": {
                "links": {"ethernets": [{"id": "eno1", "type": "phy", "macAddress": {"fromHostInterface": "eno1"}}]},
                "networks": networks}});
        if shares {
            spec["templateReference"] = json!("shared");
        }
        self.ours("Metal3DataTemplate", &format!("net-{number}"), spec)
    }

    /// A MachineDeployment and the template of its machines.
    fn workers(&self, number: u64) -> Vec<Value> {
        let name = format!("workers-{number}");
        let mut machine = json!({"image": {"url": "http://192.0.2.1/image.qcow2", "checksum": "http://192.0.2.1/image.sum"}});
        if !self.draw.one_in(6) {
            machine["dataTemplate"] =
                json!({"name": format!("net-{}", self.draw.below(3)), "namespace": self.namespace});
        }
        if self.draw.one_in(5) {
            machine["hostSelector"] = json!({"matchLabels": {"size": "big"}});
        }
        if self.draw.one_in(6) {
            machine["metaData"] = json!({"name": "own", "namespace": self.namespace});
        }
        let mut bootstrap = json!({"dataSecretName": "boot"});
        if self.draw.one_in(3) {
            machine["userData"] = json!({"name": "own", "namespace": self.namespace});
            bootstrap = json!({});
        }
        let mut template = json!({"nodeReuse": self.draw.one_in(2), "template": {"spec": machine}});
        if self.draw.one_in(2) {
            let row = |rack: &str, to: u64| json!({"failureDomain": rack, "dataTemplate": {"name": format!("net-{to}"), "namespace": self.namespace}});
            template["failureDomainDataTemplates"] =
                RACKS.iter().map(|rack| row(rack, self.draw.below(3))).collect();
        }
        let labels = json!({"cluster.x-k8s.io/cluster-name": "c", "cluster.x-k8s.io/deployment-name": name});
        let mut spec = json!({"clusterName": "c", "version": "v1.36.0", "bootstrap": bootstrap,
            "infrastructureRef": {"apiGroup": INFRASTRUCTURE, "kind": "Metal3MachineTemplate", "name": name}});
        if self.draw.one_in(2) {
            spec["failureDomain"] = json!(self.draw.of(&RACKS));
        }
        let deployment = json!({"clusterName": "c", "replicas": 1 + self.draw.below(4),
            "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": spec}});
        vec![
            self.ours("Metal3MachineTemplate", &name, template),
            self.object("cluster.x-k8s.io/v1beta2", "MachineDeployment", &name, deployment),
        ]
    }

    fn hosts(&self) -> Vec<Value> {
        (0..2 + self.draw.below(9)).map(|number| self.host(number)).collect()
    }

    fn host(&self, number: u64) -> Value {
        let mac = format!("52:54:00:00:00:{number:02x}");
        let nic = if self.draw.one_in(8) { "ens3" } else { "eno1" };
        let hardware = json!({"hostname": format!("h{number}"), "nics": [{"name": nic, "mac": mac}]});
        let mut host = self.object(
            "metal3.io/v1alpha1",
            "BareMetalHost",
            &format!("h{number}"),
            json!({"online": true, "bootMACAddress": mac,
                "bmc": {"address": format!("redfish+http://192.0.2.1/{number}"), "credentialsName": "own"}}),
        );
        host["metadata"]["annotations"] = json!({"inspect.metal3.io/hardwaredetails": hardware.to_string()});
        let mut labels = json!({});
        if !self.draw.one_in(5) {
            labels[FAILURE_DOMAIN] = json!(self.draw.of(&RACKS));
        }
        if self.draw.one_in(2) {
            labels["size"] = json!("big");
        }
        if self.draw.one_in(5) {
            // Kept for a next machine of the first deployment.
            labels[NODE_REUSE] = json!("md-workers-0");
            labels["cluster.x-k8s.io/cluster-name"] = json!("c");
            host["spec"]["consumerRef"] = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
                "namespace": self.namespace, "name": "c"});
        }
        host["metadata"]["labels"] = labels;
        host
    }
}
