//! Which machine gets which index and which addresses.

mod hosts;
mod problems;

use capm3_engine::manifests::{Reading, parse};

use super::*;

const POOL: &str = "
apiVersion: ipam.metal3.io/v1alpha1
kind: IPPool
metadata: {name: pool, namespace: ns}
spec:
  namePrefix: p
  pools: [{start: 10.0.0.10, end: 10.0.0.13}]
  prefix: 24
  gateway: 10.0.0.1
";

const POOL6: &str = "
apiVersion: ipam.metal3.io/v1alpha1
kind: IPPool
metadata: {name: pool, namespace: ns}
spec:
  namePrefix: p
  pools: [{start: '2001:db8::10', end: '2001:db8::13'}]
  prefix: 64
";

const TEMPLATE: &str = "
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3DataTemplate
metadata: {name: t, namespace: ns}
spec:
  metaData:
    objectNames: [{key: name, object: metal3machine}]
    indexes: [{key: index}]
    ipAddressesFromPool: [{key: ip, name: pool}]
";

fn machine(name: &str, more: &str) -> String {
    format!(
        "
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3Machine
metadata: {{name: {name}, namespace: ns{more}}}
spec: {{dataTemplate: {{name: t}}}}
"
    )
}

fn host(name: &str, domain: &str) -> String {
    format!(
        "
apiVersion: metal3.io/v1alpha1
kind: BareMetalHost
metadata: {{name: {name}, namespace: ns, labels: {{infrastructure.cluster.x-k8s.io/failure-domain: {domain}}}}}
"
    )
}

/// Renders the documents, with hosts enough if they have none of their own: every metadata names its host.
fn run_with(options: &Options, documents: &[&str]) -> Rendering {
    let text = documents.join("---");
    let spare: Vec<String> =
        (0..9).map(|number| format!("---{}", host(&format!("spare-{number}"), "r"))).collect();
    let spare = if text.contains("BareMetalHost\n") { String::new() } else { spare.concat() };
    let reading = parse("a.yaml", &format!("{text}{spare}"));
    assert!(reading.problems.is_empty(), "{:?}", reading.problems);
    render(&reading.documents, options)
}

fn run(documents: &[&str]) -> Rendering {
    run_with(&Options::default(), documents)
}

/// Machine, index and address of each machine.
fn rows(rendering: &Rendering) -> Vec<String> {
    let row = |machine: &Rendered| {
        let document = machine.meta_data.clone().unwrap_or_default();
        let ip = document.lines().find_map(|line| line.strip_prefix("ip: ")).unwrap_or_default().to_owned();
        format!("{} {} {ip}", machine.name, machine.index.unwrap_or(-1))
    };
    rendering.machines.iter().map(row).collect()
}

fn problems_of(rendering: &Rendering) -> Vec<String> {
    rendering.problems.iter().map(ToString::to_string).collect()
}

#[test]
fn indexes_and_addresses_go_to_machines_in_order_of_their_names() {
    let (b, a) = (machine("b", ""), machine("a", ""));
    assert_eq!(rows(&run(&[&b, &a, TEMPLATE, POOL])), ["a 0 10.0.0.10", "b 1 10.0.0.11"]);
    assert_eq!(rows(&run(&[&b, &a, TEMPLATE, POOL6])), ["a 0 2001:db8::10", "b 1 2001:db8::11"]);
}

#[test]
fn what_is_given_out_already_is_kept_and_not_given_to_others() {
    let data = "
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3Data
metadata: {name: t-0, namespace: ns}
spec: {index: 0, template: {name: t}, claim: {name: b}}
";
    let address = "
apiVersion: ipam.metal3.io/v1alpha1
kind: IPAddress
metadata: {name: p-10-0-0-10, namespace: ns}
spec: {address: 10.0.0.10, prefix: 25, pool: {name: pool}, claim: {name: t-0-pool}}
";
    let (a, b) = (machine("a", ""), machine("b", ""));
    assert_eq!(rows(&run(&[&a, &b, data, address, TEMPLATE, POOL])), ["a 1 10.0.0.11", "b 0 10.0.0.10"]);
}

const DATA: &str = "
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3Data
metadata: {name: t-7, namespace: ns}
spec: {index: 7, template: {name: t}, claim: {name: a}}
status: {ready: true}
";

#[test]
fn an_address_that_is_only_in_the_mirror_of_the_pool_is_kept() {
    let pool = format!("{POOL}status: {{indexes: {{t-7-pool: 10.0.0.12}}}}\n");
    assert_eq!(rows(&run(&[&machine("a", ""), DATA, TEMPLATE, &pool])), ["a 7 10.0.0.12"]);
    // Even where an address of another pool has the name that it would get.
    let other = "
apiVersion: ipam.metal3.io/v1alpha1
kind: IPAddress
metadata: {name: p-10-0-0-12, namespace: ns}
spec: {address: 10.0.0.12, pool: {name: other}, claim: {name: x}}
";
    assert_eq!(rows(&run(&[&machine("a", ""), DATA, TEMPLATE, &pool, other])), ["a 7 10.0.0.12"]);
}

#[test]
fn what_a_machine_has_is_never_replaced_by_something_else() {
    let used = machine("a", "") + "status: {renderedData: {name: t-7}}\n";
    let rendering = run(&[&used, TEMPLATE, POOL]);
    assert_eq!(
        problems_of(&rendering),
        [
            "a.yaml:2: Metal3Machine ns/a: machine a: Metal3Data ns/t-7, which it uses, is not in the files; add it"
        ]
    );
    let rendering = run(&[&used, DATA, TEMPLATE, POOL]);
    let problems = problems_of(&rendering);
    assert!(
        problems[0].ends_with("machine a: the IPAddress of IPClaim ns/t-7-pool is not in the files; add it"),
        "{problems:?}"
    );
}

#[test]
fn reservations_of_the_pool_are_for_their_claims() {
    let pool = POOL.replace("gateway: 10.0.0.1", "preAllocations: {t-1-pool: 10.0.0.10}");
    let (a, b) = (machine("a", ""), machine("b", ""));
    assert_eq!(rows(&run(&[&a, &b, TEMPLATE, &pool])), ["a 0 10.0.0.11", "b 1 10.0.0.10"]);
}

#[test]
fn an_address_whose_name_another_pool_took_is_passed_over() {
    let other = POOL.replace("name: pool,", "name: other,");
    let template = TEMPLATE.replace("name: pool}]", "name: pool}, {key: ip2, name: other}]");
    let rendering = run(&[&machine("a", ""), &template, POOL, &other]);
    // `other` is asked first: pools are asked in order of their names.
    assert_eq!(
        rendering.machines.first().and_then(|machine| machine.meta_data.as_deref()),
        Some("index: \"0\"\nip: 10.0.0.11\nip2: 10.0.0.10\nname: a\nproviderid: ns/spare-0/a\n")
    );
}

#[test]
fn templates_with_one_key_count_together() {
    let keyed = |name: &str| {
        TEMPLATE
            .replace("name: t,", &format!("name: {name},"))
            .replace("spec:", "spec:\n  templateReference: k")
    };
    let b = machine("b", "").replace("{name: t}", "{name: u}");
    let rendering = run(&[&machine("a", ""), &b, &keyed("t"), &keyed("u"), POOL]);
    assert_eq!(rows(&rendering), ["a 0 10.0.0.10", "b 1 10.0.0.11"]);
}

#[test]
fn an_older_version_renders_the_same() {
    let older = TEMPLATE
        .replace("v1beta2", "v1beta1")
        .replace("spec:", "spec:\n  clusterName: c")
        .replace("{key: ip, name: pool}", "{key: ip, name: pool, apiGroup: ipam.metal3.io, kind: IPPool}");
    let a = machine("a", "");
    assert_eq!(run(&[&a, &older, POOL]).machines, run(&[&a, TEMPLATE, POOL]).machines);
    let oldest = TEMPLATE.replace("v1beta2", "v1alpha4");
    let problems = problems_of(&run(&[&a, &oldest, POOL]));
    assert!(problems[0].starts_with("a.yaml:7: Metal3DataTemplate ns/t: apiVersion:"), "{problems:?}");
    assert!(problems[0].contains("`capm3 migrate`"), "{problems:?}");
}

#[test]
fn a_half_that_the_user_gives_is_not_rendered_and_costs_no_address() {
    let own = machine("a", "").replace("spec: {", "spec: {metaData: {name: mine}, ");
    let rendering = run(&[&own, &machine("b", ""), TEMPLATE, POOL]);
    assert_eq!(rendering.machines[0].meta_data, None);
    assert_eq!(rows(&rendering), ["a 0 ", "b 1 10.0.0.10"]);
}

#[test]
fn a_machine_that_cannot_be_rendered_costs_no_other_machine() {
    let names = ["a", "b", "c", "d", "e"].map(|name| machine(name, ""));
    let mut documents: Vec<&str> = names.iter().map(String::as_str).collect();
    documents.extend([TEMPLATE, POOL]);
    let rendering = run(&documents);
    assert_eq!(rendering.machines.len(), 4);
    let problems = problems_of(&rendering);
    assert_eq!(problems.len(), 1);
    assert!(
        problems[0].contains("IPPool ns/pool: spec.pools: machine e: Exhausted IP Pools"),
        "{problems:?}"
    );
}

#[test]
fn machines_are_made_up_on_demand() {
    let options = Options { machines: Some(3), ..Options::default() };
    let rendering = run_with(&options, &[TEMPLATE, POOL]);
    assert_eq!(rows(&rendering), ["machine-0 0 10.0.0.10", "machine-1 1 10.0.0.11", "machine-2 2 10.0.0.12"]);
    let unknown = Options { template: Some("x".into()), ..options };
    assert_eq!(
        problems_of(&run_with(&unknown, &[TEMPLATE])),
        ["--machines: no template x in the files; available: t"]
    );
}

#[test]
fn names_and_hosts_narrow_what_is_shown_and_change_nothing_else() {
    let all =
        run(&[&machine("a", ""), &machine("b", ""), &host("h1", "r"), &host("h2", "r"), TEMPLATE, POOL]);
    for (options, shown) in [
        (Options { machine: Some("b".into()), ..Options::default() }, 1),
        (Options { host: Some("h1".into()), ..Options::default() }, 0),
    ] {
        let documents = [&machine("a", ""), &machine("b", ""), &host("h1", "r"), &host("h2", "r")];
        let mut documents: Vec<&str> = documents.iter().map(|text| text.as_str()).collect();
        documents.extend([TEMPLATE, POOL]);
        assert_eq!(run_with(&options, &documents).machines, all.machines[shown..=shown]);
    }
}

#[test]
fn without_hosts_only_what_needs_none_is_rendered() {
    let reading = parse("a.yaml", &[machine("a", "").as_str(), TEMPLATE, POOL].join("---"));
    let rendering = render(&reading.documents, &Options::default());
    assert_eq!(
        problems_of(&rendering),
        ["a.yaml:11: Metal3DataTemplate ns/t: spec.metaData: machine a: baremetalhost is not known yet; \
            add BareMetalHosts to the files"]
    );
    let template = TEMPLATE.replace("metaData:", "networkData: {services: {dns: [8.8.8.8]}}\n  unused:");
    let reading = parse("a.yaml", &[machine("a", "").as_str(), &template].join("---"));
    let rendering = render(&reading.documents, &Options::default());
    assert_eq!((rendering.machines.len(), problems_of(&rendering)), (1, Vec::<String>::new()));
    assert_eq!(rendering.machines[0].host, None);
}

#[test]
fn a_claim_that_is_named_after_its_host_is_found_by_its_owner() {
    let claim = "
apiVersion: ipam.metal3.io/v1alpha1
kind: IPClaim
metadata:
  name: h1-pool
  namespace: ns
  ownerReferences:
  - {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: Metal3Data, name: t-7, uid: u}
spec: {pool: {name: pool}}
status: {address: {name: p-10-0-0-13}}
";
    let address = "
apiVersion: ipam.metal3.io/v1alpha1
kind: IPAddress
metadata: {name: p-10-0-0-13, namespace: ns}
spec: {address: 10.0.0.13, prefix: 24, pool: {name: pool}, claim: {name: h1-pool}}
";
    let rendering = run(&[&machine("a", ""), DATA, claim, address, TEMPLATE, POOL]);
    assert_eq!(rows(&rendering), ["a 7 10.0.0.13"], "{:?}", problems_of(&rendering));
}

const OWNERS: &str = "
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3MachineTemplate
metadata: {name: mt, namespace: ns}
spec: {template: {spec: {dataTemplate: {name: t}}}}
---
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: same, namespace: ns}
spec:
  replicas: 1
  machineTemplate: {spec: {infrastructureRef: {kind: Metal3MachineTemplate, name: mt}}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: same, namespace: ns}
spec:
  replicas: 2
  template: {spec: {infrastructureRef: {kind: Metal3MachineTemplate, name: mt}}}
";

#[test]
fn no_two_machines_that_are_made_up_have_one_name() {
    let rendering = run(&[OWNERS, TEMPLATE, POOL]);
    assert_eq!(rows(&rendering), ["same-0 0 10.0.0.10", "same-1 1 10.0.0.11", "same-2 2 10.0.0.12"]);
    let options = Options { machines: Some(1), ..Options::default() };
    let made = run_with(&options, &[&machine("machine-0", ""), TEMPLATE, POOL]);
    assert_eq!(rows(&made), ["machine-0 0 10.0.0.10", "machine-1 1 10.0.0.11"]);
}

#[test]
fn the_namespace_is_reported_where_there_are_several() {
    let there = |text: &str| text.replace("namespace: ns", "namespace: other");
    let (a, one) = (machine("a", ""), run(&[&machine("a", ""), TEMPLATE, POOL]));
    assert_eq!((one.machines[0].whose().as_str(), &one.machines[0].namespace), ("a", &None));
    let h = host("h", "r");
    let two = run(&[&a, TEMPLATE, POOL, &h, &there(&a), &there(TEMPLATE), &there(POOL), &there(&h)]);
    let whose: Vec<String> = two.machines.iter().map(Rendered::whose).collect();
    assert_eq!(whose, ["ns/a", "other/a"]);
}
