//! Statements of the design documents and capabilities of the reference about host choice, one test each.

use capm3_api::{
    neighbours::{BareMetalHost, Machine, MachineSet},
    v1beta2::Metal3Machine,
    vocabulary::label,
};
use serde_json::{Value, json};

use super::*;

fn host(name: &str, extra: Value) -> BareMetalHost {
    let mut host = json!({"metadata": {"name": name, "namespace": "ns", "labels": {}, "annotations": {}}, "spec": {},
        "status": {"provisioning": {"state": "available"}}});
    for part in ["metadata", "spec", "status"] {
        for (key, value) in extra[part].as_object().into_iter().flatten() {
            host[part][key] = value.clone();
        }
    }
    serde_json::from_value(host).unwrap()
}

fn labelled(name: &str, labels: Value) -> BareMetalHost {
    host(name, json!({"metadata": {"labels": labels}}))
}

fn machine(uid: &str, spec: Value) -> Metal3Machine {
    let metadata = json!({"name": "m", "namespace": "ns", "uid": uid});
    serde_json::from_value(json!({"metadata": metadata, "spec": spec})).unwrap()
}

fn choice(spec: Value, hosts: &[BareMetalHost]) -> HostChoice {
    chosen_for(&machine("u", spec), hosts, Some("cp-kcp"))
}

fn chosen_for(machine: &Metal3Machine, hosts: &[BareMetalHost], reuse: Option<&str>) -> HostChoice {
    let capi: Machine = serde_json::from_value(json!({"spec": {"clusterName": "c"}})).unwrap();
    choose(&HostRequest::new(machine, &capi, reuse.map(str::to_owned)), hosts.iter())
}

fn taken(choice: &HostChoice) -> Option<&str> {
    match &choice.outcome {
        HostOutcome::Chosen(chosen) => Some(&chosen.host),
        _ => None,
    }
}

/// Which of the hosts match a selector.
fn matching(selector: Value, hosts: &[BareMetalHost]) -> Vec<String> {
    let machine = machine("u", json!({"hostSelector": selector}));
    let capi = Machine::default();
    let request = HostRequest::new(&machine, &capi, None);
    let free = hosts.iter().filter(|host| eligibility(&request, host) == Eligibility::Free);
    free.map(|host| host.metadata.name.clone().unwrap()).collect()
}

fn expression(operator: &str, values: &[&str]) -> Value {
    json!({"matchExpressions": [{"key": "size", "operator": operator, "values": values}]})
}

fn three_sizes() -> Vec<BareMetalHost> {
    vec![
        labelled("small", json!({"size": "s"})),
        labelled("large", json!({"size": "l"})),
        labelled("bare", json!({})),
    ]
}

fn refusal(selector: Value) -> String {
    match choice(json!({"hostSelector": selector}), &three_sizes()).outcome {
        HostOutcome::Err(error) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

/// A free host with the annotation `capi.metal3.io/unhealthy` or `capm3.metal3.io/unhealthy` is never chosen, the
/// verdict names the key, and without the annotation the host is eligible again.
#[test]
fn s12_an_unhealthy_host_is_not_chosen_and_the_key_is_named() {
    for key in ["capi.metal3.io/unhealthy", "capm3.metal3.io/unhealthy"] {
        let marked = choice(json!({}), &[host("h", json!({"metadata": {"annotations": {key: ""}}}))]);
        assert_eq!(taken(&marked), None);
        assert!(marked.verdicts[0].to_string().ends_with(key), "{}", marked.verdicts[0]);
    }
    assert_eq!(taken(&choice(json!({}), &[host("h", json!({}))])), Some("h"));
}

/// Without a hostSelector, or with an empty one, every free host of the namespace is a candidate.
#[test]
fn s55_no_selector_matches_every_host() {
    assert_eq!(matching(Value::Null, &three_sizes()).len(), 3);
    assert_eq!(matching(json!({}), &three_sizes()).len(), 3);
}

/// matchLabels and matchExpressions must all hold.
#[test]
fn s57_labels_and_expressions_must_all_hold() {
    let hosts = [
        labelled("both", json!({"size": "l", "disk": "nvme"})),
        labelled("one", json!({"size": "l"})),
        labelled("other", json!({"disk": "nvme"})),
    ];
    let mut selector = expression("in", &["l"]);
    selector["matchLabels"] = json!({"disk": "nvme"});
    assert_eq!(matching(selector, &hosts), ["both"]);
}

/// The operator `!` takes hosts without the key; values are ignored.
#[test]
fn s58_the_exclamation_mark_takes_hosts_without_the_key() {
    assert_eq!(matching(expression("!", &[]), &three_sizes()), ["bare"]);
    assert_eq!(matching(expression("!", &["s"]), &three_sizes()), ["bare"]);
}

/// `=` and `==` take the equal value; two values are refused with the reason.
#[test]
fn s59_equals_takes_one_value() {
    for operator in ["=", "=="] {
        assert_eq!(matching(expression(operator, &["l"]), &three_sizes()), ["large"]);
        assert!(refusal(expression(operator, &["l", "s"])).contains("needs exactly one value"));
    }
}

/// `in` takes values of the set.
#[test]
fn s60_in_takes_values_of_the_set() {
    assert_eq!(matching(expression("in", &["l", "s"]), &three_sizes()), ["small", "large"]);
}

/// `!=` takes another value or an absent key; two values are refused.
#[test]
fn s61_unequal_takes_another_value_or_none() {
    assert_eq!(matching(expression("!=", &["l"]), &three_sizes()), ["small", "bare"]);
    assert!(refusal(expression("!=", &["l", "s"])).contains("needs exactly one value"));
}

/// `notin` takes values outside the set or an absent key.
#[test]
fn s62_notin_takes_values_outside_the_set_or_none() {
    assert_eq!(matching(expression("notin", &["l", "s"]), &three_sizes()), ["bare"], "an absent key");
    assert_eq!(
        matching(expression("notin", &["l", "m"]), &three_sizes()),
        ["small", "bare"],
        "another value"
    );
}

/// `exists` takes hosts with the key; values are ignored.
#[test]
fn s63_exists_takes_hosts_with_the_key() {
    for values in [&[][..], &["x"][..]] {
        assert_eq!(matching(expression("exists", values), &three_sizes()), ["small", "large"]);
    }
}

/// `gt` and `lt` compare integers; a value that is none is refused, a host whose label is none is skipped.
#[test]
fn s64_greater_and_less_compare_integers() {
    let hosts = [
        labelled("eight", json!({"size": "8"})),
        labelled("four", json!({"size": "4"})),
        labelled("x", json!({"size": "x"})),
    ];
    assert_eq!(matching(expression("gt", &["5"]), &hosts), ["eight"]);
    assert_eq!(matching(expression("lt", &["5"]), &hosts), ["four"]);
    assert!(refusal(expression("gt", &["many"])).contains("many"));
}

/// Without nodeReuse, hosts carry no reservation and any free host may be taken.
#[test]
fn s73_without_a_reservation_any_free_host_may_be_taken() {
    let hosts = [host("a", json!({})), host("b", json!({}))];
    let chosen: std::collections::BTreeSet<String> = (0..40)
        .map(|n| taken(&chosen_for(&machine(&format!("u{n}"), json!({})), &hosts, None)).unwrap().to_owned())
        .collect();
    assert_eq!(chosen.len(), 2);
}

/// A machine takes only hosts reserved for its owner, waits until they are available, and other owners skip them.
#[test]
fn s75_reserved_hosts_are_for_their_owner_alone() {
    let reserved = |state: &str| {
        host(
            "b",
            json!({"metadata": {"labels": {label::NODE_REUSE: "cp-kcp"}}, "status": {"provisioning": {"state": state}}}),
        )
    };
    let free = || host("f", json!({}));
    assert_eq!(taken(&choice(json!({}), &[reserved("available"), free()])), Some("b"));
    assert!(matches!(choice(json!({}), &[reserved("deprovisioning"), free()]).outcome, HostOutcome::Wait(_)));
    let other = chosen_for(&machine("u", json!({})), &[reserved("available"), free()], Some("md-x"));
    assert_eq!(taken(&other), Some("f"));
}

/// Only hosts of the machine's namespace are candidates, and a foreign namespace in the machine's record is ignored.
#[test]
fn ho37_only_hosts_of_the_own_namespace_count() {
    let mut foreign = host("h", json!({}));
    foreign.metadata.namespace = Some("other".into());
    assert_eq!(taken(&choice(json!({}), &[foreign])), None);
    let recorded = json!({"metadata": {"annotations": {"metal3.io/BareMetalHost": "other/h"}}});
    assert_eq!(annotated_host(&serde_json::from_value(recorded).unwrap()), Ok(Some("h")));
}

/// Hosts with another consumer, a deletion timestamp, an error message or the pause annotation are skipped.
#[test]
fn ho38_consumed_deleting_failed_and_paused_hosts_are_skipped() {
    for extra in [
        json!({"spec": {"consumerRef": {"kind": "Metal3Machine", "name": "x", "namespace": "ns",
            "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2"}}}),
        json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}),
        json!({"status": {"errorMessage": "boom"}}),
        json!({"metadata": {"annotations": {"baremetalhost.metal3.io/paused": ""}}}),
    ] {
        assert_eq!(taken(&choice(json!({}), &[host("h", extra.clone())])), None, "{extra}");
    }
}

/// Hosts that are marked unhealthy, by the present or the older key, are skipped.
#[test]
fn ho39_unhealthy_hosts_are_skipped() {
    for key in ["capm3.metal3.io/unhealthy", "capi.metal3.io/unhealthy"] {
        let marked = host("h", json!({"metadata": {"annotations": {key: "any"}}}));
        assert_eq!(taken(&choice(json!({}), &[marked])), None);
    }
}

/// Only the states `ready` and `available` qualify.
#[test]
fn ho40_only_ready_and_available_hosts_qualify() {
    for (state, expected) in [
        ("ready", true),
        ("available", true),
        ("", false),
        ("inspecting", false),
        ("preparing", false),
        ("provisioned", false),
        ("externally provisioned", false),
        ("deprovisioning", false),
        ("unmanaged", false),
    ] {
        let found = choice(json!({}), &[host("h", json!({"status": {"provisioning": {"state": state}}}))]);
        assert_eq!(taken(&found).is_some(), expected, "{state}");
    }
}

/// matchLabels and matchExpressions restrict the candidates, operators in any letter case; an unknown operator is an
/// error.
#[test]
fn ho41_operators_are_read_in_any_letter_case_and_unknown_ones_refused() {
    for (operator, values, found) in [
        ("In", &["l"][..], vec!["large"]),
        ("NOTIN", &["l", "s"][..], vec!["bare"]),
        ("Exists", &[][..], vec!["small", "large"]),
        ("DoesNotExist", &[][..], vec!["bare"]),
    ] {
        assert_eq!(matching(expression(operator, values), &three_sizes()), found, "{operator}");
    }
    assert!(refusal(expression("like", &["l"])).contains("\"like\""));
}

/// Machines spread over equal hosts, and the same machine always makes the same choice.
#[test]
fn ho42_equal_hosts_are_spread_and_a_retry_takes_the_same() {
    let hosts: Vec<_> = (0..4).map(|n| host(&format!("h{n}"), json!({}))).collect();
    let of = |uid: &str| taken(&chosen_for(&machine(uid, json!({})), &hosts, None)).unwrap().to_owned();
    let all: std::collections::BTreeSet<String> = (0..60).map(|n| of(&format!("u{n}"))).collect();
    assert_eq!(all.len(), 4);
    assert_eq!(of("u7"), of("u7"));
}

/// Hosts of the failure domain asked for are preferred; others are taken if none of them is free.
#[test]
fn ho43_the_failure_domain_is_preferred_not_demanded() {
    let at = |name: &str, domain: &str| labelled(name, json!({label::FAILURE_DOMAIN: domain}));
    let wanted = json!({"failureDomain": "rack2"});
    assert_eq!(taken(&choice(wanted.clone(), &[at("a", "rack1"), at("b", "rack2")])), Some("b"));
    let fallback = choice(wanted, &[at("a", "rack1")]);
    let HostOutcome::Chosen(chosen) = &fallback.outcome else { panic!("{fallback:?}") };
    assert_eq!((chosen.host.as_str(), chosen.fell_back_from_domain.as_deref()), ("a", Some("rack2")));
}

/// Choice works with many hundred hosts in one namespace.
#[test]
fn ho44_hundreds_of_hosts_are_no_obstacle() {
    let mut hosts: Vec<_> = (0..600)
        .map(|n| host(&format!("h{n}"), json!({"status": {"provisioning": {"state": "provisioned"}}})))
        .collect();
    hosts.push(host("free", json!({})));
    let choice = choice(json!({}), &hosts);
    assert_eq!(taken(&choice), Some("free"));
    assert_eq!(choice.counts().to_string(), "600 hosts: 600 not available");
}

/// A new machine of the same control plane or MachineDeployment takes only a host reserved for it; others skip it.
#[test]
fn nr48_a_reserved_host_goes_to_its_owner_only() {
    let reserved = labelled("b", json!({label::NODE_REUSE: "md-workers"}));
    let hosts = [reserved, host("f", json!({}))];
    assert_eq!(taken(&chosen_for(&machine("u", json!({})), &hosts, Some("md-workers"))), Some("b"));
    assert_eq!(taken(&chosen_for(&machine("u", json!({})), &hosts, Some("cp-kcp"))), Some("f"));
    assert_eq!(taken(&chosen_for(&machine("u", json!({})), &hosts, None)), Some("f"));
}

/// While reserved hosts are not available yet the machine waits instead of taking another one; a reserved host that is
/// available is taken although others are not.
#[test]
fn nr49_a_machine_waits_for_its_reserved_hosts() {
    let reserved = |name: &str, state: &str| {
        host(
            name,
            json!({"metadata": {"labels": {label::NODE_REUSE: "cp-kcp"}}, "status": {"provisioning": {"state": state}}}),
        )
    };
    let hosts = [reserved("a", "deprovisioning"), host("f", json!({}))];
    assert!(matches!(choice(json!({}), &hosts).outcome, HostOutcome::Wait(_)));
    let hosts = [reserved("a", "deprovisioning"), reserved("b", "available"), host("f", json!({}))];
    assert_eq!(taken(&choice(json!({}), &hosts)), Some("b"));
}

/// Reservations work for any kind of control plane in the group `controlplane.cluster.x-k8s.io`.
#[test]
fn nr50_any_kind_of_control_plane_books() {
    let of = |group: &str, kind: &str| {
        let owner = json!({"apiVersion": format!("{group}/v1"), "kind": kind, "name": "x", "uid": "u"});
        let metadata = json!({"labels": {label::CONTROL_PLANE: ""}, "ownerReferences": [owner]});
        reuse_label(&serde_json::from_value(json!({ "metadata": metadata })).unwrap(), None)
    };
    for kind in ["KubeadmControlPlane", "RKE2ControlPlane", "Anything"] {
        assert_eq!(of("controlplane.cluster.x-k8s.io", kind).as_deref(), Some("cp-x"));
    }
    assert_eq!(of("example.com", "KubeadmControlPlane"), None);
}

/// An owner that is not there means no reservation, as in the reference, and never a permanent failure.
#[test]
fn nr53_an_owner_that_cannot_be_found_means_no_reservation() {
    let by_set = json!({"metadata": {"ownerReferences": [
        {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "MachineSet", "name": "ms", "uid": "u"}]}});
    let machine: Machine = serde_json::from_value(by_set).unwrap();
    assert_eq!(reuse_label(&machine, None), None);
    assert_eq!(reuse_label(&machine, Some(&MachineSet::default())), None);
    assert_eq!(reuse_label(&Machine::default(), None), None);
}
