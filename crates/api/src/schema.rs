//! From a Rust type to a schema that an API server accepts.
//!
//! A derived schema is not yet a Kubernetes one: `nullable`, `title`, integer formats and references are normalised
//! away in one pass, so that an API server prunes, defaults and validates as the types say. The transforms are what
//! the types name in their attributes where an attribute alone cannot say it.

use schemars::{JsonSchema, Schema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// An IPv4 address.
const IPV4: &str = r"^((([0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5])\.){3}([0-9]|[1-9][0-9]|1[0-9]{2}|2[0-4][0-9]|25[0-5]))$";
/// An IPv6 address.
const IPV6: &str = "^(([0-9a-fA-F]{1,4}:){7,7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|\
([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){1,2}|\
([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){1,3}|([0-9a-fA-F]{1,4}:){1,3}(:[0-9a-fA-F]{1,4}){1,4}|\
([0-9a-fA-F]{1,4}:){1,2}(:[0-9a-fA-F]{1,4}){1,5}|[0-9a-fA-F]{1,4}:((:[0-9a-fA-F]{1,4}){1,6})|\
:((:[0-9a-fA-F]{1,4}){1,7}|:))$";

/// An amount of a resource.
const QUANTITY: &str = r"^[0-9]+(\.[0-9]+)?([KMGTPE]i|[numkMGTPE]|[eE][0-9]+)?$";

/// The schema of a type as an API server accepts it.
pub fn structural_schema<T: JsonSchema>() -> Value {
    let mut settings = SchemaSettings::openapi3();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    normalise(&mut schema);
    schema
}

/// An integer of any size.
pub(crate) fn plain_integer(schema: &mut Schema) {
    schema.remove("format");
}

/// A map of integers of any size.
pub(crate) fn plain_integers(schema: &mut Schema) {
    if let Some(Value::Object(values)) = schema.get_mut("additionalProperties") {
        values.remove("format");
    }
}

/// A map of quantities, as text: who reads capacity expects nothing else.
pub(crate) fn quantities(schema: &mut Schema) {
    if let Some(Value::Object(values)) = schema.get_mut("additionalProperties") {
        values.insert("pattern".to_owned(), QUANTITY.into());
    }
}

/// A map of any values.
pub(crate) fn free_values(schema: &mut Schema) {
    schema.insert("additionalProperties".to_owned(), json!({"x-kubernetes-preserve-unknown-fields": true}));
}

/// A reference that needs a name.
pub(crate) fn named(schema: &mut Schema) {
    if let Some(name) = schema.pointer_mut("/properties/name").and_then(Value::as_object_mut) {
        name.insert("x-required".to_owned(), Value::Bool(true));
    }
}

/// A route that gives its prefix length once, or twice the same.
pub(crate) fn one_prefix(schema: &mut Schema) {
    let rule = json!([{
        "rule": "!has(self.netmask) || !has(self.prefix) || self.netmask == self.prefix",
        "message": "netmask is the older name of prefix: give one of them, or both with the same value",
    }]);
    schema.insert("x-kubernetes-validations".to_owned(), rule);
}

/// An address of either family.
pub(crate) fn address(schema: &mut Schema) {
    schema.insert("pattern".to_owned(), either(IPV4, IPV6).into());
}

/// Services whose DNS servers are of either family.
pub(crate) fn services(schema: &mut Schema) {
    if let Some(Value::Object(server)) = schema.pointer_mut("/properties/dns/items") {
        server.insert("pattern".to_owned(), either(IPV4, IPV6).into());
    }
}

/// The older failure fields with a limit for the message.
pub(crate) fn limited_failure_message(schema: &mut Schema) {
    let message = schema.pointer_mut("/properties/v1beta1/properties/failureMessage");
    if let Some(Value::Object(message)) = message {
        message.insert("minLength".to_owned(), json!(0));
        message.insert("maxLength".to_owned(), json!(1024));
    }
}

/// A list or a map of addresses of either family.
pub(crate) fn addresses(schema: &mut Schema) {
    for word in ["items", "additionalProperties"] {
        if let Some(Value::Object(item)) = schema.get_mut(word) {
            item.insert("pattern".to_owned(), either(IPV4, IPV6).into());
        }
    }
}

/// A subnet of either family.
pub(crate) fn subnet(schema: &mut Schema) {
    let v4 = IPV4.replace('$', "/([0-9]|[1-2][0-9]|3[0-2])$");
    let v6 = IPV6.replace('$', "/([0-9]|[0-9][0-9]|1[0-1][0-9]|12[0-8])$");
    schema.insert("pattern".to_owned(), either(&v4, &v6).into());
}

fn either(v4: &str, v6: &str) -> String {
    format!("(({v4})|({v6}))")
}

/// Networks of IPv4.
pub(crate) fn ipv4(schema: &mut Schema) {
    family(schema, IPV4, 32);
}

/// Networks of IPv6.
pub(crate) fn ipv6(schema: &mut Schema) {
    family(schema, IPV6, 128);
}

fn family(networks: &mut Schema, pattern: &str, bits: u8) {
    for (path, word, value) in [
        ("/items/properties/prefix", "maximum", json!(bits)),
        (ROUTE_NETWORK, "pattern", json!(pattern)),
        (ROUTE_PREFIX, "maximum", json!(bits)),
        (ROUTE_NETMASK, "maximum", json!(bits)),
        (ROUTE_GATEWAY, "pattern", json!(pattern)),
        (ROUTE_DNS, "pattern", json!(pattern)),
    ] {
        if let Some(Value::Object(schema)) = networks.pointer_mut(path) {
            schema.insert(word.to_owned(), value);
        }
    }
}

const ROUTE_NETWORK: &str = "/items/properties/routes/items/properties/network";
const ROUTE_PREFIX: &str = "/items/properties/routes/items/properties/prefix";
const ROUTE_NETMASK: &str = "/items/properties/routes/items/properties/netmask";
const ROUTE_GATEWAY: &str = "/items/properties/routes/items/properties/gateway/properties/string";
const ROUTE_DNS: &str = "/items/properties/routes/items/properties/services/properties/dns/items";

/// Formats that Kubernetes knows; the others are Rust's own and say nothing to a user.
const KNOWN_FORMATS: [&str; 4] = ["date-time", "uri", "int32", "int64"];

fn normalise(schema: &mut Value) {
    let Some(map) = schema.as_object_mut() else { return };
    for word in ["nullable", "title", "components", "$schema"] {
        map.remove(word);
    }
    if map.get("format").and_then(Value::as_str).is_some_and(|f| !KNOWN_FORMATS.contains(&f)) {
        map.remove("format");
    }
    // Line breaks of the source are no paragraphs.
    if let Some(Value::String(text)) = map.get_mut("description") {
        *text = text.replace("\n\n", "\u{0}").replace('\n', " ").replace('\u{0}', "\n\n");
    }
    drop_serde_default(map);
    hoist_required(map);
    for (word, child) in map.iter_mut() {
        match word.as_str() {
            "properties" => child.as_object_mut().into_iter().flat_map(Map::values_mut).for_each(normalise),
            "items" | "additionalProperties" => normalise(child),
            _ => {}
        }
    }
}

/// Members that readers tolerate absent (`#[serde(default)]`) but that the API requires carry the mark `x-required`;
/// here the marks become the `required` list.
fn hoist_required(map: &mut Map<String, Value>) {
    let Some(properties) = map.get_mut("properties").and_then(Value::as_object_mut) else {
        return;
    };
    let mut required = Vec::new();
    for (name, property) in properties.iter_mut() {
        if property.as_object_mut().is_some_and(|p| p.remove("x-required").is_some()) {
            required.push(Value::String(name.clone()));
        }
    }
    map.remove("required");
    if !required.is_empty() {
        map.insert("required".to_owned(), Value::Array(required));
    }
}

/// `#[serde(default)]` shows up as a default; a server-side default is only what a schema attribute says, and those
/// are never null, empty text, zero, an empty list or an empty object.
fn drop_serde_default(map: &mut Map<String, Value>) {
    let empty = match map.get("default") {
        Some(Value::Null) => true,
        Some(Value::String(s)) => s.is_empty(),
        Some(Value::Number(n)) => n.as_i64() == Some(0),
        Some(Value::Array(_) | Value::Object(_)) => true,
        _ => false,
    };
    if empty {
        map.remove("default");
    }
}
