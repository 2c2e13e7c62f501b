//! Where a wait is brought about: a lab, or objects in memory on which the planner carries out the same decisions.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use capm3_domain::wait::Wait;
use capm3_engine::{ObjectKey, manifests::Document};
use capm3_lab::{
    Lab, Options,
    faults::{Call, Fault, Faults},
    manifests::Manifest,
};
use capm3_offline::planner::{Controller, Planner};
use serde_json::{Value, json};

use crate::{
    common::capm3,
    site::{HOME, Site},
};

/// How long a wait may take to come, in virtual time.
const LIMIT: Duration = Duration::from_secs(1800);
/// How often it is looked for.
const POLL: Duration = Duration::from_millis(100);

/// Kinds that a planner dumps, with their versions.
const KINDS: [(&str, &str); 14] = [
    ("infrastructure.cluster.x-k8s.io/v1beta2", "Metal3Machine"),
    ("infrastructure.cluster.x-k8s.io/v1beta2", "Metal3Cluster"),
    ("infrastructure.cluster.x-k8s.io/v1beta2", "Metal3DataTemplate"),
    ("infrastructure.cluster.x-k8s.io/v1beta2", "Metal3DataClaim"),
    ("infrastructure.cluster.x-k8s.io/v1beta2", "Metal3Data"),
    ("ipam.metal3.io/v1alpha1", "IPPool"),
    ("ipam.metal3.io/v1alpha1", "IPClaim"),
    ("ipam.metal3.io/v1alpha1", "IPAddress"),
    ("metal3.io/v1alpha1", "BareMetalHost"),
    ("cluster.x-k8s.io/v1beta2", "Cluster"),
    ("cluster.x-k8s.io/v1beta2", "Machine"),
    ("cluster.x-k8s.io/v1beta2", "MachineSet"),
    ("cluster.x-k8s.io/v1beta2", "MachineDeployment"),
    ("v1", "Secret"),
];

/// A scene, and whose wait it is about.
pub struct Scene {
    place: Place,
    controller: Controller,
    name: String,
}

enum Place {
    Lab(Box<Lab>),
    Planned(Box<Planner>),
}

impl Scene {
    /// The wait of the machine in a lab.
    pub fn machine(lab: Lab) -> Self {
        Self::of(lab, Controller::Machine, "m")
    }

    /// The wait of the machine's data in a lab.
    pub fn data(lab: Lab) -> Self {
        Self::of(lab, Controller::Data, "d-0")
    }

    /// The wait of an object in a lab.
    pub fn of(lab: Lab, controller: Controller, name: &str) -> Self {
        Self { place: Place::Lab(Box::new(lab)), controller, name: name.to_owned() }
    }

    /// The wait of an object once the planner has worked on objects as they are.
    pub fn planned(site: &Site, controller: Controller, name: &str) -> Self {
        let documents: Vec<Document> =
            site.0.iter().map(|object| Document::made("site", object.clone())).collect();
        let (mut planner, problems) = Planner::read(&documents);
        assert!(problems.is_empty(), "{problems:?}");
        assert!(planner.run("2026-01-01T00:00:00Z".parse().unwrap()), "the planner comes to rest");
        Self { place: Place::Planned(Box::new(planner)), controller, name: name.to_owned() }
    }

    /// Waits until the controller waits for the right thing.
    pub async fn until(&mut self, is_it: impl Fn(&Wait) -> bool) -> Result<Wait, String> {
        let end = tokio::time::Instant::now() + LIMIT;
        loop {
            let wait = self.wait(self.controller, &self.name);
            match wait.filter(&is_it) {
                Some(wait) => return Ok(wait),
                None if tokio::time::Instant::now() < end && matches!(self.place, Place::Lab(_)) => {
                    tokio::time::sleep(POLL).await;
                }
                None => return Err(format!("is not reached; everybody waits for {}", self.all())),
            }
        }
    }

    /// What the machine waits for itself.
    pub fn wait_of_machine(&self) -> Option<Wait> {
        self.wait(Controller::Machine, "m")
    }

    fn wait(&self, controller: Controller, name: &str) -> Option<Wait> {
        let key = ObjectKey::new(HOME, name);
        match &self.place {
            Place::Lab(lab) => lab.provider().unwrap().waits().get(&(word(controller), key)).cloned(),
            Place::Planned(planner) => planner.wait(controller, &key).cloned(),
        }
    }

    fn all(&self) -> String {
        match &self.place {
            Place::Lab(lab) => format!("{:#?}", lab.provider().unwrap().waits()),
            Place::Planned(planner) => format!("{planner:#?}"),
        }
    }

    /// What `capm3 explain -f` says of the machine, from a dump of every object.
    pub fn explain(&self) -> Value {
        let objects: Vec<Value> = match &self.place {
            Place::Lab(lab) => {
                lab.server().objects(None).iter().map(|object| object.as_ref().clone()).collect()
            }
            Place::Planned(planner) => {
                KINDS.iter().flat_map(|(version, kind)| dump(planner, version, kind)).collect()
            }
        };
        assert!(!objects.is_empty(), "there is something to explain");
        let list = json!({"apiVersion": "v1", "kind": "List", "items": objects});
        capm3(&["explain", "metal3machine/m", "-f", "-", "-o", "json"], &list.to_string()).json()
    }
}

/// Every object of a kind in a planner, as a server gives it out.
fn dump(planner: &Planner, api_version: &str, kind: &str) -> Vec<Value> {
    let mut objects = planner.list(kind);
    for object in &mut objects {
        object["apiVersion"] = json!(api_version);
        object["kind"] = json!(kind);
    }
    objects
}

/// Name under which the provider keeps the waits of a controller.
fn word(controller: Controller) -> &'static str {
    match controller {
        Controller::Cluster => "metal3cluster",
        Controller::Machine => "metal3machine",
        Controller::DataTemplate => "metal3datatemplate",
        Controller::Data => "metal3data",
        Controller::Pool => "ippool",
        Controller::Host => "baremetalhost",
    }
}

/// A lab with a site.
pub async fn lab(site: &Site) -> Lab {
    lab_with(site, &Options::default()).await
}

/// The same with options.
pub async fn lab_with(site: &Site, options: &Options) -> Lab {
    let lab = Lab::start(options).await.unwrap();
    lab.apply(&site.manifests()).await.unwrap();
    lab
}

/// A lab with a site and a fault, which is active from the start or later.
pub async fn lab_against(site: &Site, fault: &Arc<OneFault>) -> Lab {
    let faults = Arc::clone(fault) as Arc<dyn Faults>;
    lab_with(site, &Options { faults, ..Options::default() }).await
}

/// Lets the lab work until nothing moves, or for a few minutes.
pub async fn rest(lab: &Lab) {
    lab.settle(Duration::from_secs(300)).await;
}

/// The fault of the provider's calls while it is active.
pub struct OneFault {
    method: &'static str,
    path: &'static str,
    fault: Fault,
    is_on: AtomicBool,
}

impl OneFault {
    /// Calls of a method whose path has this in it.
    pub fn new(method: &'static str, path: &'static str, fault: Fault) -> Arc<Self> {
        Arc::new(Self { method, path, fault, is_on: AtomicBool::new(true) })
    }

    /// Switches it on or off.
    pub fn set(&self, is_on: bool) {
        self.is_on.store(is_on, Ordering::SeqCst);
    }
}

impl Faults for OneFault {
    fn apply_fault(&self, call: &Call) -> Fault {
        let is_meant = call.method.as_str() == self.method && call.path.contains(self.path);
        if is_meant && self.is_on.load(Ordering::SeqCst) { self.fault } else { Fault::None }
    }
}

fn place(lab: &Lab, kind: &str, name: &str) -> Manifest {
    let object = lab.object(kind, name).unwrap_or_else(|| panic!("no {kind} {name}"));
    Manifest { file: String::new(), object: object.as_ref().clone() }
}

/// Merges a patch into an object.
pub async fn patch(lab: &Lab, kind: &str, name: &str, patch: Value) {
    let it = place(lab, kind, name);
    lab.patch(&it.resource(), &it.key(), &patch).await.unwrap();
}

/// Merges a patch into the status of an object.
pub async fn patch_status(lab: &Lab, kind: &str, name: &str, patch: Value) {
    let it = place(lab, kind, name);
    let patch = json!({"status": patch});
    lab.client().merge_patch(&it.resource(), &it.key(), Some("status"), &patch).await.unwrap();
}

/// Deletes an object.
pub async fn delete(lab: &Lab, kind: &str, name: &str) {
    let it = place(lab, kind, name);
    lab.client().delete(&it.resource(), &it.key(), None).await.unwrap();
}

/// Takes an object away whatever holds it.
pub async fn strip(lab: &Lab, kind: &str, name: &str) {
    let it = place(lab, kind, name);
    patch(lab, kind, name, json!({"metadata": {"finalizers": null}})).await;
    delete(lab, kind, name).await;
    if lab.object(kind, name).is_some() {
        // Its controller may be faster.
        let _is_gone = lab.patch(&it.resource(), &it.key(), &json!({"metadata": {"finalizers": null}})).await;
    }
    assert!(lab.object(kind, name).is_none(), "{kind} {name} is still there");
}

/// Adds an object.
pub async fn put(lab: &Lab, object: Value) {
    lab.apply(&[Manifest { file: String::new(), object }]).await.unwrap();
}
