//! Data that a host names before its machine writes to it.

use super::{observing::TestReader, *};
use crate::metal3machine::host_data::{HostData, observe};

fn blank(data: Value) -> Value {
    let mut taken = host("h", consumed_by("m"));
    merge(&mut taken, &json!({"spec": {"metaData": data}}));
    taken
}

fn known(reader: &TestReader, host: Value) -> HostData {
    observe(reader, &read(host))
}

/// The owner of the Secret shows whose data a host has. A Secret that is not seen may be there anyway.
#[test]
fn s189_a_secret_that_no_metal3data_owns_is_the_users() {
    let secret = |name: &str, kind: Option<&str>| {
        let owner = kind.map(|kind| {
            json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": kind, "name": "x", "uid": "1"})
        });
        json!({"metadata": {"namespace": "metal3", "name": name, "ownerReferences": owner.as_slice()}})
    };
    let reader = TestReader::default()
        .with("Secret", secret("mine", None))
        .with("Secret", secret("of-a-host", Some("BareMetalHost")))
        .with("Secret", secret("rendered", Some("Metal3Data")));
    let own = HostData { of_users: ["metaData"].into(), ..HostData::default() };
    let unseen = HostData { unseen: [("metaData", "gone".to_owned())].into(), ..HostData::default() };
    for (reference, expected) in [
        (json!({"name": "mine"}), own.clone()),
        (json!({"name": "of-a-host", "namespace": "metal3"}), own.clone()),
        (json!({"name": "rendered"}), HostData::default()),
        (json!({"name": "rendered", "namespace": "other"}), own),
        (json!({"name": "gone"}), unseen),
        (json!({}), HostData::default()),
    ] {
        assert_eq!(known(&reader, blank(reference.clone())), expected, "{reference}");
    }
    let mut full = blank(json!({"name": "mine"}));
    full["spec"]["image"] = json!({"url": "i"});
    assert_eq!(known(&reader, full), HostData::default(), "nothing is put on it any more");
}

/// A Secret that is not seen is asked for: a reference is taken off only if the server says that it leads nowhere.
#[test]
fn s47_a_reference_is_taken_off_only_once_its_secret_is_proven_to_be_gone() {
    let mut snapshot = with_host(json!({"spec": {"metaData": {"name": "left"}}}));
    snapshot.host_data.unseen = [("metaData", "left".to_owned())].into();
    let question = Question::HostData("left".into());
    assert_eq!(decide(&snapshot, "t").ask, Some(question.clone()));

    let mut doubtful = snapshot.clone();
    doubtful.live.answer(question.clone(), Some(capm3_engine::absence::Doubt::DefinitionDeleting));
    let held = decide(&doubtful, "t");
    assert_eq!(patched(&held, "BareMetalHost", "/spec"), Value::Null, "nothing is put on the host");
    assert_eq!(condition_of(&held, condition::ASSOCIATE_META_DATA).0, "False");

    snapshot.live.answer(question, None);
    let decision = decide(&snapshot, "t");
    let spec = patched(&decision, "BareMetalHost", "/spec");
    assert!(spec.get("metaData").is_some_and(Value::is_null), "{spec}");
    assert!(spec.get("image").is_some(), "{spec}");
}
