//! A healthy fleet to plant contradictions in.

use std::collections::BTreeMap;

use capm3_api::{
    neighbours::{BareMetalHost, Machine},
    v1beta2::{Metal3Data, Metal3DataTemplate, Metal3Machine},
};
use capm3_domain::render::{Address, Inputs, Objects, digest, inputs_digest, render_meta_data};
use capm3_lab::finished::{address, finished};
use capm3_provider::audit::{Inventory, Options, Report, Rule, audit_by};
use jiff::SignedDuration;
use serde_json::{Value, json};

/// Objects that are changed before they are judged.
#[derive(Clone)]
pub struct Site(pub Vec<Value>);

impl Site {
    /// A fleet without contradictions, its Secrets marked as the provider does.
    pub fn healthy(machines: usize) -> Self {
        let mut site = Self(finished(machines));
        let template = serde_json::from_value(site.get("Metal3DataTemplate", "t").clone()).unwrap();
        let mut by_kind: BTreeMap<&str, BTreeMap<&str, &Value>> = BTreeMap::new();
        for object in &site.0 {
            let (kind, name) =
                (object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap());
            by_kind.entry(kind).or_default().insert(name, object);
        }
        let marks: BTreeMap<String, Value> = (0..machines)
            .map(|number| (format!("m-{number}-metadata"), mark(&template, &by_kind, number)))
            .collect();
        let mut marked = 0;
        for object in site.0.iter_mut().filter(|object| object["kind"] == "Secret") {
            if let Some(mark) = marks.get(object["metadata"]["name"].as_str().unwrap()) {
                object["metadata"]["annotations"] = mark.clone();
                marked += 1;
            }
        }
        assert_eq!(marked, machines);
        site
    }

    pub fn get(&self, kind: &str, name: &str) -> &Value {
        let mut found = self.0.iter().filter(|object| is(object, kind, name));
        found.next().unwrap_or_else(|| panic!("no {kind} {name}"))
    }

    /// Merges a patch into an object.
    pub fn change(&mut self, kind: &str, name: &str, patch: Value) {
        let found = self.0.iter_mut().find(|object| is(object, kind, name));
        json_patch::merge(found.unwrap_or_else(|| panic!("no {kind} {name}")), &patch);
    }

    /// Leaves an object out.
    pub fn remove(&mut self, kind: &str, name: &str) {
        let before = self.0.len();
        self.0.retain(|object| !is(object, kind, name));
        assert_eq!(self.0.len() + 1, before, "{kind} {name}");
    }

    /// Adds an object, with metadata besides its name.
    pub fn add(&mut self, api_version: &str, kind: &str, name: &str, metadata: Value, rest: Value) {
        let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "metal3",
            "uid": format!("<uid of {kind} {name}>"), "resourceVersion": "1"}});
        json_patch::merge(&mut object, &json!({ "metadata": metadata }));
        json_patch::merge(&mut object, &rest);
        self.0.push(object);
    }

    /// The objects as the audit keeps them, every kind known.
    pub fn inventory(&self) -> Inventory {
        let mut inventory = Inventory::default();
        for object in &self.0 {
            inventory.add(object).unwrap();
        }
        for (kind, _) in Inventory::kinds() {
            inventory.mark_complete(&kind.group, &kind.kind);
        }
        inventory
    }

    /// What some rules find, however young the objects are.
    pub fn judged_by<'r>(&self, rules: impl IntoIterator<Item = &'r Rule>) -> Report {
        audit_by(rules, &self.inventory(), &options())
    }
}

/// The present, and no grace.
pub fn options() -> Options {
    Options { now: "2026-06-01T00:00:00Z".parse().unwrap(), grace: SignedDuration::ZERO }
}

fn is(object: &Value, kind: &str, name: &str) -> bool {
    object["kind"] == kind && object["metadata"]["name"] == name
}

/// The annotations of a rendered Secret.
fn mark(
    template: &Metal3DataTemplate,
    objects: &BTreeMap<&str, BTreeMap<&str, &Value>>,
    number: usize,
) -> Value {
    let object = |kind: &str, name: String| objects[kind][name.as_str()].clone();
    let metal3: Metal3Machine =
        serde_json::from_value(object("Metal3Machine", format!("m-{number}"))).unwrap();
    let machine: Machine = serde_json::from_value(object("Machine", format!("m-{number}"))).unwrap();
    let host: BareMetalHost = serde_json::from_value(object("BareMetalHost", format!("h-{number}"))).unwrap();
    let data: Metal3Data = serde_json::from_value(object("Metal3Data", format!("t-{number}"))).unwrap();
    let given = Address {
        address: address(number),
        prefix: Some(8),
        gateway: String::new(),
        dns_servers: Vec::new(),
    };
    let addresses = BTreeMap::from([("p".to_owned(), given)]);
    let objects = Objects { metal3_machine: Some(&metal3), machine: Some(&machine), host: Some(&host) };
    let inputs = Inputs { data: &data, objects, addresses: &addresses };
    let document = render_meta_data(template.spec.meta_data.as_ref().unwrap(), &inputs).unwrap();
    json!({"capm3.metal3.io/content-digest": digest(&document),
        "capm3.metal3.io/inputs-digest": inputs_digest(&template.spec, &inputs)})
}
