//! What happened in a lab, and whether a plan told the same.

use std::collections::{BTreeMap, BTreeSet};

use capm3_lab::Lab;
use capm3_offline::plan::{Event, Plan};
use serde_json::Value;

use crate::facts::{self, Facts};

/// What is read of a lab: every kind that a plan reads.
pub const KINDS: [&str; 19] = [
    "Metal3Machine",
    "Metal3MachineTemplate",
    "Metal3Cluster",
    "Metal3DataTemplate",
    "Metal3DataClaim",
    "Metal3Data",
    "IPPool",
    "IPClaim",
    "IPAddress",
    "BareMetalHost",
    "Cluster",
    "Machine",
    "MachineSet",
    "MachineDeployment",
    "KubeadmControlPlane",
    "KubeadmConfig",
    "KubeadmConfigTemplate",
    "Secret",
    "MachineHealthCheck",
];

/// One thing that happened or may happen: outcomes are sets, of one where it is certain, and empty where nothing is said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happening {
    pub event: Event,
    /// The machine if it was there at the start, else its owner; the host that returns.
    pub who: String,
    pub hosts: BTreeSet<String>,
    pub indexes: BTreeSet<i64>,
    pub addresses: BTreeSet<String>,
    /// For whom a host is kept; none where it is not known, as of a host that was taken before somebody looked.
    pub kept_for: Option<Option<String>>,
}

pub type Happenings = Vec<Happening>;

/// A lab at a moment.
pub struct Seen {
    machines: Facts,
    owners: BTreeMap<String, String>,
    going: BTreeSet<String>,
    ready: BTreeSet<String>,
    /// State and reservation of each host.
    hosts: BTreeMap<String, (String, Option<String>)>,
}

impl Seen {
    pub fn of(lab: &Lab) -> Self {
        let list = |kind: &str| -> Vec<Value> {
            lab.objects(kind).iter().map(|object| object.as_ref().clone()).collect()
        };
        let machines = list("Metal3Machine");
        let text = |object: &Value, pointer: &str| {
            object.pointer(pointer).and_then(Value::as_str).map(str::to_owned)
        };
        let key = |object: &Value| {
            format!(
                "{}/{}",
                text(object, "/metadata/namespace").unwrap(),
                text(object, "/metadata/name").unwrap()
            )
        };
        let owner = |object: &Value| {
            let labels = ["cluster.x-k8s.io~1deployment-name", "cluster.x-k8s.io~1control-plane-name"];
            labels.iter().find_map(|label| text(object, &format!("/metadata/labels/{label}"))).unwrap()
        };
        let ready: BTreeSet<String> = list("Machine")
            .iter()
            .filter(|machine| text(machine, "/status/nodeRef/name").is_some())
            .map(key)
            .collect();
        let host = |host: &Value| {
            let state = text(host, "/status/provisioning/state").unwrap_or_default();
            let reuse = text(host, "/metadata/labels/infrastructure.cluster.x-k8s.io~1node-reuse");
            (text(host, "/metadata/name").unwrap(), (state, reuse))
        };
        let going = machines.iter().filter(|machine| text(machine, "/metadata/deletionTimestamp").is_some());
        let is_provisioned = |machine: &&Value| {
            machine.pointer("/status/initialization/provisioned") == Some(&Value::Bool(true))
        };
        let provisioned: BTreeSet<String> = machines.iter().filter(is_provisioned).map(key).collect();
        Self {
            owners: machines.iter().map(|machine| (key(machine), owner(machine))).collect(),
            going: going.map(key).collect(),
            ready: ready.intersection(&provisioned).cloned().collect(),
            hosts: list("BareMetalHost").iter().map(host).collect(),
            machines: facts::facts(list),
        }
    }

    /// What has happened since another look.
    pub fn since(&self, before: &Self, known: &BTreeSet<String>) -> Happenings {
        let mut happened = Vec::new();
        for (name, (state, reuse)) in &self.hosts {
            let was = before.hosts.get(name).map(|(state, _)| state.as_str());
            if was == Some("deprovisioning") && state != "deprovisioning" {
                let kept_for = (state == "available").then(|| reuse.clone());
                happened.push(Happening { kept_for, ..happening(Event::HostReturns, name) });
            }
        }
        for key in before.machines.keys().filter(|key| !self.machines.contains_key(*key)) {
            happened.push(happening(Event::MachineGone, &before.who(key, known)));
        }
        for (key, fact) in &self.machines {
            let was = before.machines.get(key);
            let who = self.who(key, known);
            if self.going.contains(key) && !before.going.contains(key) {
                happened.push(happening(Event::MachineGoes, &who));
            }
            if self.ready.contains(key) && !before.ready.contains(key) {
                happened.push(happening(Event::MachineReady, &who));
            }
            if fact.host.is_some() && was.is_none_or(|was| was.host.is_none()) {
                let host = fact.host.as_ref().and_then(|path| path.rsplit('/').next()).map(str::to_owned);
                happened.push(Happening {
                    hosts: host.into_iter().collect(),
                    indexes: fact.index.into_iter().collect(),
                    addresses: fact.addresses.values().cloned().collect(),
                    ..happening(Event::MachineTakesHost, &who)
                });
            }
        }
        happened
    }

    /// The machine if it was there at the start, else its owner: names of machines that come are not known beforehand.
    fn who(&self, key: &str, known: &BTreeSet<String>) -> String {
        let name = || key.rsplit('/').next().unwrap().to_owned();
        if known.contains(key) { name() } else { self.owners[key].clone() }
    }

    /// The machines that are there.
    pub fn names(&self) -> BTreeSet<String> {
        self.machines.keys().cloned().collect()
    }
}

fn happening(event: Event, who: &str) -> Happening {
    Happening {
        event,
        who: who.to_owned(),
        hosts: BTreeSet::new(),
        indexes: BTreeSet::new(),
        addresses: BTreeSet::new(),
        kept_for: None,
    }
}

/// What a plan tells, by minute.
pub fn planned(plan: &Plan) -> BTreeMap<u64, Happenings> {
    let mut told: BTreeMap<u64, Happenings> = BTreeMap::new();
    for step in &plan.steps {
        if matches!(step.event, Event::MachineComes | Event::MachineGetsData | Event::HostFails) {
            continue;
        }
        let owner = step.owner.as_ref().and_then(|owner| owner.rsplit('/').next()).map(str::to_owned);
        let known = step.machine.clone().filter(|name| !name.contains("-new-"));
        let who = known.or(owner).or_else(|| step.host.clone()).unwrap();
        let is_taking = step.event == Event::MachineTakesHost;
        let hosts = match step.possible_hosts.is_empty() {
            true => step.host.iter().cloned().collect(),
            false => step.possible_hosts.clone(),
        };
        told.entry(step.at / 60).or_default().push(Happening {
            hosts: if is_taking { hosts } else { BTreeSet::new() },
            indexes: if is_taking { step.indexes.clone() } else { BTreeSet::new() },
            addresses: if is_taking { step.addresses.clone() } else { BTreeSet::new() },
            kept_for: (step.event == Event::HostReturns).then(|| step.kept_for.clone()),
            ..happening(step.event, &who)
        });
    }
    told
}

/// Whether each thing that happened is one that was planned, and nothing else was planned.
pub fn matches(planned: &Happenings, happened: &Happenings) -> Result<(), String> {
    let differ = || Err(format!("planned {planned:#?}\n  happened {happened:#?}"));
    if planned.len() != happened.len() || !assign(planned, happened, &mut BTreeSet::new()) {
        return differ();
    }
    Ok(())
}

/// Finds a different planned step for each thing that happened.
fn assign(planned: &Happenings, happened: &[Happening], used: &mut BTreeSet<usize>) -> bool {
    let Some((first, rest)) = happened.split_first() else { return true };
    for (number, step) in planned.iter().enumerate() {
        if used.contains(&number) || !allows(step, first) {
            continue;
        }
        used.insert(number);
        if assign(planned, rest, used) {
            return true;
        }
        used.remove(&number);
    }
    false
}

fn allows(planned: &Happening, fact: &Happening) -> bool {
    planned.event == fact.event
        && planned.who == fact.who
        && (fact.kept_for.is_none() || planned.kept_for == fact.kept_for)
        && fact.hosts.is_subset(&planned.hosts)
        && (planned.indexes.is_empty() || fact.indexes.is_subset(&planned.indexes))
        && (planned.addresses.is_empty() || fact.addresses.is_subset(&planned.addresses))
}

/// For each owner of machines how many it wants, and how many are ready and up to date; too many count as unready.
pub fn counts(lab: &Lab) -> BTreeMap<String, (u64, u64)> {
    let owners = ["KubeadmControlPlane", "MachineDeployment"].into_iter().flat_map(|kind| lab.objects(kind));
    let count = |object: &Value, member: &str| object.pointer(member).and_then(Value::as_u64).unwrap_or(0);
    let row = |object: &Value| {
        let wanted = count(object, "/spec/replicas");
        let ready = count(object, "/status/upToDateReplicas").min(count(object, "/status/readyReplicas"));
        let beyond = count(object, "/status/replicas").saturating_sub(wanted);
        (
            object["metadata"]["name"].as_str().unwrap().to_owned(),
            (wanted, ready.min(wanted).saturating_sub(beyond)),
        )
    };
    owners.map(|object| row(&object)).collect()
}
