//! Kubelets that fail on request. The annotation [`FAIL`] of a Node is the request: with `hang` the kubelet stops until its host
//! loses power, with `dead` no power cycle brings it back.
//!
//! Takes what the Node asks for and when a host loses power; gives the state of the kubelet. It must not read the host's power
//! from a cache: two changes of it may be seen as none.

use std::{collections::BTreeMap, sync::Arc};

use capm3_api::{metadata::MetadataExt, vocabulary::host_state::PROVISIONED};
use capm3_engine::{Caches, Object, ObjectKey};
use k8s_openapi::api::core::v1::Node;
use parking_lot::Mutex;

use crate::kinds::BareMetalHost;

/// Annotation of a Node with which a user has its kubelet fail.
pub(crate) const FAIL: &str = "capm3.example/fail";
const HANG: &str = "hang";
pub(crate) const DEAD: &str = "dead";
/// What [`HANG`] becomes once the kubelet has stopped. It is no request: whoever restores the annotations of a Node after a power
/// cycle does not make the kubelet stop again.
const HANGING: &str = "hanging";

/// How the kubelet of a host is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kubelet {
    Runs,
    Hangs,
    Dead,
}

/// The kubelets that do not run, by host.
#[derive(Debug, Default)]
pub(crate) struct Kubelets {
    failed: Mutex<BTreeMap<ObjectKey, Kubelet>>,
}

impl Kubelets {
    /// The state of a kubelet, given what its Node asks for now.
    pub(super) fn state(&self, host: &ObjectKey, powered: bool, node: Option<&Node>) -> Kubelet {
        let mut failed = self.failed.lock();
        let known = failed.get(host).copied().unwrap_or(Kubelet::Runs);
        let next = next(known, powered, node);
        match next {
            Kubelet::Runs => failed.remove(host),
            Kubelet::Hangs | Kubelet::Dead => failed.insert(host.clone(), next),
        };
        next
    }

    /// A host without power starts its kubelet again, unless that is dead.
    fn lost_power(&self, host: &ObjectKey) {
        let mut failed = self.failed.lock();
        if failed.get(host) == Some(&Kubelet::Hangs) {
            failed.remove(host);
        }
    }

    /// A host that runs no image has no kubelet.
    pub(crate) fn forget(&self, host: &ObjectKey) {
        self.failed.lock().remove(host);
    }
}

/// Follows the power of every host. It must be called before anybody is woken by hosts.
pub(crate) fn follow_power(caches: &Caches, kubelets: &Arc<Kubelets>) {
    let Some(store) = caches.store::<BareMetalHost>() else { return };
    let kubelets = Arc::clone(kubelets);
    store.subscribe(move |change| match (change.old.as_deref(), change.new.as_deref()) {
        (_, Some(new)) if new.state() != PROVISIONED => kubelets.forget(&new.key()),
        (Some(old), Some(new)) if is_powered(old) && !is_powered(new) => kubelets.lost_power(&new.key()),
        (Some(old), None) => kubelets.forget(&old.key()),
        _ => {}
    });
}

pub(super) fn is_powered(host: &BareMetalHost) -> bool {
    host.status.as_ref().is_some_and(|status| status.powered_on)
}

/// A Node that is there decides: without the annotation its kubelet runs. Without a Node the kubelet stays as it is.
fn next(known: Kubelet, powered: bool, node: Option<&Node>) -> Kubelet {
    let Some(node) = node else { return known };
    match node.metadata.annotation(FAIL) {
        Some(DEAD) => Kubelet::Dead,
        Some(HANG) if powered => Kubelet::Hangs,
        Some(HANG | HANGING) => known,
        _ => Kubelet::Runs,
    }
}

/// Writes the state of the kubelet into the annotation: a request that was followed is none any more.
pub(super) fn annotate(node: &mut Node, kubelet: Kubelet) {
    let Some(annotations) = &mut node.metadata.annotations else { return };
    let written = annotations.get(FAIL).map(String::as_str);
    match (kubelet, written) {
        (Kubelet::Hangs, Some(HANG)) => drop(annotations.insert(FAIL.to_owned(), HANGING.to_owned())),
        (Kubelet::Runs, Some(HANGING)) => drop(annotations.remove(FAIL)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(value: Option<&str>) -> Node {
        let annotations = value.map(|value| json!({FAIL: value}));
        serde_json::from_value(json!({"metadata": {"name": "n", "annotations": annotations}})).unwrap()
    }

    #[test]
    fn a_kubelet_fails_as_its_node_asks_and_stays_as_it_is_without_a_node() {
        use Kubelet::{Dead, Hangs, Runs};
        let rows = [
            // (known, powered, the annotation of the Node if there is one, next)
            (Runs, true, Some(None), Runs),
            (Runs, true, Some(Some(HANG)), Hangs),
            (Runs, false, Some(Some(HANG)), Runs),
            (Runs, true, Some(Some(DEAD)), Dead),
            (Runs, true, Some(Some(HANGING)), Runs),
            (Runs, true, Some(Some("unheard of")), Runs),
            (Hangs, true, Some(Some(HANGING)), Hangs),
            (Hangs, true, Some(Some(DEAD)), Dead),
            (Hangs, true, Some(None), Runs),
            (Hangs, true, None, Hangs),
            (Dead, true, None, Dead),
            (Dead, true, Some(None), Runs),
            (Runs, true, None, Runs),
        ];
        for (known, powered, annotation, expected) in rows {
            let found = next(known, powered, annotation.map(node).as_ref());
            assert_eq!(found, expected, "{known:?} {powered} {annotation:?}");
        }
    }

    #[test]
    fn power_brings_a_hanging_kubelet_back_and_a_dead_one_never() {
        let (kubelets, host) = (Kubelets::default(), ObjectKey::new("metal3", "host-1"));
        for (value, after) in [(HANG, Kubelet::Runs), (DEAD, Kubelet::Dead)] {
            kubelets.state(&host, true, Some(&node(Some(value))));
            kubelets.lost_power(&host);
            assert_eq!(kubelets.state(&host, true, None), after, "{value}");
        }
        kubelets.forget(&host);
        assert_eq!(kubelets.state(&host, true, None), Kubelet::Runs);
    }

    #[test]
    fn a_request_that_was_followed_is_none_any_more_and_goes_with_the_failure() {
        let after = |value: &str, kubelet| {
            let mut node = node(Some(value));
            annotate(&mut node, kubelet);
            node.metadata.annotation(FAIL).map(str::to_owned)
        };
        assert_eq!(after(HANG, Kubelet::Hangs).as_deref(), Some(HANGING));
        assert_eq!(after(HANGING, Kubelet::Hangs).as_deref(), Some(HANGING));
        assert_eq!(after(HANGING, Kubelet::Runs), None);
        assert_eq!(after(DEAD, Kubelet::Dead).as_deref(), Some(DEAD));
    }
}
