//! Values that v1beta2 has here and that the schema of the reference implementation refuses.

use serde_json::Value;

use super::{super::draft::Draft, items};
use crate::migrate::path::Path;

/// Older version in which the reference implementation takes what its v1beta2 refuses.
const OLDER: &str = "the document in the form of v1beta1, which the reference implementation takes";

const MAC: &str = "macAddress with string, fromHostInterface or fromAnnotation";

/// Most ethernets of a template there.
const ETHERNETS: usize = 32;

/// Says what a data template has and could not have there.
pub(super) fn in_data_template(draft: &mut Draft<'_>) {
    let links = Path::of("spec.networkData.links");
    for list in ["ethernets", "bonds", "vlans"] {
        for link in items(draft, &links.key(list)) {
            if link.key("macAddress").find(&draft.value).is_none() {
                refuse(draft, &link, "a link without macAddress", MAC);
            }
        }
    }
    for bond in items(draft, &links.key("bonds")) {
        parameters(draft, &bond.key("parameters"));
    }
    if items(draft, &links.key("ethernets")).len() > ETHERNETS {
        refuse(draft, &links.key("ethernets"), "more than 32 ethernets", OLDER);
    }
    repeated(draft, &links.key("vlans"), "vlanID", "a VLAN on two links");
    for list in ["ipv4", "ipv6", "ipv4DHCP", "ipv6DHCP", "ipv6SLAAC"] {
        for network in items(draft, &Path::of("spec.networkData.networks").key(list)) {
            repeated(draft, &network.key("routes"), "network", "two routes to one network");
        }
    }
    for item in items(draft, &Path::of("spec.metaData.strings")) {
        if item.key("value").find(&draft.value).is_some_and(|value| value == "") {
            refuse(draft, &item.key("value"), "an empty text", OLDER);
        }
    }
}

/// Says what the selector of a machine, or of its template, has and could not have there.
pub(super) fn in_machine(draft: &mut Draft<'_>, spec: &str) {
    let expressions = Path::of(spec).key("hostSelector").key("matchExpressions");
    repeated(draft, &expressions, "key", "two expressions about one label");
}

/// A bond has parameters there, each of them an object.
fn parameters(draft: &mut Draft<'_>, path: &Path) {
    let parameters = items(draft, path);
    if parameters.is_empty() {
        let (bond, _) = path.split_key().unwrap_or_default();
        refuse(draft, &bond, "a bond without parameters", OLDER);
    }
    for value in parameters.into_iter().map(|parameter| parameter.key("value")) {
        if value.find(&draft.value).is_some_and(|value| !value.is_object()) {
            refuse(draft, &value, "a parameter of a bond that is no object", OLDER);
        }
    }
}

/// Items of a list that must differ in a member there.
fn repeated(draft: &mut Draft<'_>, list: &Path, member: &str, what: &str) {
    let mut seen: Vec<Value> = Vec::new();
    for at in items(draft, list).into_iter().map(|item| item.key(member)) {
        match at.find(&draft.value).cloned() {
            Some(value) if seen.contains(&value) => refuse(draft, &at, what, OLDER),
            value => seen.extend(value),
        }
    }
}

fn refuse(draft: &mut Draft<'_>, at: &Path, what: &str, proposal: &str) {
    if !draft.is_disputed(at) {
        let message = format!("the reference implementation refuses {what} in v1beta2");
        draft.error(at, message, Some(proposal.to_owned()));
    }
}
