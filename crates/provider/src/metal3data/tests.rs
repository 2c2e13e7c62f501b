//! Tables of decisions: a snapshot in, a plan out.

mod parity;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use crate::plan::{End, Plan, waits_for};
use capm3_api::{
    ipam::{IpAddress, IpPool},
    vocabulary::{annotation, finalizer},
};
use capm3_domain::{address::Address, numbers::UsedNumbers};
use capm3_engine::Write;

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{AddressClaim, DataSnapshot, PoolClaim, Settings};

/// Long after everything was made.
fn decide(snapshot: &DataSnapshot) -> Plan {
    super::decide(snapshot, "2026-01-02T00:00:00Z")
}

fn read<T: DeserializeOwned>(value: Value) -> Arc<T> {
    Arc::new(serde_json::from_value(value).unwrap())
}

fn data() -> Value {
    json!({"metadata": {"namespace": "metal3", "name": "dt-0", "uid": "uid-d", "resourceVersion": "4",
        "labels": {"cluster.x-k8s.io/cluster-name": "c"}, "finalizers": [finalizer::DATA_CLAIM],
        "ownerReferences": [{"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3DataClaim",
            "name": "m", "uid": "uid-c", "controller": true}]},
        "spec": {"index": 0, "claim": {"name": "m"}, "template": {"name": "dt"}}})
}

/// The address that the status of [`pool`] shows.
fn used_addresses() -> Arc<UsedNumbers> {
    let address: Address = "10.0.0.8".parse().unwrap();
    Arc::new([address.number()].into_iter().collect())
}

fn pool() -> Arc<IpPool> {
    read(json!({"metadata": {"name": "pool"}, "spec": {"pools": [{"start": "10.0.0.7", "end": "10.0.0.9"}]},
        "status": {"indexes": {"a": "10.0.0.8"}}}))
}

/// Everything is there; the pool was not asked yet.
fn complete() -> DataSnapshot {
    DataSnapshot {
        machines_in_progress: 1,
        data: read(data()),
        cluster: Some(read(json!({"metadata": {"name": "c"}}))),
        claim: Some(read(json!({"metadata": {"name": "m", "uid": "uid-c"}}))),
        claim_is_gone: true,
        gone_pools: BTreeSet::new(),
        template: Some(read(json!({"metadata": {"name": "dt"}, "spec": {
            "metaData": {"strings": [{"key": "role", "value": "worker"}]},
            "networkData": {
                "links": {"ethernets": [{"id": "e", "type": "phy", "mtu": 1500, "macAddress": {"fromHostInterface": "eno1"}}]},
                "networks": {"ipv4": [{"id": "n", "link": "e", "ipAddressFromIPPool": "pool"}]}}}}))),
        metal3_machine: Some(read(
            json!({"metadata": {"namespace": "metal3", "name": "m"}, "spec": {"dataTemplate": {"name": "dt"}}}),
        )),
        machine: Some(read(json!({"metadata": {"name": "m"}, "spec": {"clusterName": "c"}}))),
        host: Some(read(
            json!({"metadata": {"name": "h"}, "status": {"hardware": {"nics": [{"name": "eno1", "mac": "00:00:00:00:00:01"}]}}}),
        )),
        ip_claims: vec![],
        namesakes: BTreeMap::new(),
        pools: [("pool".to_owned(), pool())].into(),
        used_addresses: [("pool".to_owned(), used_addresses())].into(),
        working_pools: BTreeSet::new(),
        kinds_not_served: BTreeSet::new(),
        settings: Settings::default(),
        secrets: BTreeMap::new(),
    }
}

fn with_address(status: Value, address: Option<Value>) -> DataSnapshot {
    let claim = read(
        json!({"metadata": {"namespace": "metal3", "name": "dt-0-pool", "uid": "uid-i", "resourceVersion": "2",
        "finalizers": [finalizer::DATA, finalizer::IP_CLAIM]}, "spec": {"pool": {"name": "pool"}}, "status": status}),
    );
    let address = address.map(|address| super::claims::of_metal3(&read::<IpAddress>(address)));
    let pool_claim = PoolClaim { claim: AddressClaim::Metal3(claim), address };
    DataSnapshot { ip_claims: vec![pool_claim], ..complete() }
}

fn served() -> DataSnapshot {
    let address = json!({"spec": {"address": "10.0.0.7", "prefix": 24, "gateway": "10.0.0.1"}});
    with_address(json!({"address": {"name": "p-10-0-0-7"}}), Some(address))
}

fn shown(plan: &Plan) -> Vec<String> {
    let short = |write: &Write| match write {
        Write::Create { kind, key, .. } => format!("create {kind} {}", key.name),
        Write::Patch { kind, key, subresource, .. } => {
            format!("patch {kind}{} {}", subresource.map(|s| format!("/{s}")).unwrap_or_default(), key.name)
        }
        Write::Delete { kind, key, .. } => format!("delete {kind} {}", key.name),
        Write::Workload { .. } | Write::WorkloadDelete { .. } | Write::BestEffort(_) => write.aim(),
    };
    plan.writes.iter().map(short).collect()
}

/// The pause annotation on a single Metal3Data stops it: nothing is claimed, rendered or released.
#[test]
fn pa67_a_paused_data_is_left_alone() {
    let mut paused = data();
    paused["metadata"]["annotations"] = json!({annotation::PAUSED: ""});
    assert_ne!(shown(&decide(&complete())), Vec::<String>::new(), "it has something to do");
    let mut going = paused.clone();
    going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    for object in [paused, going] {
        let plan = decide(&DataSnapshot { data: read(object), ..complete() });
        assert!(plan.is_quiet(), "{plan}");
        assert_eq!(waits_for(&plan), "Metal3Data has the cluster.x-k8s.io/paused annotation");
    }
}

#[test]
fn the_finalizer_and_the_names_come_first_then_one_claim_for_each_pool() {
    let plan = decide(&complete());
    assert_eq!(
        shown(&plan),
        [
            "patch Metal3Data dt-0",
            "create IPClaim dt-0-pool",
            "patch Metal3DataClaim/status m",
            "patch Metal3Data/status dt-0"
        ]
    );
    let Some(Write::Patch { patch, .. }) = plan.writes.first() else { panic!("a patch") };
    assert_eq!(patch["metadata"]["finalizers"], json!([finalizer::DATA_CLAIM, finalizer::DATA]));
    assert_eq!(patch["spec"]["metaData"]["name"], "m-metadata");
    assert_eq!(patch["spec"]["networkData"]["name"], "m-networkdata");
    let Some(Write::Create { object, .. }) = plan.writes.get(1) else { panic!("a create") };
    assert_eq!(object["metadata"]["finalizers"], json!([finalizer::DATA]));
    assert_eq!(object["metadata"]["ownerReferences"][0]["uid"], "uid-d");
    assert_eq!(object["spec"]["pool"], json!({"name": "pool", "namespace": "metal3"}));
    assert_eq!(waits_for(&plan), "waiting for an address of IPPool pool (pool: 2 of 3 addresses are free)");
    assert_eq!(
        plan.events.first().map(|event| (event.warning, event.reason)),
        Some((false, "WaitingForIPAddress"))
    );
}

#[test]
fn a_claim_named_after_its_host_shows_its_data_and_pool_by_labels() {
    let plan = decide(&DataSnapshot {
        settings: Settings { names_claims_by_host: true, ..Settings::default() },
        ..complete()
    });
    let Some(Write::Create { key, object, .. }) = plan.writes.get(1) else { panic!("a create") };
    assert_eq!(key.name, "h-pool");
    assert_eq!(object["metadata"]["labels"]["infrastructure.cluster.x-k8s.io/data-name"], "dt-0");
    assert_eq!(object["metadata"]["labels"]["infrastructure.cluster.x-k8s.io/pool-name"], "pool");
}

#[test]
fn an_exhausted_pool_is_reported_with_its_size() {
    let plan = decide(&with_address(json!({"errorMessage": "Exhausted IP Pools"}), None));
    let words = "IP Allocation for pool failed : Exhausted IP Pools (the pool has 3 addresses)";
    assert_eq!(waits_for(&plan), words);
}

fn with_pool(metadata: Value, snapshot: DataSnapshot) -> DataSnapshot {
    DataSnapshot { pools: [("pool".to_owned(), read(json!({"metadata": metadata})))].into(), ..snapshot }
}

#[test]
fn a_claim_on_a_pool_that_is_served_has_the_finalizer_of_the_address_manager_from_the_start() {
    let created = |metadata: Value| {
        let plan = decide(&with_pool(metadata, complete()));
        let Some(Write::Create { object, .. }) = plan.writes.get(1) else { panic!("a create") };
        object["metadata"]["finalizers"].clone()
    };
    let held = json!({"name": "pool", "finalizers": [finalizer::IP_POOL]});
    assert_eq!(created(held.clone()), json!([finalizer::DATA, finalizer::IP_CLAIM]));
    assert_eq!(created(json!({"name": "pool"})), json!([finalizer::DATA]), "nobody serves it");
    let mut going = held;
    going["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    assert_eq!(created(going), json!([finalizer::DATA]), "it takes no new claims");
}

#[test]
fn a_claim_whose_pool_is_gone_loses_both_finalizers() {
    let released = |snapshot: DataSnapshot| {
        let plan = decide(&deleting(DataSnapshot { claim: None, ..snapshot }));
        let Some(Write::Patch { patch, .. }) = plan.writes.first() else { panic!("a patch") };
        patch["metadata"]["finalizers"].clone()
    };
    assert_eq!(released(served()), json!([finalizer::IP_CLAIM]));
    let unseen = DataSnapshot { pools: BTreeMap::new(), ..served() };
    assert_eq!(released(unseen.clone()), json!([finalizer::IP_CLAIM]), "what is not seen is not gone");
    let gone = DataSnapshot { gone_pools: ["pool".to_owned()].into(), ..unseen };
    assert_eq!(released(gone), json!([]), "nobody is left who would take it off");
}

#[test]
fn data_whose_claim_is_not_seen_keeps_its_addresses_until_there_is_proof() {
    let unseen = || deleting(DataSnapshot { claim: None, claim_is_gone: false, ..served() });
    let plan = decide(&unseen());
    assert!(plan.is_quiet() && matches!(plan.end, End::After(_)), "{:?}", shown(&plan));
    let claim = capm3_engine::ObjectKey::new("metal3", "m");
    assert_eq!(
        super::claim_state::to_prove(&unseen()),
        [(capm3_engine::ResourceKind::of::<capm3_api::v1beta2::Metal3DataClaim>(), claim)]
    );
    let gone = DataSnapshot { claim_is_gone: true, ..unseen() };
    assert!(!decide(&gone).is_quiet());
    assert_eq!(super::claim_state::to_prove(&gone), [], "its pool is seen");
}

#[test]
fn with_its_addresses_both_secrets_are_made_and_the_data_is_ready() {
    let plan = decide(&served());
    assert_eq!(
        shown(&plan),
        [
            "patch Metal3Data dt-0",
            "create Secret m-metadata",
            "create Secret m-networkdata",
            "patch Metal3Data/status dt-0"
        ]
    );
    assert_eq!(plan.end, End::Done);
    let printed = format!("{plan:?} {plan}");
    assert!(!printed.contains("cm9sZTog"), "contents of Secrets are never printed: {printed}");
}

/// A claim of earlier data of the same name is not used. If it is being deleted, the finalizer that was left on it is removed.
#[test]
fn ip115_a_claim_of_earlier_data_of_the_same_name_is_not_used() {
    let namesake = |deleting: bool| {
        let mut claim = json!({"metadata": {"namespace": "metal3", "name": "dt-0-pool", "resourceVersion": "8",
            "finalizers": [finalizer::DATA], "ownerReferences": [{"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
                "kind": "Metal3Data", "name": "dt-0", "uid": "older"}]}});
        if deleting {
            claim["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        }
        let claim = AddressClaim::Metal3(read(claim));
        DataSnapshot { namesakes: [("dt-0-pool".to_owned(), claim)].into(), ..complete() }
    };
    let going = decide(&namesake(true));
    assert_eq!(shown(&going)[..2], ["patch Metal3Data dt-0", "patch IPClaim dt-0-pool"]);
    let Some(Write::Patch { patch, .. }) = going.writes.get(1) else { panic!("a patch") };
    assert_eq!(patch["metadata"]["finalizers"], json!([]));
    let staying = decide(&namesake(false));
    assert!(!shown(&staying).iter().any(|write| write.contains("IPClaim")));
    for plan in [&going, &staying] {
        assert_eq!(waits_for(plan), "waiting for IPClaim dt-0-pool of another owner to be deleted");
        assert!(!shown(plan).iter().any(|write| write.starts_with("create")), "{plan}");
    }
}

/// What a pool says about a claim that it does not serve is the error message in the status of the data.
#[test]
fn ip114_the_error_of_a_pool_is_in_the_status_of_the_data() {
    let plan = decide(&with_address(json!({"errorMessage": "Exhausted IP Pools"}), None));
    let Some(Write::Patch { kind, subresource, patch, .. }) = plan.writes.last() else { panic!("a patch") };
    assert_eq!((kind.kind.as_str(), *subresource), ("Metal3Data", Some("status")));
    let message = patch["status"]["errorMessage"].as_str().unwrap();
    assert!(message.starts_with("IP Allocation for pool failed : Exhausted IP Pools"), "{message}");
    assert!(!shown(&plan).iter().any(|w| w.contains("Secret")));
}

#[test]
fn a_missing_nic_is_reported_with_path_and_host() {
    let mut snapshot = served();
    snapshot.host =
        Some(read(json!({"metadata": {"name": "h"}, "status": {"hardware": {"nics": [{"name": "eno9"}]}}})));
    let plan = decide(&snapshot);
    let text = plan.to_string();
    assert!(
        text.contains("eno1") && text.contains("ethernets[0].macAddress") && text.contains("eno9"),
        "{text}"
    );
}

#[test]
fn an_existing_secret_is_never_rewritten_and_a_foreign_one_is_refused() {
    let secret = |uid: &str| {
        read(json!({"metadata": {"name": "m-metadata", "ownerReferences": [
        {"apiVersion": "v1", "kind": "Metal3Data", "name": "dt-0", "uid": uid}]}}))
    };
    let own = DataSnapshot { secrets: [("metaData", secret("uid-d"))].into(), ..served() };
    assert!(!shown(&decide(&own)).iter().any(|w| w.contains("m-metadata")));
    let foreign = DataSnapshot { secrets: [("metaData", secret("else"))].into(), ..served() };
    let plan = decide(&foreign);
    assert!(plan.to_string().contains("Secret m-metadata has another owner"), "{plan}");
    assert!(!shown(&plan).iter().any(|w| w.contains("create")));
}

/// Whoever waits for the data must not go on with a Secret of somebody else.
#[test]
fn data_whose_secret_became_somebody_elses_is_not_ready_any_more() {
    let secret = |half: &str, uid: &str| {
        read(json!({"metadata": {"name": half, "ownerReferences": [
            {"apiVersion": "v1", "kind": "Metal3Data", "name": "dt-0", "uid": uid}]}}))
    };
    let going = |half: &str, uid: &str| {
        read(
            json!({"metadata": {"name": half, "deletionTimestamp": "2026-01-01T00:00:00Z", "ownerReferences": [
            {"apiVersion": "v1", "kind": "Metal3Data", "name": "dt-0", "uid": uid}]}}),
        )
    };
    for (what, network_data, taken_back) in [
        ("both are its own", secret("networkData", "uid-d"), false),
        ("one is of somebody else", secret("networkData", "else"), true),
        ("one is of somebody else and goes", going("networkData", "else"), true),
        ("its own goes but is there", going("networkData", "uid-d"), false),
    ] {
        let mut ready = data();
        ready["status"] = json!({"ready": true});
        let secrets = [("metaData", secret("metaData", "uid-d")), ("networkData", network_data)].into();
        let plan = decide(&DataSnapshot { data: read(ready), secrets, ..served() }).to_string();
        assert_eq!(plan.contains("\"ready\":false"), taken_back, "{what}: {plan}");
    }
}

#[test]
fn what_must_come_first_is_waited_for() {
    for (snapshot, what) in [
        (DataSnapshot { cluster: None, ..complete() }, "Cluster"),
        (DataSnapshot { template: None, ..complete() }, "Metal3DataTemplate dt"),
        (DataSnapshot { claim: None, ..complete() }, "Metal3DataClaim"),
        (DataSnapshot { metal3_machine: None, ..complete() }, "Metal3Machine"),
        (DataSnapshot { machine: None, ..complete() }, "Machine"),
        (DataSnapshot { host: None, ..complete() }, "BareMetalHost"),
    ] {
        let End::WaitFor(text) = decide(&snapshot).end else { panic!("waits for {what}") };
        let text = text.to_string();
        assert!(text.contains(what), "{text}");
    }
}

#[test]
fn data_whose_claim_is_deleted_reports_nothing_more_once_the_machine_has_released_the_claim() {
    let claim_with = |finalizers: Value| {
        let claim = json!({"metadata": {"name": "m", "uid": "uid-c", "finalizers": finalizers,
            "deletionTimestamp": "2026-01-01T00:00:00Z"}});
        DataSnapshot { claim: Some(read(claim)), metal3_machine: None, ..served() }
    };
    let given_up = decide(&claim_with(json!([finalizer::DATA_CLAIM])));
    assert!(given_up.is_quiet() && matches!(given_up.end, End::WaitFor(_)), "{:?}", shown(&given_up));
    let in_use = decide(&claim_with(json!([finalizer::MACHINE, finalizer::DATA_CLAIM])));
    assert!(!in_use.is_quiet(), "the machine still runs on it");
}

fn deleting(mut snapshot: DataSnapshot) -> DataSnapshot {
    let mut value = data();
    value["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    value["metadata"]["finalizers"] = json!([finalizer::DATA]);
    snapshot.data = read(value);
    snapshot
}

/// Data that is being deleted waits until its claim is gone, then it releases its addresses. The template need not be there.
#[test]
fn dt84_deletion_waits_for_the_claim_then_releases_addresses() {
    let waits = decide(&deleting(served()));
    assert_eq!(shown(&waits), ["patch Metal3Data/status dt-0"], "it says why it stays");
    assert_eq!(waits_for(&waits), "waiting for Metal3DataClaim m to be deleted");
    let gone = decide(&deleting(DataSnapshot { claim: None, template: None, cluster: None, ..served() }));
    assert_eq!(
        shown(&gone),
        ["patch IPClaim dt-0-pool", "delete IPClaim dt-0-pool", "patch Metal3Data dt-0"]
    );
    let namesake = read(json!({"metadata": {"name": "m", "uid": "uid-of-a-later-claim"}}));
    let gone = decide(&deleting(DataSnapshot { claim: Some(namesake), ..served() }));
    assert_eq!(shown(&gone).len(), 3, "a later claim of the same name does not hold it back");
}

/// The claim is gone; the built-in address manager runs, and whether it looks at the pool's claims.
fn deleting_in_built_in_pool(works: bool, finalizers: Value) -> DataSnapshot {
    let mut snapshot = deleting(DataSnapshot {
        claim: None,
        settings: Settings { serves_addresses: true, ..Settings::default() },
        ..served()
    });
    snapshot.working_pools.extend(works.then(|| "pool".to_owned()));
    let claim = read(
        json!({"metadata": {"namespace": "metal3", "name": "dt-0-pool", "uid": "uid-i", "resourceVersion": "2",
        "finalizers": finalizers, "ownerReferences": [{"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
            "kind": "Metal3Data", "name": "dt-0", "uid": "uid-d"}]}, "spec": {"pool": {"name": "pool"}}}),
    );
    snapshot.ip_claims = vec![PoolClaim { claim: AddressClaim::Metal3(claim), address: None }];
    snapshot
}

#[test]
fn the_built_in_address_manager_releases_address_claims_before_the_data_goes() {
    let held = || deleting_in_built_in_pool(true, json!([finalizer::DATA, finalizer::IP_CLAIM]));
    let waits = decide(&held());
    assert_eq!(shown(&waits), ["delete IPClaim dt-0-pool", "patch Metal3Data/status dt-0"]);
    assert_eq!(waits_for(&waits), "waiting for the address of IPClaim dt-0-pool to be released");
    let soon = super::decide(&held(), "2026-01-01T00:00:01Z");
    assert_eq!(shown(&soon), ["delete IPClaim dt-0-pool"], "what takes a moment is not worth a word");
    assert_eq!(soon.end, End::After(Duration::from_secs(4)));
    let done = decide(&DataSnapshot { ip_claims: vec![], ..held() });
    assert_eq!(shown(&done), ["patch Metal3Data dt-0"]);
}

#[test]
fn where_no_manager_would_release_address_claims_the_data_does() {
    let (both, foreign) = ([finalizer::DATA, finalizer::IP_CLAIM], "somebody.else/holds");
    for (works, finalizers) in [
        (false, json!(both)),
        (true, json!([finalizer::DATA])),
        (true, json!([finalizer::DATA, finalizer::IP_CLAIM, foreign])),
    ] {
        let plan = decide(&deleting_in_built_in_pool(works, finalizers.clone()));
        let expected = ["patch IPClaim dt-0-pool", "delete IPClaim dt-0-pool", "patch Metal3Data dt-0"];
        assert_eq!(shown(&plan), expected, "{works} {finalizers}");
    }
}

#[test]
fn data_whose_claim_uses_other_data_asks_for_nothing() {
    let other = read(
        json!({"metadata": {"name": "m", "uid": "uid-c"}, "status": {"renderedData": {"name": "dt-7"}}}),
    );
    let plan = decide(&DataSnapshot { claim: Some(other), ..complete() });
    assert!(plan.is_quiet(), "{plan}");
}

#[test]
fn s160_data_that_its_template_owns_is_given_to_its_claim_and_its_machine() {
    let owner = |kind: &str, name: &str, uid: &str| json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": kind, "name": name, "uid": uid});
    let mut old = data();
    old["metadata"]["ownerReferences"] = json!([owner("Metal3DataTemplate", "dt", "uid-t")]);
    let plan = decide(&DataSnapshot { data: read(old), ..complete() });
    let Some(Write::Patch { patch, .. }) = plan.writes.first() else { panic!("a patch") };
    let owners = patch["metadata"]["ownerReferences"].as_array().unwrap();
    let owned: Vec<_> =
        owners.iter().map(|o| (o["kind"].as_str().unwrap(), o["controller"] == json!(true))).collect();
    assert_eq!(owned, [("Metal3DataClaim", true), ("Metal3Machine", false)]);
}
