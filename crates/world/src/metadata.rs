//! Owners, finalizers, labels and conditions: the small changes that every controller makes.

use capm3_api::conditions::{Condition, Deprecated, LegacyCondition};
use capm3_engine::{Object, ObjectKey, ResourceKind};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::core::ObjectMeta;

/// `namespace/name`, the form in which indexes hold references.
pub(crate) fn path(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

/// Key of an object in the namespace of another.
pub(crate) fn beside<K: Object>(object: &K, name: &str) -> ObjectKey {
    ObjectKey::new(object.key().namespace, name)
}

/// A reference to an owner; a controller also blocks its owner's foreground deletion.
pub(crate) fn owner_reference<K: Object>(owner: &K, controller: bool) -> OwnerReference {
    OwnerReference {
        api_version: ResourceKind::of::<K>().api_version(),
        kind: K::kind(&()).into_owned(),
        name: owner.key().name,
        uid: owner.meta().uid.clone().unwrap_or_default(),
        controller: controller.then_some(true),
        block_owner_deletion: controller.then_some(true),
    }
}

/// Makes sure that an owner reference stands on an object.
pub(crate) fn add_owner(meta: &mut ObjectMeta, owner: OwnerReference) {
    let owners = meta.owner_references.get_or_insert_default();
    match owners.iter_mut().find(|known| known.uid == owner.uid) {
        Some(known) => *known = owner,
        None => owners.push(owner),
    }
}

/// Makes sure that a label stands on an object.
pub(crate) fn add_label(meta: &mut ObjectMeta, key: &str, value: &str) {
    let labels = meta.labels.get_or_insert_default();
    if labels.get(key).map(String::as_str) != Some(value) {
        labels.insert(key.to_owned(), value.to_owned());
    }
}

/// Makes sure that a finalizer stands on an object.
pub(crate) fn add_finalizer(meta: &mut ObjectMeta, finalizer: &str) {
    let finalizers = meta.finalizers.get_or_insert_default();
    if !finalizers.iter().any(|f| f == finalizer) {
        finalizers.push(finalizer.to_owned());
    }
}

/// Takes a finalizer off an object.
pub(crate) fn remove_finalizer(meta: &mut ObjectMeta, finalizer: &str) {
    if let Some(finalizers) = &mut meta.finalizers {
        finalizers.retain(|f| f != finalizer);
    }
}

/// The controller among the owners.
pub(crate) fn controller_of(meta: &ObjectMeta) -> Option<&OwnerReference> {
    meta.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
}

/// One thing to say of an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Saying<'a> {
    pub(crate) type_: &'a str,
    pub(crate) status: &'a str,
    pub(crate) reason: &'a str,
    pub(crate) message: &'a str,
}

impl<'a> Saying<'a> {
    /// True for a reason, or false for another.
    pub(crate) fn of(type_: &'a str, holds: bool, yes: &'a str, no: &'a str) -> Self {
        let (status, reason) = if holds { ("True", yes) } else { ("False", no) };
        Self { type_, status, reason, message: "" }
    }
}

/// Says something in the Kubernetes form; the time moves with the status only.
pub(crate) fn say(conditions: &mut Vec<Condition>, saying: Saying<'_>, now: &str, generation: Option<i64>) {
    let known = conditions.iter_mut().find(|c| c.type_ == saying.type_);
    let since = match &known {
        Some(known) if known.status == saying.status => known.last_transition_time.clone(),
        _ => now.to_owned(),
    };
    let condition = Condition {
        type_: saying.type_.to_owned(),
        status: saying.status.to_owned(),
        observed_generation: generation,
        last_transition_time: since,
        reason: saying.reason.to_owned(),
        message: saying.message.to_owned(),
    };
    match known {
        Some(known) => *known = condition,
        None => conditions.push(condition),
    }
}

/// Says something in the older form; others' conditions stay.
pub(crate) fn say_legacy(deprecated: &mut Option<Deprecated>, saying: Saying<'_>, now: &str) {
    let v1beta1 = deprecated.get_or_insert_default().v1beta1.get_or_insert_default();
    let holds = saying.status == "True";
    let filled = |text: &str| (!holds && !text.is_empty()).then(|| text.to_owned());
    let mut condition = LegacyCondition {
        type_: saying.type_.to_owned(),
        status: saying.status.to_owned(),
        severity: (saying.status == "False").then(|| "Info".to_owned()),
        last_transition_time: now.to_owned(),
        reason: filled(saying.reason),
        message: filled(saying.message),
    };
    match v1beta1.conditions.iter_mut().find(|c| c.type_ == saying.type_) {
        Some(known) => {
            if known.status == condition.status {
                condition.last_transition_time.clone_from(&known.last_transition_time);
            }
            *known = condition;
        }
        None => v1beta1.conditions.push(condition),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_condition_moves_only_with_its_status() {
        let mut conditions = Vec::new();
        say(&mut conditions, Saying::of("Ready", false, "Ready", "Waiting"), "t1", Some(1));
        say(&mut conditions, Saying::of("Ready", false, "Ready", "Still"), "t2", Some(1));
        assert_eq!(
            (conditions[0].last_transition_time.as_str(), conditions[0].reason.as_str()),
            ("t1", "Still")
        );
        say(&mut conditions, Saying::of("Ready", true, "Ready", "Waiting"), "t3", Some(1));
        assert_eq!(conditions.len(), 1);
        assert_eq!(conditions[0].last_transition_time, "t3");
    }

    #[test]
    fn older_conditions_of_others_stay() {
        let mut deprecated = None;
        say_legacy(&mut deprecated, Saying::of("OwnerRemediated", false, "", "WaitingForRemediation"), "t1");
        say_legacy(&mut deprecated, Saying::of("BootstrapReady", true, "Ready", "Waiting"), "t2");
        let conditions = deprecated.unwrap().v1beta1.unwrap().conditions;
        assert_eq!(conditions.len(), 2);
        assert_eq!(conditions[0].reason.as_deref(), Some("WaitingForRemediation"));
        assert_eq!(conditions[1].reason, None, "a true condition of the older form carries no reason");
    }

    #[test]
    fn an_owner_is_added_once() {
        let mut meta = ObjectMeta::default();
        let owner = |controller| OwnerReference { uid: "u".into(), controller, ..OwnerReference::default() };
        add_owner(&mut meta, owner(None));
        add_owner(&mut meta, owner(Some(true)));
        assert_eq!(meta.owner_references.as_ref().map(Vec::len), Some(1));
        assert!(controller_of(&meta).is_some());
    }
}
