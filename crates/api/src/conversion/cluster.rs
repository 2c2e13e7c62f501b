//! Metal3Cluster and its template: failure domains are a map in v1beta1 and a list in v1beta2; `noCloudProvider` is
//! the opposite of `cloudProviderEnabled`.

use serde_json::Value;

use super::{
    json::{Object, child, drop_zero, ensured, set_default, take},
    status,
};

/// v1beta1 to v1beta2.
pub(super) fn up(cluster: &mut Object) {
    if let Some(spec) = child(cluster, "spec") {
        spec_up(spec);
    }
    if let Some(status) = child(cluster, "status") {
        domains_up(status);
        status::up(status);
    }
}

/// v1beta2 to v1beta1.
pub(super) fn down(cluster: &mut Object) {
    if let Some(spec) = ensured(cluster, "spec") {
        spec_down(spec);
    }
    if let Some(status) = ensured(cluster, "status") {
        domains_down(status);
        status::down(status);
    }
}

/// v1beta1 to v1beta2.
pub(super) fn template_up(template: &mut Object) {
    if let Some(spec) = resource(template).and_then(|it| child(it, "spec")) {
        spec_up(spec);
    }
}

/// v1beta2 to v1beta1, which has no place for labels and annotations of the clusters.
pub(super) fn template_down(template: &mut Object) {
    let Some(resource) = resource(template) else { return };
    take(resource, "metadata");
    if let Some(spec) = ensured(resource, "spec") {
        spec_down(spec);
    }
}

/// Failure domains come back in the order in which they were stored, unless one says `controlPlane: false`: then all of
/// them come back as v1beta1 shows them, by name and without that member.
pub(super) fn settle(stored: &mut Object) {
    for part in ["spec", "status"] {
        settle_domains(child(stored, part));
    }
}

/// As [`settle`].
pub(super) fn template_settle(stored: &mut Object) {
    settle_domains(resource(stored).and_then(|it| child(it, "spec")));
}

fn settle_domains(holder: Option<&mut Object>) {
    let Some(Value::Array(domains)) = holder.and_then(|it| it.get_mut("failureDomains")) else { return };
    if domains.iter().any(|domain| domain.get("controlPlane") == Some(&Value::Bool(false))) {
        for domain in domains.iter_mut().filter_map(Value::as_object_mut) {
            drop_zero(domain, &["controlPlane"]);
        }
        domains.sort_by(|a, b| name_of(a).cmp(name_of(b)));
    }
}

fn name_of(domain: &Value) -> &str {
    domain.get("name").and_then(Value::as_str).unwrap_or_default()
}

fn resource(template: &mut Object) -> Option<&mut Object> {
    child(template, "spec").and_then(|it| child(it, "template"))
}

fn spec_up(spec: &mut Object) {
    let without = take(spec, "noCloudProvider");
    drop_null(spec, "cloudProviderEnabled");
    if let Some(Value::Bool(without)) = without {
        set_default(spec, "cloudProviderEnabled", !without);
    }
    if let Some(endpoint) = child(spec, "controlPlaneEndpoint") {
        drop_zero(endpoint, &["host", "port"]);
    }
    drop_zero(spec, &["controlPlaneEndpoint"]);
    domains_up(spec);
}

fn spec_down(spec: &mut Object) {
    if let Some(endpoint) = ensured(spec, "controlPlaneEndpoint") {
        set_default(endpoint, "host", "");
        set_default(endpoint, "port", 0);
    }
    if let Some(Value::Bool(enabled)) = spec.get("cloudProviderEnabled") {
        let without = !enabled;
        spec.insert("noCloudProvider".to_owned(), Value::Bool(without));
    }
    domains_down(spec);
}

fn domains_up(holder: &mut Object) {
    if let Some(domains) = child(holder, "failureDomains") {
        let mut names: Vec<String> = domains.keys().cloned().collect();
        names.sort();
        let named = |name: String| {
            let mut domain = Object::new();
            let members = take(domains, &name).and_then(|it| it.as_object().cloned());
            domain.insert("name".to_owned(), Value::String(name));
            domain.extend(members.into_iter().flatten().filter(|(member, _)| member != "name"));
            drop_zero(&mut domain, &["controlPlane", "attributes"]);
            Value::Object(domain)
        };
        let list = names.into_iter().map(named).collect();
        holder.insert("failureDomains".to_owned(), Value::Array(list));
    }
    drop_zero(holder, &["failureDomains"]);
}

fn domains_down(holder: &mut Object) {
    if let Some(Value::Array(list)) = holder.get("failureDomains") {
        let named = |domain: &Value| {
            let mut domain = domain.as_object()?.clone();
            let name = take(&mut domain, "name")?.as_str()?.to_owned();
            drop_zero(&mut domain, &["controlPlane", "attributes"]);
            Some((name, Value::Object(domain)))
        };
        let domains: Object = list.iter().filter_map(named).collect();
        holder.insert("failureDomains".to_owned(), Value::Object(domains));
    }
    drop_zero(holder, &["failureDomains"]);
}

fn drop_null(object: &mut Object, name: &str) {
    if object.get(name).is_some_and(Value::is_null) {
        take(object, name);
    }
}
