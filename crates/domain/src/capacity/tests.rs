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

fn resources(cpus: i64, mebibytes: i64, architecture: Option<&'static str>) -> HostResources {
    HostResources { cpus, mebibytes, architecture }
}

#[test]
fn a_host_counts_if_its_processors_and_memory_are_known() {
    for (inspected, expected) in [
        (hardware(32, 65_536, "x86_64"), Some(resources(32, 65_536, Some("amd64")))),
        (hardware(64, 65_536, "aarch64"), Some(resources(64, 65_536, Some("arm64")))),
        (hardware(8, 1024, "arm64"), Some(resources(8, 1024, Some("arm64")))),
        (hardware(8, 1024, "vax"), Some(resources(8, 1024, None))),
        (json!({"cpu": {"count": 4}, "ramMebibytes": 512}), Some(resources(4, 512, None))),
        (hardware(0, 1024, "x86_64"), None),
        (hardware(8, -1, "x86_64"), None),
        (json!({"cpu": {"count": 4}}), None),
        (json!({"cpu": null, "ramMebibytes": 512}), None),
        (json!({"hostname": "h"}), None),
        (Value::Null, None),
    ] {
        assert_eq!(resources_of(&host(&json!({}), &inspected)), expected, "{inspected}");
    }
}

#[test]
fn a_host_that_no_machine_can_have_does_not_count() {
    let inspected = host(&json!({}), &hardware(8, 1024, "x86_64"));
    let mut elsewhere = inspected.clone();
    elsewhere.spec.externally_provisioned = true;
    let mut leaving = inspected.clone();
    leaving.metadata.deletion_timestamp = serde_json::from_value(json!("2026-03-04T05:06:07Z")).unwrap();
    let mut taken = inspected;
    taken.spec.consumer_ref = Some(Default::default());
    assert_eq!([elsewhere, leaving, taken].map(|host| resources_of(&host).is_some()), [false, false, true]);
}

#[test]
fn every_machine_may_count_on_the_least_of_the_hosts_that_match() {
    let big = host(&json!({"role": "worker"}), &hardware(64, 1024, "x86_64"));
    let broad = host(&json!({"role": "worker"}), &hardware(32, 4096, "x86_64"));
    let arm = host(&json!({"role": "edge"}), &hardware(4, 8192, "aarch64"));
    let unknown = host(&json!({"role": "worker"}), &Value::Null);
    let all = [&big, &broad, &arm, &unknown];
    for (selector, expected) in [
        (json!({"matchLabels": {"role": "worker"}}), Some(resources(32, 1024, Some("amd64")))),
        (json!({"matchLabels": {"role": "edge"}}), Some(resources(4, 8192, Some("arm64")))),
        (Value::Null, Some(resources(4, 1024, None))),
        (json!({"matchLabels": {"role": "none"}}), None),
        (json!({"matchExpressions": [{"key": "role", "operator": "like", "values": ["w"]}]}), None),
    ] {
        assert_eq!(Candidates::of(&template(&selector)).common(all), expected, "{selector}");
    }
    assert_eq!(Candidates::of(&template(&Value::Null)).common([&unknown]), None);
}

#[test]
fn the_status_holds_the_resources_and_keeps_what_others_wrote() {
    let read = |status: Value| {
        serde_json::from_value::<Metal3MachineTemplate>(json!({"status": status})).unwrap().status
    };
    let foreign = read(json!({"capacity": {"cpu": "1", "nvidia.com/gpu": "2"},
        "nodeInfo": {"architecture": "arm64", "operatingSystem": "linux"}}));
    let mut status = foreign;
    write_status(&mut status, Some(resources(32, 65_536, Some("amd64"))));
    let expected = json!({"capacity": {"cpu": "32", "memory": "65536Mi", "nvidia.com/gpu": "2"},
        "nodeInfo": {"architecture": "amd64", "operatingSystem": "linux"}});
    assert_eq!(serde_json::to_value(&status).unwrap(), expected);
    write_status(&mut status, None);
    let expected = json!({"capacity": {"nvidia.com/gpu": "2"}, "nodeInfo": {"operatingSystem": "linux"}});
    assert_eq!(serde_json::to_value(&status).unwrap(), expected);

    let mut status = read(json!({}));
    write_status(&mut status, Some(resources(8, 1024, None)));
    assert_eq!(serde_json::to_value(&status).unwrap(), json!({"capacity": {"cpu": "8", "memory": "1024Mi"}}));
    write_status(&mut status, None);
    assert_eq!(status, read(json!({})));
    assert_eq!(read_status(&read(json!({"capacity": {"cpu": "8", "memory": "1Gi"}}))), None, "not our units");
}

#[test]
fn only_a_host_that_matters_asks_for_another_reconcile() {
    let x86 = Some("amd64");
    let common = Some(resources(8, 1024, x86));
    for (old, new, expected) in [
        (None, None, false),
        (None, Some(resources(8, 1024, x86)), false),
        (None, Some(resources(64, 4096, x86)), false),
        (None, Some(resources(4, 4096, x86)), true),
        (None, Some(resources(64, 512, x86)), true),
        (None, Some(resources(64, 4096, Some("arm64"))), true),
        (Some(resources(64, 4096, x86)), None, false),
        (Some(resources(8, 4096, x86)), None, true),
        (Some(resources(64, 1024, x86)), None, true),
        (Some(resources(64, 4096, x86)), Some(resources(32, 4096, x86)), false),
        (Some(resources(64, 4096, x86)), Some(resources(2, 4096, x86)), true),
    ] {
        assert_eq!(may_change(common, old, new), expected, "{old:?} to {new:?}");
    }
    assert!(may_change(None, None, common), "the first host that is inspected");
}

fn any_resources() -> impl Strategy<Value = HostResources> {
    let architecture = select(vec![Some("amd64"), Some("amd64"), Some("arm64"), None]);
    (1..4_i64, 1..4_i64, architecture)
        .prop_map(|(cpus, mebibytes, architecture)| resources(cpus, mebibytes, architecture))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the other hosts have: where no reconcile is asked for, one would find what is known already.
    #[test]
    fn no_change_goes_unnoticed(
        others in vec(any_resources(), 0..4), old in option::of(any_resources()), new in option::of(any_resources()),
    ) {
        let common = |one: Option<HostResources>| others.iter().copied().chain(one).reduce(HostResources::and);
        if !may_change(common(old), old, new) {
            prop_assert_eq!(common(old), common(new));
        }
    }

    #[test]
    fn what_is_written_is_read_back(resources in option::of(any_resources())) {
        let mut status = capm3_api::v1beta2::Metal3MachineTemplateStatus::default();
        write_status(&mut status, resources);
        prop_assert_eq!(read_status(&status), resources);
    }
}
