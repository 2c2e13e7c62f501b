//! Making a machine: bootstrap object, infrastructure object and Machine, in this order and under one name.
//!
//! A crash may leave the first of them without the rest. Then the owner finds them by their owner reference and
//! completes them under the same name, so that nothing is left behind.

use std::collections::BTreeMap;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::ContractRef,
    v1beta2::{GROUP, Metal3Machine},
    vocabulary::{MACHINE_TEMPLATE_GROUP_KIND, annotation},
};
use capm3_engine::{Object, ObjectKey, Plan, Reader, ResourceKind, rng::Rng};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use serde_json::{Map, Value, json};

use crate::{
    indexes::{CONFIGS_BY_OWNER, INFRASTRUCTURE_BY_OWNER},
    kinds::{BOOTSTRAP_GROUP, KubeadmConfig, Machine, MachineSpec, Metal3MachineTemplate, PassedOn},
};

/// Longest name, and how much of a longer one is kept before the suffix.
const LONGEST_NAME: usize = 63;
const KEPT_OF_LONG_NAME: usize = 58;

/// A name with a random suffix.
pub(super) fn name(base: &str, rng: &Rng) -> String {
    let base = format!("{base}-");
    let kept: String = base.chars().take(KEPT_OF_LONG_NAME.min(LONGEST_NAME - 5)).collect();
    format!("{kept}{}", rng.suffix())
}

/// Objects of a machine that was begun and not completed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Begun {
    pub(super) name: String,
    pub(super) has_config: bool,
    pub(super) has_infrastructure: bool,
}

/// What a machine is made from.
pub(super) struct Order<'a> {
    pub(super) namespace: &'a str,
    /// Set or control plane, as controller.
    pub(super) owner: OwnerReference,
    pub(super) metadata: PassedOn,
    /// The Machine's spec; its references are filled in.
    pub(super) spec: MachineSpec,
    pub(super) config: Option<Config>,
    pub(super) template: &'a Metal3MachineTemplate,
}

/// The bootstrap object to make.
pub(super) struct Config {
    pub(super) spec: Map<String, Value>,
    pub(super) metadata: PassedOn,
    /// Template from which it is copied.
    pub(super) cloned_from: Option<String>,
}

/// Machines that an owner began: made by it, and no Machine of that name yet.
pub(super) fn begun(reader: &impl Reader, owner_uid: &str) -> Vec<Begun> {
    let mut found: BTreeMap<String, Begun> = BTreeMap::new();
    let configs = reader.by_index(&CONFIGS_BY_OWNER, owner_uid);
    for key in configs.iter().filter(|c| !c.metadata.is_deleting()).map(|c| c.key()) {
        if reader.get::<Machine>(&key).is_none() {
            found.entry(key.name).or_default().has_config = true;
        }
    }
    let machines = reader.by_index(&INFRASTRUCTURE_BY_OWNER, owner_uid);
    for key in machines.iter().filter(|m| !m.metadata.is_deleting()).map(|m| m.key()) {
        if reader.get::<Machine>(&key).is_none() {
            found.entry(key.name).or_default().has_infrastructure = true;
        }
    }
    found.into_iter().map(|(name, begun)| Begun { name, ..begun }).collect()
}

/// Adds whatever is missing of a machine.
pub(super) fn add(plan: &mut Plan, order: Order<'_>, begun: &Begun) {
    let key = ObjectKey::new(order.namespace, begun.name.clone());
    let mut spec = order.spec;
    if let Some(config) = &order.config {
        if !begun.has_config {
            plan.create_value(
                ResourceKind::of::<KubeadmConfig>(),
                key.clone(),
                config_object(&key, &order.owner, &order.metadata, config),
            );
        }
        spec.bootstrap.config_ref = Some(reference(BOOTSTRAP_GROUP, "KubeadmConfig", &key.name));
        spec.bootstrap.data_secret_name = None;
    }
    if !begun.has_infrastructure {
        let object = infrastructure_object(&key, &order.owner, &order.metadata, order.template);
        plan.create_value(ResourceKind::of::<Metal3Machine>(), key.clone(), object);
    }
    spec.infrastructure_ref = Some(reference(GROUP, "Metal3Machine", &key.name));
    let object = json!({
        "metadata": {"name": key.name, "namespace": key.namespace, "labels": order.metadata.labels,
            "annotations": order.metadata.annotations, "ownerReferences": [order.owner]},
        "spec": spec,
    });
    plan.create_value(ResourceKind::of::<Machine>(), key, object);
}

fn config_object(key: &ObjectKey, owner: &OwnerReference, machine: &PassedOn, config: &Config) -> Value {
    let mut metadata = join(&config.metadata, machine);
    if let Some(template) = &config.cloned_from {
        let kind = format!("KubeadmConfigTemplate.{BOOTSTRAP_GROUP}");
        metadata.annotations.insert(annotation::CLONED_FROM_NAME.to_owned(), template.clone());
        metadata.annotations.insert(annotation::CLONED_FROM_GROUP_KIND.to_owned(), kind);
    }
    copied(key, owner, metadata, &config.spec)
}

fn infrastructure_object(
    key: &ObjectKey,
    owner: &OwnerReference,
    machine: &PassedOn,
    template: &Metal3MachineTemplate,
) -> Value {
    let resource = &template.spec.template;
    let mut metadata = join(&resource.metadata, machine);
    let (name, kind) = (template.metadata.name_str(), MACHINE_TEMPLATE_GROUP_KIND);
    metadata.annotations.insert(annotation::CLONED_FROM_NAME.to_owned(), name.to_owned());
    metadata.annotations.insert(annotation::CLONED_FROM_GROUP_KIND.to_owned(), kind.to_owned());
    copied(key, owner, metadata, &resource.spec)
}

/// What a template passes on, with the Machine's labels over it. Hooks hold the Machine back, not its parts.
fn join(template: &PassedOn, machine: &PassedOn) -> PassedOn {
    let mut joined = template.clone();
    joined.labels.extend(machine.labels.clone());
    let passed = machine.annotations.iter().filter(|(key, _)| !key.starts_with(super::PRE_TERMINATE));
    joined.annotations.extend(passed.map(|(key, value)| (key.clone(), value.clone())));
    joined
}

/// The maker owns what it made until the Machine takes it over, but is not its controller.
fn copied(key: &ObjectKey, owner: &OwnerReference, metadata: PassedOn, spec: &Map<String, Value>) -> Value {
    let owner = OwnerReference { controller: None, block_owner_deletion: None, ..owner.clone() };
    json!({
        "metadata": {"name": key.name, "namespace": key.namespace, "labels": metadata.labels,
            "annotations": metadata.annotations, "ownerReferences": [owner]},
        "spec": spec,
    })
}

fn reference(group: &str, kind: &str, name: &str) -> ContractRef {
    ContractRef {
        api_group: Some(group.to_owned()),
        kind: Some(kind.to_owned()),
        name: Some(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_is_cut_to_make_room_for_the_suffix() {
        let rng = Rng::seeded(1);
        let short = name("md-0", &rng);
        assert!(short.starts_with("md-0-") && short.len() == 10, "{short}");
        assert_eq!(name(&"x".repeat(80), &rng).len(), LONGEST_NAME);
    }

    #[test]
    fn a_begun_machine_is_completed_and_nothing_is_made_twice() {
        let template: Metal3MachineTemplate = serde_json::from_value(
            json!({"metadata": {"name": "t"}, "spec": {"template": {"spec": {"image": {"url": "u"}}}}}),
        )
        .unwrap();
        let order = |config| Order {
            namespace: "metal3",
            owner: OwnerReference {
                kind: "MachineSet".into(),
                controller: Some(true),
                ..OwnerReference::default()
            },
            metadata: PassedOn::default(),
            spec: MachineSpec::default(),
            config,
            template: &template,
        };
        let config = || Some(Config { spec: Map::new(), metadata: PassedOn::default(), cloned_from: None });
        let rows = [
            (Begun::default(), config(), "KubeadmConfig Metal3Machine Machine"),
            (Begun { has_config: true, ..Begun::default() }, config(), "Metal3Machine Machine"),
            (Begun { has_infrastructure: true, has_config: true, ..Begun::default() }, config(), "Machine"),
            (Begun::default(), None, "Metal3Machine Machine"),
        ];
        for (begun, config, expected) in rows {
            let mut plan = Plan::done();
            add(&mut plan, order(config), &begun);
            let kinds: Vec<String> = plan
                .writes
                .iter()
                .map(|w| match w {
                    capm3_engine::Write::Create { kind, .. } => kind.kind.clone(),
                    other => other.to_string(),
                })
                .collect();
            assert_eq!(kinds.join(" "), expected);
        }
    }
}
