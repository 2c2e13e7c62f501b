//! Values that older documents write in another form than v1beta2, each with the rule that brings it over.

use serde_json::Value;

use super::{draft::Draft, path::Path};

mod cluster;
mod network;
mod seconds;
mod selector;

pub(super) use seconds::timeout as seconds;

/// A rule for the values at some paths. It leaves a value in the new form alone.
type Rule = fn(&mut Draft<'_>, &Path);

/// Where each rule holds; see `Path::ends_with`.
const RULES: &[(&str, Rule)] = &[
    ("networkData.links.bonds.bondMode", network::bond_mode),
    ("networkData.links.bonds.parameters", network::bond_parameters),
    ("networkData.networks.*.prefix", network::prefix),
    ("networkData.networks.*.routes.prefix", network::prefix),
    ("networkData.networks.*.routes.gateway", network::gateway),
    ("networkData.networks.*.routes.services", network::services),
    ("networkData.services", network::services),
    ("metaData.indexes.step", network::step),
    ("metaData.ipAddresses.step", network::step),
    ("networkData.networks.*.ipAddress.step", network::step),
    ("hostSelector.matchLabels", selector::match_labels),
    ("hostSelector.matchExpressions", selector::match_expressions),
    ("hostSelector.matchExpressions.values", selector::values),
    (".spec.failureDomains", cluster::failure_domains),
    (".spec.template.spec.failureDomains", cluster::failure_domains),
    ("strategy.timeoutSeconds", seconds::timeout),
];

/// Brings the value at this path to its new form. Rules are about members; patterns do not count list positions, so
/// the items of a list have the path of their list.
pub(super) fn apply(draft: &mut Draft<'_>, path: &Path) {
    if path.split_key().is_none() {
        return;
    }
    for (pattern, rule) in RULES {
        if path.ends_with(pattern) {
            rule(draft, path);
        }
    }
}

/// What form a value has.
pub(super) fn of(value: &Value) -> &'static str {
    match value {
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
        _ => "one value",
    }
}
