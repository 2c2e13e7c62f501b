//! Which host a machine has, or is thought to get.

use super::*;

#[test]
fn a_machine_without_uid_takes_the_first_host_of_its_domain_and_then_any() {
    let a = machine("a", "").replace("spec: {", "spec: {failureDomain: r2, ");
    let b = machine("b", "").replace("spec: {", "spec: {failureDomain: r2, ");
    let hosts = [host("h1", "r1"), host("h2", "r2")];
    let rendering = run(&[&a, &b, &machine("c", ""), &hosts[0], &hosts[1], TEMPLATE, POOL]);
    let hosts: Vec<_> = rendering.machines.iter().map(|machine| machine.host.as_deref()).collect();
    assert_eq!(hosts, [Some("h2"), Some("h1")]);
    assert_eq!(
        problems_of(&rendering),
        [
            "a.yaml:12: Metal3Machine ns/c: machine c: no host is available: 2 hosts: 2 consumed; make one of these hosts available, or add hosts"
        ]
    );
}

#[test]
fn a_machine_with_a_uid_draws_as_the_controllers_do() {
    let hosts: Vec<String> = (0..9).map(|number| host(&format!("h{number}"), "r")).collect();
    for uid in ["u-1", "u-2", "u-3", "u-4"] {
        let text = machine("a", &format!(", uid: {uid}"));
        let mut documents: Vec<&str> = hosts.iter().map(String::as_str).collect();
        documents.extend([text.as_str(), TEMPLATE, POOL]);
        let reading = parse("a.yaml", &documents.join("---"));
        let metal3_machine = capm3_api::v1beta2::Metal3Machine {
            metadata: serde_json::from_value(serde_json::json!({"name": "a", "namespace": "ns", "uid": uid}))
                .unwrap(),
            ..Default::default()
        };
        let (owner, ready) = (capm3_api::neighbours::Machine::default(), |number: usize| {
            let value = serde_json::json!({"metadata": {"name": format!("h{number}"), "namespace": "ns"},
                "status": {"provisioning": {"state": "available"}}});
            serde_json::from_value::<capm3_api::neighbours::BareMetalHost>(value).unwrap()
        });
        let ready: Vec<_> = (0..9).map(ready).collect();
        let request = capm3_domain::host::HostRequest::new(&metal3_machine, &owner, None);
        let choice = capm3_domain::host::choose(&request, ready.iter());
        let capm3_domain::host::HostOutcome::Chosen(chosen) = choice.outcome else { unreachable!() };
        let rendering = render(&reading.documents, &Options::default());
        assert_eq!(rendering.machines[0].host, Some(chosen.host), "{uid}");
    }
}

#[test]
fn a_host_keeps_its_machine_and_is_never_given_to_another() {
    let taken = host("h1", "r")
        + "spec: {consumerRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, \
        kind: Metal3Machine, namespace: ns, name: b}}\n";
    let gone = machine("d", ", annotations: {metal3.io/BareMetalHost: ns/h9}");
    let (a, b, free) = (machine("a", ""), machine("b", ""), host("h2", "r"));
    let rendering = run(&[&a, &b, &gone, &taken, &free, TEMPLATE, POOL]);
    let hosts: Vec<_> =
        rendering.machines.iter().map(|m| (m.name.as_str(), m.host.as_deref().unwrap_or("-"))).collect();
    assert_eq!(hosts, [("a", "h2"), ("b", "h1")]);
    let problems = problems_of(&rendering);
    assert!(
        problems.len() == 1
            && problems[0].contains("BareMetalHost ns/h9, which it has recorded, is not in the files"),
        "{problems:?}"
    );
    // A host that one machine has recorded and that names another is given to neither, as on a cluster.
    let recorded = machine("c", ", annotations: {metal3.io/BareMetalHost: ns/h1}");
    let rendering = run(&[&machine("b", ""), &recorded, &taken, TEMPLATE, POOL]);
    assert_eq!(rendering.machines, []);
    let problems = problems_of(&rendering);
    assert!(problems[0].contains("machine b: no host is available"), "{problems:?}");
    assert!(problems[1].ends_with("machine c: host h1 is consumed by Metal3Machine ns/b"), "{problems:?}");
}

/// A machine that has its host: the provider ID names it, whatever a stale annotation says.
#[test]
fn a_host_is_known_by_the_provider_id_before_the_annotation() {
    let annotation = ", annotations: {metal3.io/BareMetalHost: ns/h2}";
    let a = machine("a", annotation).replace("spec: {", "spec: {providerID: 'metal3://ns/h1/a', ");
    let rendering = run(&[&a, &host("h1", "r"), &host("h2", "r"), TEMPLATE, POOL]);
    assert_eq!(rendering.machines[0].host.as_deref(), Some("h1"), "{:?}", problems_of(&rendering));
    let gone = a.replace("ns/h1/a", "ns/h9/a").replace(annotation, "");
    assert_eq!(
        problems_of(&run(&[&gone, &host("h2", "r"), TEMPLATE, POOL])),
        [
            "a.yaml:5: Metal3Machine ns/a: spec.providerID: machine a: BareMetalHost ns/h9, which it has recorded, \
             is not in the files; add it"
        ]
    );
}

#[test]
fn a_host_in_use_of_which_the_machine_has_no_record_is_left_alone() {
    let used = host("h1", "r")
        + "spec: {image: {url: u}, consumerRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, \
        kind: Metal3Machine, namespace: ns, name: a}}\n";
    let problems = problems_of(&run(&[&machine("a", ""), &used, &host("h2", "r"), TEMPLATE, POOL]));
    assert!(problems.len() == 1 && problems[0].contains("h1"), "{problems:?}");
}

const OWNER: &str = "
apiVersion: cluster.x-k8s.io/v1beta2
kind: Machine
metadata: {name: a, namespace: ns}
spec: {clusterName: c, failureDomain: r2}
";

/// Which data template applies tells the domain.
#[test]
fn a_machine_takes_the_domain_of_its_owner_until_it_is_provisioned() {
    let mapped = "
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
kind: Metal3MachineTemplate
metadata: {name: mt, namespace: ns}
spec:
  template: {spec: {dataTemplate: {name: t}}}
  failureDomainDataTemplates:
  - {failureDomain: r1, dataTemplate: {name: t}}
  - {failureDomain: r2, dataTemplate: {name: u}}
";
    let other = TEMPLATE.replace("name: t,", "name: u,");
    let made_from = ", annotations: {cluster.x-k8s.io/cloned-from-name: mt, \
        cluster.x-k8s.io/cloned-from-groupkind: Metal3MachineTemplate.infrastructure.cluster.x-k8s.io}";
    let a = machine("a", made_from).replace("spec: {", "spec: {failureDomain: r1, ");
    let bare = host("h", "r").replace(", labels: {infrastructure.cluster.x-k8s.io/failure-domain: r}", "");
    let template_of = |machine: &str| {
        let rendering = run(&[machine, OWNER, mapped, &bare, TEMPLATE, &other, POOL]);
        rendering.machines.first().and_then(|machine| machine.data_template.clone())
    };
    assert_eq!(template_of(&a).as_deref(), Some("u"));
    let provisioned = a.replace("spec: {", "spec: {providerID: 'metal3://ns/h/a', ")
        + "status: {initialization: {provisioned: true}}\n";
    assert_eq!(template_of(&provisioned).as_deref(), Some("t"));
}
