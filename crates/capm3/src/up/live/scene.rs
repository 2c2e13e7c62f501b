//! What there is to show at one moment: racks with their hosts, how far the machines are, and what happened last.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use capm3_lab::{
    expected::expected,
    report::{MachineRow, Report, report_of},
};
use serde_json::Value;

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// When, since the start.
    pub at: Duration,
    /// What.
    pub line: String,
}

/// One moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scene {
    /// Time since the start.
    pub elapsed: Duration,
    /// Racks by name; hosts without one come last.
    pub racks: Vec<Rack>,
    /// Machines that are ready, and that are wanted.
    pub ready: usize,
    pub wanted: usize,
    /// How much of the whole way was gone, in thousandths.
    pub way: usize,
    /// The last steps, oldest first.
    pub steps: Vec<Step>,
    /// A line for the foot.
    pub hint: String,
}

/// A failure domain and its hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rack {
    /// Where there are several.
    pub namespace: Option<String>,
    pub name: String,
    pub hosts: Vec<Host>,
}

/// A host and who uses it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Host {
    pub name: String,
    pub state: String,
    /// The machine, without what the names of all machines begin with.
    pub machine: Option<String>,
    pub address: Option<String>,
}

/// Where hosts stand that say nothing of it.
const NO_RACK: &str = "no rack";

impl Scene {
    /// What a server holds.
    pub fn of(objects: &[Arc<Value>], steps: &[Step], elapsed: Duration, hint: &str) -> Self {
        let report = report_of(objects, 0);
        let wanted = expected(objects).wanted().max(report.machines.len());
        Self {
            elapsed,
            racks: racks(&report),
            ready: report.machines.iter().filter(|machine| machine.ready).count(),
            wanted,
            way: way(&report, wanted),
            steps: steps.iter().map(|step| shortened(step, common_prefix(&report.machines))).collect(),
            hint: hint.to_owned(),
        }
    }
}

/// Every machine goes the same five steps.
fn way(report: &Report, wanted: usize) -> usize {
    let provisioned = report.hosts.iter().filter(|host| host.state == "provisioned");
    let provisioned: BTreeSet<(&str, &str)> =
        provisioned.map(|host| (host.namespace.as_str(), host.name.as_str())).collect();
    let gone = |machine: &MachineRow| {
        let host = machine.host.as_deref();
        let is_provisioned =
            host.is_some_and(|host| provisioned.contains(&(machine.namespace.as_str(), host)));
        let marks = [
            machine.host.is_some(),
            machine.data.is_some(),
            is_provisioned,
            machine.provider_id.is_some(),
            machine.ready,
        ];
        marks.into_iter().filter(|mark| *mark).count()
    };
    let gone: usize = report.machines.iter().map(gone).sum();
    if wanted == 0 { 0 } else { gone * 1000 / (wanted * 5) }
}

fn racks(report: &Report) -> Vec<Rack> {
    let prefix = common_prefix(&report.machines);
    let several = report.namespaces().len() > 1;
    let mut racks: BTreeMap<(Option<String>, bool, String), Vec<Host>> = BTreeMap::new();
    for row in &report.hosts {
        let is_its = |m: &&MachineRow| m.namespace == row.namespace && Some(&m.name) == row.consumer.as_ref();
        let machine = report.machines.iter().find(is_its);
        let host = Host {
            name: row.name.clone(),
            state: if row.state.is_empty() { "new".to_owned() } else { row.state.clone() },
            machine: row.consumer.as_ref().map(|name| name.strip_prefix(prefix).unwrap_or(name).to_owned()),
            address: machine.and_then(|machine| machine.addresses.first().cloned()),
        };
        let namespace = several.then(|| row.namespace.clone());
        let key = match &row.failure_domain {
            Some(domain) => (namespace, false, domain.clone()),
            None => (namespace, true, NO_RACK.to_owned()),
        };
        racks.entry(key).or_default().push(host);
    }
    racks.into_iter().map(|((namespace, _, name), hosts)| Rack { namespace, name, hosts }).collect()
}

/// What all names begin with, up to a dash: the name of the cluster, which says nothing new on each line.
fn common_prefix(machines: &[MachineRow]) -> &str {
    let Some(first) = machines.first() else { return "" };
    let is_common = |prefix: &str| machines.iter().all(|machine| machine.name.starts_with(prefix));
    let mut ends = first.name.match_indices('-').filter_map(|(at, dash)| first.name.get(..at + dash.len()));
    ends.rfind(|prefix| is_common(prefix)).filter(|_| machines.len() > 1).unwrap_or("")
}

fn shortened(step: &Step, prefix: &str) -> Step {
    let short = || {
        let (name, rest) = step.line.strip_prefix("machine ")?.split_once(' ')?;
        let (namespace, name) =
            name.split_once('/').map_or((None, name), |(space, name)| (Some(space), name));
        let namespace = namespace.map(|space| format!("{space}/")).unwrap_or_default();
        Some(format!("machine {namespace}{} {rest}", name.strip_prefix(prefix)?))
    };
    Step { at: step.at, line: short().unwrap_or_else(|| step.line.clone()) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn objects() -> Vec<Arc<Value>> {
        let host = |name: &str, rack: Option<&str>, state: &str, consumer: Option<&str>| {
            let labels = rack.map(|rack| json!({"infrastructure.cluster.x-k8s.io/failure-domain": rack}));
            let consumer = consumer.map(|name| json!({"name": name, "kind": "Metal3Machine"}));
            json!({"kind": "BareMetalHost", "metadata": {"name": name, "namespace": "n", "labels": labels},
                "spec": {"consumerRef": consumer}, "status": {"provisioning": {"state": state}}})
        };
        let machine = |name: &str, host: &str| {
            json!({"kind": "Metal3Machine", "spec": {}, "status": {}, "metadata": {"name": name, "namespace": "n",
                "ownerReferences": [{"kind": "Machine", "name": name}], "annotations": {"metal3.io/BareMetalHost": format!("n/{host}")}}})
        };
        let all = [
            host("h1", Some("rack2"), "provisioned", Some("c-cp-1")),
            host("h2", Some("rack1"), "provisioning", Some("c-md-x-2")),
            host("h3", None, "", None),
            machine("c-cp-1", "h1"),
            machine("c-md-x-2", "h2"),
            json!({"kind": "KubeadmControlPlane", "spec": {"replicas": 3}}),
            json!({"kind": "MachineDeployment", "spec": {}}),
        ];
        all.into_iter().map(Arc::new).collect()
    }

    #[test]
    fn hosts_are_grouped_by_rack_with_the_short_names_of_their_machines() {
        let scene = Scene::of(&objects(), &[], Duration::ZERO, "");
        let shown: Vec<(&str, &str, &str, Option<&str>)> = scene
            .racks
            .iter()
            .flat_map(|r| {
                r.hosts
                    .iter()
                    .map(|h| (r.name.as_str(), h.name.as_str(), h.state.as_str(), h.machine.as_deref()))
            })
            .collect();
        assert_eq!(
            shown,
            [
                ("rack1", "h2", "provisioning", Some("md-x-2")),
                ("rack2", "h1", "provisioned", Some("cp-1")),
                ("no rack", "h3", "new", None),
            ]
        );
    }

    #[test]
    fn steps_name_machines_as_the_hosts_do() {
        let step = |line: &str| Step { at: Duration::ZERO, line: line.to_owned() };
        let steps = [
            step("machine c-cp-1 is metal3://n/h1/c-cp-1"),
            step("machine n/c-cp-1 is gone"),
            step("host c-x is available"),
        ];
        let scene = Scene::of(&objects(), &steps, Duration::ZERO, "");
        let lines: Vec<&str> = scene.steps.iter().map(|step| step.line.as_str()).collect();
        let expected =
            ["machine cp-1 is metal3://n/h1/c-cp-1", "machine n/cp-1 is gone", "host c-x is available"];
        assert_eq!(lines, expected);
    }

    #[test]
    fn equal_names_in_two_namespaces_are_two_racks_with_machines_of_their_own() {
        let mut all = objects();
        let mut others = objects();
        for object in &mut others {
            let object = Arc::make_mut(object);
            if object["metadata"].is_object() {
                object["metadata"]["namespace"] = json!("o");
            }
            if object["kind"] == "BareMetalHost" {
                object["status"]["provisioning"]["state"] = json!("inspecting");
            }
        }
        all.extend(others);
        let scene = Scene::of(&all, &[], Duration::ZERO, "");
        let shown: Vec<(Option<&str>, &str, usize)> =
            scene.racks.iter().map(|r| (r.namespace.as_deref(), r.name.as_str(), r.hosts.len())).collect();
        let expected = [
            (Some("n"), "rack1", 1),
            (Some("n"), "rack2", 1),
            (Some("n"), "no rack", 1),
            (Some("o"), "rack1", 1),
            (Some("o"), "rack2", 1),
            (Some("o"), "no rack", 1),
        ];
        assert_eq!(shown, expected);
        // Four have a host, one of these is provisioned: five steps of forty.
        assert_eq!((scene.wanted, scene.way), (8, 125));
    }

    #[test]
    fn the_way_counts_every_step_of_every_machine_that_is_wanted() {
        let scene = Scene::of(&objects(), &[], Duration::ZERO, "");
        assert_eq!((scene.ready, scene.wanted), (0, 4));
        // Two have a host, one of these is provisioned: three steps of twenty.
        assert_eq!(scene.way, 150);
        assert_eq!(Scene::of(&[], &[], Duration::ZERO, "").way, 0);
    }
}
