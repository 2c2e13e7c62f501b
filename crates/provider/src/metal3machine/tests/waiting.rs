//! Who looks again when a host became usable.

use capm3_engine::ObjectKey;

use super::{observing::Shelf, *};
use crate::metal3machine::offers::Offers;

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("metal3", name)
}

/// Machines that wait for a host, the first one for the longest time, and a host that is free.
fn queue(size: usize) -> Shelf {
    let mut shelf = Shelf::default().with("BareMetalHost", host("h", json!({})));
    for n in 0..size {
        let mut waits = machine();
        merge(
            &mut waits,
            &json!({"metadata": {"name": format!("m{n}"), "ownerReferences": [
                {"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Machine", "name": "o", "uid": "uid-o"}]},
            "status": {"conditions": [{"type": "AssociateBareMetalHost", "status": "False",
                "reason": "AssociateBareMetalHostFailed", "lastTransitionTime": format!("t{n}")}]}}),
        );
        shelf = shelf.with("Metal3Machine", waits);
    }
    shelf.with(
        "Machine",
        json!({"metadata": {"namespace": "metal3", "name": "o"}, "spec": {"clusterName": "c"}}),
    )
}

#[test]
fn when_a_host_is_taken_a_few_of_those_that_wait_on_look_whether_their_reasons_still_hold() {
    for (size, expected) in [(1, vec![]), (3, vec!["m1", "m2"]), (9, vec!["m1", "m2", "m3", "m4"])] {
        let (shelf, offers) = (queue(size), Offers::default());
        for n in 0..size {
            offers.looks(&key(&format!("m{n}")));
            let told = offers.has_looked(&shelf, &key(&format!("m{n}")), true);
            assert!(told.now.is_empty() && told.later.is_empty(), "nothing was offered");
        }
        assert_eq!(offers.offer(&shelf, &key("h")), Some(key("m0")));
        let taken = shelf.with("BareMetalHost", host("h", consumed_by("m0")));
        let told = offers.has_looked(&taken, &key("m0"), false);
        assert!(told.now.is_empty(), "the host is gone");
        assert_eq!(told.later, expected.into_iter().map(key).collect::<Vec<_>>());
    }
}

#[test]
fn a_host_that_was_not_taken_is_offered_to_the_next_and_nobody_else_looks() {
    let (shelf, offers) = (queue(3), Offers::default());
    (0..3).for_each(|n| offers.looks(&key(&format!("m{n}"))));
    assert_eq!(offers.offer(&shelf, &key("h")), Some(key("m0")));
    let told = offers.has_looked(&shelf, &key("m0"), true);
    assert_eq!((told.now, told.later), (vec![key("m1")], vec![]));
}
