//! Which labels would make a host match the selector of a machine, and whether it lacks anything else.

use std::collections::BTreeMap;

use capm3_api::{
    neighbours::BareMetalHost,
    v1beta2::{HostSelector, HostSelectorRequirement},
};
use capm3_domain::host::{Eligibility, Rejection, Selector};

/// What labels would do for a host that does not match.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Relabelled {
    /// The machine can have it; what to give to `kubectl label`.
    Usable(Vec<String>),
    /// The machine still cannot have it.
    Blocked(Rejection),
    /// No labels follow from the selector.
    Unknown,
}

/// Labels a host as the selector asks and judges it again.
pub(super) fn relabel(
    selector: &HostSelector,
    host: &BareMetalHost,
    judge: impl Fn(&BareMetalHost) -> Eligibility,
) -> Relabelled {
    let mut labelled = host.clone();
    let labels = labelled.metadata.labels.get_or_insert_default();
    let Some(changes) = changed_labels(selector, labels) else { return Relabelled::Unknown };
    match judge(&labelled) {
        Eligibility::Free | Eligibility::Reserved => Relabelled::Usable(changes),
        Eligibility::Rejected(Rejection::LabelMismatch { .. }) => Relabelled::Unknown,
        Eligibility::Rejected(rejection) => Relabelled::Blocked(rejection),
        Eligibility::ReservedLater(state) => Relabelled::Blocked(Rejection::NotAvailable(state)),
        Eligibility::Own => Relabelled::Unknown,
    }
}

/// Makes the labels match, and returns the changes; `None` where a requirement leaves the value open.
fn changed_labels(selector: &HostSelector, labels: &mut BTreeMap<String, String>) -> Option<Vec<String>> {
    let plain = selector.match_labels.iter().map(|(key, value)| HostSelectorRequirement {
        key: key.clone(),
        operator: "=".to_owned(),
        values: vec![value.clone()],
    });
    let mut changes = Vec::new();
    for requirement in plain.chain(selector.match_expressions.iter().cloned()) {
        if holds(&requirement, labels)? {
            continue;
        }
        let HostSelectorRequirement { key, operator, values } = requirement;
        match operator.to_ascii_lowercase().as_str() {
            "=" | "==" | "in" => {
                let value = values.into_iter().next()?;
                changes.push(format!("{key}={value}"));
                labels.insert(key, value);
            }
            "!=" | "notin" | "!" | "doesnotexist" => {
                changes.push(format!("{key}-"));
                labels.remove(&key);
            }
            _ => return None,
        }
    }
    Some(changes)
}

fn holds(requirement: &HostSelectorRequirement, labels: &BTreeMap<String, String>) -> Option<bool> {
    let alone = HostSelector { match_expressions: vec![requirement.clone()], match_labels: BTreeMap::new() };
    Selector::compile(Some(&alone)).ok().map(|selector| selector.mismatch(Some(labels)).is_none())
}

#[cfg(test)]
mod tests {
    use capm3_api::{neighbours::Machine, v1beta2::Metal3Machine};
    use capm3_domain::host::{HostRequest, eligibility};
    use serde_json::{Value, json};

    use super::*;

    fn relabelled(selector: &Value, host: Value) -> Relabelled {
        let machine: Metal3Machine =
            serde_json::from_value(json!({"spec": {"hostSelector": selector}})).unwrap();
        let host: BareMetalHost = serde_json::from_value(host).unwrap();
        let capi = Machine::default();
        let request = HostRequest::new(&machine, &capi, None);
        relabel(machine.spec.host_selector.as_ref().unwrap(), &host, |host| eligibility(&request, host))
    }

    fn usable(labels: &[&str]) -> Relabelled {
        Relabelled::Usable(labels.iter().map(|&label| label.to_owned()).collect())
    }

    #[test]
    fn the_labels_that_a_host_lacks_follow_from_the_selector() {
        let expression = |operator: &str, values: &[&str]| json!({"matchExpressions": [{"key": "size", "operator": operator, "values": values}]});
        let labelled = |labels: Value| json!({"metadata": {"labels": labels}, "status": {"provisioning": {"state": "available"}}});
        let small = || labelled(json!({"size": "small"}));
        let both = json!({"matchLabels": {"size": "large", "rack": "one"}});
        let table = [
            (both.clone(), small(), usable(&["rack=one", "size=large"])),
            (both, labelled(json!({"size": "large"})), usable(&["rack=one"])),
            (expression("In", &["huge", "large"]), labelled(json!({})), usable(&["size=huge"])),
            (expression("notin", &["small"]), small(), usable(&["size-"])),
            (expression("DoesNotExist", &[]), small(), usable(&["size-"])),
            (expression("gt", &["3"]), small(), Relabelled::Unknown),
            (expression("exists", &[]), labelled(json!({})), Relabelled::Unknown),
        ];
        for (selector, host, expected) in table {
            assert_eq!(relabelled(&selector, host.clone()), expected, "{selector} {host}");
        }
    }

    #[test]
    fn a_host_with_more_in_its_way_is_not_called_usable() {
        let selector = json!({"matchLabels": {"size": "large"}});
        let paused = json!({"metadata": {"annotations": {"baremetalhost.metal3.io/paused": ""}},
            "status": {"provisioning": {"state": "available"}}});
        assert_eq!(relabelled(&selector, paused), Relabelled::Blocked(Rejection::Paused));
        let contrary = json!({"matchLabels": {"size": "large"},
            "matchExpressions": [{"key": "size", "operator": "notin", "values": ["large"]}]});
        let host = json!({"status": {"provisioning": {"state": "available"}}});
        assert_eq!(relabelled(&contrary, host), Relabelled::Unknown);
    }
}
