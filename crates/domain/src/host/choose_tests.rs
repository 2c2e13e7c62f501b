use std::{collections::BTreeSet, sync::Arc};

use capm3_api::{neighbours::Machine, v1beta2::Metal3Machine};
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn machine(spec: serde_json::Value) -> Metal3Machine {
    serde_json::from_value(
        json!({"metadata": {"name": "m", "namespace": "ns", "uid": "uid-m"}, "spec": spec}),
    )
    .unwrap()
}

fn host(name: &str, state: &str, labels: serde_json::Value) -> BareMetalHost {
    serde_json::from_value(json!({
        "metadata": {"name": name, "namespace": "ns", "labels": labels},
        "status": {"provisioning": {"state": state}}
    }))
    .unwrap()
}

fn in_domain(name: &str, domain: &str) -> BareMetalHost {
    host(name, "available", json!({label::FAILURE_DOMAIN: domain}))
}

fn reserved(name: &str, state: &str) -> BareMetalHost {
    host(name, state, json!({label::NODE_REUSE: "cp-kcp"}))
}

fn free(name: &str) -> BareMetalHost {
    host(name, "available", json!({}))
}

fn chosen_by(machine: &Metal3Machine, hosts: &[BareMetalHost]) -> HostChoice {
    let capi = Machine::default();
    choose(&HostRequest::new(machine, &capi, Some("cp-kcp".into())), hosts.iter())
}

fn name_of(choice: &HostChoice) -> &str {
    match &choice.outcome {
        HostOutcome::Chosen(chosen) => &chosen.host,
        other => panic!("no host: {other:?}"),
    }
}

fn texts(choice: &HostChoice) -> Vec<String> {
    choice.verdicts.iter().map(ToString::to_string).collect()
}

fn quick(request: &HostRequest<'_>, hosts: &[Arc<BareMetalHost>]) -> Option<String> {
    let mut choice = QuickChoice::new(request);
    let mut hosts: Vec<_> = hosts.iter().collect();
    hosts.sort_by_key(|host| host.metadata.name_str());
    let _all_or_broken = hosts.into_iter().try_for_each(|host| choice.offer(host));
    choice.best().map(|host| host.metadata.name_str().to_owned())
}

#[test]
fn the_quick_choice_is_the_choice() {
    let capi = Machine::default();
    let hosts: Vec<BareMetalHost> = (0..60)
        .map(|n| match n % 5 {
            0 => in_domain(&format!("h{n}"), "a"),
            1 => in_domain(&format!("h{n}"), "b"),
            2 => host(&format!("h{n}"), "available", json!({"gpu": "yes"})),
            3 => host(&format!("h{n}"), "available", json!({label::NODE_REUSE: "md-other"})),
            _ => free(&format!("h{n}")),
        })
        .collect();
    let of = |which: &dyn Fn(&BareMetalHost) -> bool| -> Vec<Arc<BareMetalHost>> {
        hosts.iter().filter(|host| which(host)).cloned().map(Arc::new).collect()
    };
    let all = of(&|_| true);
    let in_b = of(&|host| domain_of(host) == Some("b"));
    for n in 0..100 {
        let table = [
            (json!({}), &all),
            (json!({"failureDomain": "b"}), &in_b),
            (json!({"failureDomain": "nowhere"}), &all),
            (json!({"hostSelector": {"matchLabels": {"gpu": "yes"}}}), &all),
        ];
        for (spec, equals) in table {
            let mut machine = machine(spec.clone());
            // The first has no uid and takes the first host by name.
            machine.metadata.uid = (n > 0).then(|| format!("uid-{n}"));
            let request = HostRequest::new(&machine, &capi, Some("cp-kcp".into()));
            assert_eq!(quick(&request, equals).unwrap(), name_of(&chosen_by(&machine, &hosts)), "{spec}");
        }
    }
    let nothing = machine(json!({"hostSelector": {"matchLabels": {"gpu": "no"}}}));
    assert_eq!(quick(&HostRequest::new(&nothing, &capi, None), &all), None);
}

#[test]
fn the_domain_asked_for_goes_first_and_others_say_so() {
    let hosts = [in_domain("h1", "a"), in_domain("h2", "b"), free("h3")];
    let choice = chosen_by(&machine(json!({"failureDomain": "b"})), &hosts);
    let HostOutcome::Chosen(chosen) = &choice.outcome else { panic!("{choice:?}") };
    assert_eq!((chosen.host.as_str(), &chosen.fell_back_from_domain), ("h2", &None));
    assert_eq!(
        texts(&choice),
        ["h1: usable, but in failure domain \"a\"", "h3: usable, but in no failure domain"]
    );
}

#[test]
fn a_domain_without_hosts_falls_back_and_reports_it() {
    let hosts = [in_domain("h1", "a"), free("h2")];
    for domain in ["zzz", "not a label", &"f".repeat(64)] {
        let choice = chosen_by(&machine(json!({"failureDomain": domain})), &hosts);
        let HostOutcome::Chosen(chosen) = &choice.outcome else { panic!("{choice:?}") };
        assert_eq!(chosen.fell_back_from_domain.as_deref(), Some(domain));
        assert_eq!(choice.verdicts.len(), 1);
        assert_eq!(choice.verdicts[0].rejection, Rejection::NotDrawn);
    }
}

#[test]
fn a_reserved_host_that_is_ready_is_taken_though_another_is_not() {
    let hosts = [reserved("h1", "preparing"), reserved("h2", "available"), free("h3")];
    let choice = chosen_by(&machine(json!({})), &hosts);
    let HostOutcome::Chosen(chosen) = &choice.outcome else { panic!("{choice:?}") };
    assert_eq!((chosen.host.as_str(), chosen.via_reuse), ("h2", true));
    assert_eq!(chosen.reason(), reason::ASSOCIATE_HOST_VIA_REUSE);
    assert_eq!(
        texts(&choice),
        ["h1: not available: preparing", "h3: usable, but a host reserved for this owner has priority"]
    );
}

#[test]
fn a_machine_waits_for_reserved_hosts_although_others_are_free() {
    let hosts = [reserved("h2", "provisioning"), reserved("h1", "deprovisioning"), free("h3")];
    let choice = chosen_by(&machine(json!({})), &hosts);
    let waits = [("h1", "deprovisioning"), ("h2", "provisioning")].map(|(h, s)| (h.to_owned(), s.to_owned()));
    assert_eq!(choice.outcome, HostOutcome::Wait(waits.to_vec()));
    assert_eq!(choice.verdicts.len(), 3);
}

#[test]
fn as_many_machines_wait_as_hosts_are_reserved_and_the_others_take_free_ones() {
    let capi = Machine::default();
    let chosen = |ahead: usize, hosts: &[BareMetalHost]| {
        let machine = machine(json!({}));
        choose(&HostRequest::new(&machine, &capi, Some("cp-kcp".into())).behind(ahead), hosts.iter())
    };
    let (one, two) = (reserved("h1", "preparing"), reserved("h2", "deprovisioning"));
    let mut sick = reserved("h1", "preparing");
    sick.status.error_message = Some("boom".into());
    let (others, bound) = (free("h3"), host("h4", "preparing", json!({label::NODE_REUSE: "cp-other"})));
    for (what, ahead, hosts, waits) in [
        ("first", 0, vec![one.clone(), others.clone()], true),
        ("second", 1, vec![one.clone(), others.clone()], false),
        ("second of two hosts", 1, vec![one.clone(), two.clone(), others.clone()], true),
        ("third of two hosts", 2, vec![one.clone(), two, others.clone()], false),
        ("its host cannot be used", 0, vec![sick, others.clone()], false),
        ("reserved for another owner", 0, vec![bound, others], false),
    ] {
        let choice = chosen(ahead, &hosts);
        match &choice.outcome {
            HostOutcome::Wait(_) => assert!(waits, "{what}"),
            HostOutcome::Chosen(taken) => {
                assert!(!waits && taken.host == "h3" && !taken.via_reuse, "{what}: {taken:?}");
            }
            other => panic!("{what}: {other:?}"),
        }
    }
    assert_eq!(chosen(1, &[one]).outcome, HostOutcome::None, "and with nothing free it waits for any");
    let ready = [reserved("h2", "available"), free("h3")];
    assert_eq!(name_of(&chosen(7, &ready)), "h2", "what is ready is taken by whoever comes first");
}

#[test]
fn the_domain_counts_among_reserved_hosts_too() {
    let label = |domain: &str| json!({label::NODE_REUSE: "cp-kcp", label::FAILURE_DOMAIN: domain});
    let hosts = [host("h1", "available", label("a")), host("h2", "available", label("b"))];
    for (domain, expected) in [("a", "h1"), ("b", "h2")] {
        assert_eq!(name_of(&chosen_by(&machine(json!({"failureDomain": domain})), &hosts)), expected);
    }
}

#[test]
fn the_own_host_is_found_behind_a_selector_that_hides_it_or_cannot_be_used() {
    let mut own = host("h2", "provisioned", json!({"size": "s"}));
    own.spec.consumer_ref = serde_json::from_value(json!({
        "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "Metal3Machine", "name": "m", "namespace": "ns"
    }))
    .unwrap();
    let hosts = [host("h1", "available", json!({"size": "l"})), own];
    for operator in ["in", "like"] {
        let selector = json!({"matchExpressions": [{"key": "size", "operator": operator, "values": ["l"]}]});
        let choice = chosen_by(&machine(json!({"hostSelector": selector})), &hosts);
        let HostOutcome::Chosen(chosen) = &choice.outcome else { panic!("{choice:?}") };
        assert_eq!((chosen.host.as_str(), chosen.already_own), ("h2", true));
    }
}

#[test]
fn every_host_that_was_not_taken_has_a_reason_and_a_count() {
    let mut consumed = free("h1");
    consumed.spec.consumer_ref =
        serde_json::from_value(json!({"kind": "Metal3Machine", "name": "x", "namespace": "ns"})).unwrap();
    let mut elsewhere = free("h9");
    elsewhere.metadata.namespace = Some("other".into());
    let hosts = [
        host("h4", "available", json!({"size": "s"})),
        host("h3", "inspecting", json!({"size": "l"})),
        elsewhere,
        consumed,
        host("h2", "", json!({"size": "l"})),
    ];
    let selector =
        json!({"hostSelector": {"matchExpressions": [{"key": "size", "operator": "!=", "values": ["s"]}]}});
    let choice = chosen_by(&machine(selector), &hosts);
    assert_eq!(choice.outcome, HostOutcome::None);
    assert_eq!(
        texts(&choice),
        [
            "h1: consumed by Metal3Machine ns/x",
            "h2: not available: no state yet",
            "h3: not available: inspecting",
            "h4: does not match hostSelector: size notin (s), but the value is \"s\"",
        ]
    );
    assert_eq!(choice.counts().to_string(), "4 hosts: 1 consumed, 2 not available, 1 label mismatch");
}

#[test]
fn machines_spread_over_equal_hosts() {
    let hosts: Vec<BareMetalHost> = (0..8).map(|n| free(&format!("h{n}"))).collect();
    let mut machine = machine(json!({}));
    let taken: BTreeSet<String> = (0..200)
        .map(|n| {
            machine.metadata.uid = Some(format!("uid-{n}"));
            name_of(&chosen_by(&machine, &hosts)).to_owned()
        })
        .collect();
    assert_eq!(taken.len(), 8);
}

fn any_host() -> impl Strategy<Value = BareMetalHost> {
    let state = prop::sample::select(vec!["available", "ready", "inspecting", ""]);
    let domain = prop::option::of(prop::sample::select(vec!["a", "b"]));
    let reservation = prop::option::weighted(0.3, prop::sample::select(vec!["cp-kcp", "cp-other", ""]));
    (0..30_u8, state, domain, reservation, any::<bool>()).prop_map(
        |(n, state, domain, reservation, consumed)| {
            let mut labels = serde_json::Map::new();
            labels.extend(domain.map(|d| (label::FAILURE_DOMAIN.to_owned(), json!(d))));
            labels.extend(reservation.map(|b| (label::NODE_REUSE.to_owned(), json!(b))));
            let mut host = host(&format!("h{n}"), state, labels.into());
            if consumed && n % 3 == 0 {
                host.spec.consumer_ref =
                    Some(capm3_api::neighbours::ConsumerRef { name: Some("x".into()), ..Default::default() });
            }
            host
        },
    )
}

proptest! {
    #[test]
    fn the_order_of_hosts_does_not_matter_and_no_host_is_taken_away(
        hosts in prop::collection::vec(any_host(), 0..20), seed: u64,
    ) {
        let mut hosts = hosts;
        hosts.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
        hosts.dedup_by(|a, b| a.metadata.name == b.metadata.name);
        let machine = machine(json!({"failureDomain": "a"}));
        let first = chosen_by(&machine, &hosts);
        let mut turned = hosts.clone();
        turned.rotate_left(usize::try_from(seed % 7).unwrap().min(hosts.len()));
        prop_assert_eq!(&chosen_by(&machine, &turned), &first);

        let taken = usize::from(matches!(first.outcome, HostOutcome::Chosen(_)));
        prop_assert_eq!(first.verdicts.len() + taken, hosts.len(), "one verdict for each other host");
        if let HostOutcome::Chosen(chosen) = &first.outcome {
            let host = hosts.iter().find(|h| h.metadata.name_str() == chosen.host).unwrap();
            prop_assert!(host.spec.consumer_ref.is_none());
            prop_assert!(matches!(host.state(), "available" | "ready"));
            prop_assert_eq!(host.metadata.label(label::NODE_REUSE).unwrap_or("cp-kcp"), "cp-kcp");
        }
    }
}
