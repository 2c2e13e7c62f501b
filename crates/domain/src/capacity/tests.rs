use proptest::{collection::vec, option, prelude::*, sample::select};
use serde_json::{Value, json};

use super::*;

fn host(labels: &Value, hardware: &Value) -> BareMetalHost {
    serde_json::from_value(
        json!({"metadata": {"name": "h", "labels": labels}, "status": {"hardware": hardware}}),
    )
    .unwrap()
}

fn hardware(cpus: i64, mebibytes: i64, arch: &str) -> Value {
    json!({"cpu": {"count": cpus, "arch": arch}, "ramMebibytes": mebibytes})
}

fn template(selector: &Value) -> Metal3MachineTemplate {
    serde_json::from_value(json!({"spec": {"template": {"spec": {"hostSelector": selector}}}})).unwrap()
}

fn offer(cpus: i64, mebibytes: i64, architecture: Option<&'static str>) -> Offer {
    Offer { cpus, mebibytes, architecture }
}

#[test]
fn a_host_counts_if_it_tells_processors_and_memory() {
    for (told, expected) in [
        (hardware(32, 65_536, "x86_64"), Some(offer(32, 65_536, Some("amd64")))),
        (hardware(64, 65_536, "aarch64"), Some(offer(64, 65_536, Some("arm64")))),
        (hardware(8, 1024, "arm64"), Some(offer(8, 1024, Some("arm64")))),
        (hardware(8, 1024, "vax"), Some(offer(8, 1024, None))),
        (json!({"cpu": {"count": 4}, "ramMebibytes": 512}), Some(offer(4, 512, None))),
        (hardware(0, 1024, "x86_64"), None),
        (hardware(8, -1, "x86_64"), None),
        (json!({"cpu": {"count": 4}}), None),
        (json!({"cpu": null, "ramMebibytes": 512}), None),
        (json!({"hostname": "h"}), None),
        (Value::Null, None),
    ] {
        assert_eq!(of_host(&host(&json!({}), &told)), expected, "{told}");
    }
}

#[test]
fn a_host_that_no_machine_can_have_does_not_count() {
    let told = host(&json!({}), &hardware(8, 1024, "x86_64"));
    let mut elsewhere = told.clone();
    elsewhere.spec.externally_provisioned = true;
    let mut leaving = told.clone();
    leaving.metadata.deletion_timestamp = serde_json::from_value(json!("2026-03-04T05:06:07Z")).unwrap();
    let mut taken = told;
    taken.spec.consumer_ref = Some(Default::default());
    assert_eq!([elsewhere, leaving, taken].map(|host| of_host(&host).is_some()), [false, false, true]);
}

#[test]
fn every_machine_may_count_on_the_least_of_the_hosts_that_match() {
    let big = host(&json!({"role": "worker"}), &hardware(64, 1024, "x86_64"));
    let broad = host(&json!({"role": "worker"}), &hardware(32, 4096, "x86_64"));
    let arm = host(&json!({"role": "edge"}), &hardware(4, 8192, "aarch64"));
    let unknown = host(&json!({"role": "worker"}), &Value::Null);
    let all = [&big, &broad, &arm, &unknown];
    for (selector, expected) in [
        (json!({"matchLabels": {"role": "worker"}}), Some(offer(32, 1024, Some("amd64")))),
        (json!({"matchLabels": {"role": "edge"}}), Some(offer(4, 8192, Some("arm64")))),
        (Value::Null, Some(offer(4, 1024, None))),
        (json!({"matchLabels": {"role": "none"}}), None),
        (json!({"matchExpressions": [{"key": "role", "operator": "like", "values": ["w"]}]}), None),
    ] {
        assert_eq!(Candidates::of(&template(&selector)).common(all), expected, "{selector}");
    }
    assert_eq!(Candidates::of(&template(&Value::Null)).common([&unknown]), None);
}

#[test]
fn the_status_says_the_offer_and_keeps_what_others_said() {
    let read = |status: Value| {
        serde_json::from_value::<Metal3MachineTemplate>(json!({"status": status})).unwrap().status
    };
    let foreign = read(json!({"capacity": {"cpu": "1", "nvidia.com/gpu": "2"},
        "nodeInfo": {"architecture": "arm64", "operatingSystem": "linux"}}));
    let mut status = foreign;
    say(&mut status, Some(offer(32, 65_536, Some("amd64"))));
    let expected = json!({"capacity": {"cpu": "32", "memory": "65536Mi", "nvidia.com/gpu": "2"},
        "nodeInfo": {"architecture": "amd64", "operatingSystem": "linux"}});
    assert_eq!(serde_json::to_value(&status).unwrap(), expected);
    say(&mut status, None);
    let expected = json!({"capacity": {"nvidia.com/gpu": "2"}, "nodeInfo": {"operatingSystem": "linux"}});
    assert_eq!(serde_json::to_value(&status).unwrap(), expected);

    let mut status = read(json!({}));
    say(&mut status, Some(offer(8, 1024, None)));
    assert_eq!(serde_json::to_value(&status).unwrap(), json!({"capacity": {"cpu": "8", "memory": "1024Mi"}}));
    say(&mut status, None);
    assert_eq!(status, read(json!({})));
    assert_eq!(said(&read(json!({"capacity": {"cpu": "8", "memory": "1Gi"}}))), None, "not our words");
}

#[test]
fn only_a_host_that_matters_asks_for_another_look() {
    let x86 = Some("amd64");
    let common = Some(offer(8, 1024, x86));
    for (old, new, expected) in [
        (None, None, false),
        (None, Some(offer(8, 1024, x86)), false),
        (None, Some(offer(64, 4096, x86)), false),
        (None, Some(offer(4, 4096, x86)), true),
        (None, Some(offer(64, 512, x86)), true),
        (None, Some(offer(64, 4096, Some("arm64"))), true),
        (Some(offer(64, 4096, x86)), None, false),
        (Some(offer(8, 4096, x86)), None, true),
        (Some(offer(64, 1024, x86)), None, true),
        (Some(offer(64, 4096, x86)), Some(offer(32, 4096, x86)), false),
        (Some(offer(64, 4096, x86)), Some(offer(2, 4096, x86)), true),
    ] {
        assert_eq!(may_change(common, old, new), expected, "{old:?} to {new:?}");
    }
    assert!(may_change(None, None, common), "the first host that tells");
}

fn offers() -> impl Strategy<Value = Offer> {
    let architecture = select(vec![Some("amd64"), Some("amd64"), Some("arm64"), None]);
    (1..4_i64, 1..4_i64, architecture)
        .prop_map(|(cpus, mebibytes, architecture)| offer(cpus, mebibytes, architecture))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the other hosts have: where no look is asked for, a look would find what is known already.
    #[test]
    fn no_change_goes_unnoticed(
        others in vec(offers(), 0..4), old in option::of(offers()), new in option::of(offers()),
    ) {
        let common = |one: Option<Offer>| others.iter().copied().chain(one).reduce(Offer::and);
        if !may_change(common(old), old, new) {
            prop_assert_eq!(common(old), common(new));
        }
    }

    #[test]
    fn what_is_said_is_read_back(offer in option::of(offers())) {
        let mut status = capm3_api::v1beta2::Metal3MachineTemplateStatus::default();
        say(&mut status, offer);
        prop_assert_eq!(said(&status), offer);
    }
}
