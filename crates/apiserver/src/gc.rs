//! The garbage collector: what becomes of objects whose owners go. The rules are those of Kubernetes' controller,
//! applied at once after each write instead of in the background, so that a run can be replayed.

use std::collections::VecDeque;

use serde_json::Value;

use crate::{
    meta,
    store::{
        Change,
        object::ObjectKey,
        summary::{ObjectSummary, Owner},
    },
    write::{Policy, Writer},
};

/// Objects whose right to exist must be looked at again.
pub(crate) type Suspects = VecDeque<ObjectKey>;

/// Reacts to a write by naming suspects.
pub(crate) fn react(writer: &mut Writer<'_>, change: &Change, suspects: &mut Suspects) {
    let old = change.old.as_ref().map(|old| &old.head);
    match &change.new {
        None => {
            if let Some(old) = old {
                suspects.extend(writer.store().index.dependents(&old.uid).cloned());
                suspects.extend(waiting_owners(writer, old));
            }
        }
        Some(new) => {
            let new = &new.head;
            let owners_changed = old.is_none_or(|old| old.owners != new.owners);
            if owners_changed {
                suspects.extend((!new.owners.is_empty()).then(|| change.key.clone()));
                suspects.extend(old.into_iter().flat_map(|old| waiting_owners(writer, old)));
            }
            let began = |test: fn(&ObjectSummary) -> bool| test(new) && !old.is_some_and(test);
            if began(|head| head.awaits_dependents) {
                suspects.extend(writer.store().index.dependents(&new.uid).cloned());
                suspects.push_back(change.key.clone());
            }
            if began(|head| head.awaits_orphaning) {
                orphan(writer, &change.key, &new.uid);
            }
        }
    }
}

/// The owners of `object` that wait for their dependents to go.
fn waiting_owners(writer: &Writer<'_>, object: &ObjectSummary) -> Vec<ObjectKey> {
    let waits = |key: &&ObjectKey| writer.store().get(key).is_some_and(|owner| owner.head.awaits_dependents);
    object
        .owners
        .iter()
        .filter_map(|owner| writer.store().index.find(&owner.uid))
        .filter(waits)
        .cloned()
        .collect()
}

/// Cuts the dependents of an object loose, then removes it.
fn orphan(writer: &mut Writer<'_>, key: &ObjectKey, uid: &str) {
    let dependents: Vec<ObjectKey> = writer.store().index.dependents(uid).cloned().collect();
    for dependent in dependents {
        drop_owners(writer, &dependent, &[uid.to_owned()]);
    }
    drop_finalizer(writer, key, meta::ORPHAN);
}

/// How the owners of an object stand.
#[derive(Default)]
struct Owners {
    solid: bool,
    /// Uids of owners that are gone.
    dangling: Vec<String>,
    /// Uids of owners that wait for this object to go.
    waiting: Vec<String>,
}

/// Looks at one suspect and deletes it, or parts of its owner references, if that is due.
pub(crate) fn examine(writer: &mut Writer<'_>, key: &ObjectKey, suspects: &mut Suspects) {
    let Some(stored) = writer.store().get(key).cloned() else {
        return;
    };
    let object = &stored.head;
    if object.awaits_dependents {
        return release_when_alone(writer, key, object, suspects);
    }
    if object.is_deleting || object.owners.is_empty() {
        return;
    }
    let owners = classify(writer, key, object);
    if owners.solid {
        let superfluous = [owners.dangling, owners.waiting].concat();
        if !superfluous.is_empty() {
            drop_owners(writer, key, &superfluous);
        }
        return;
    }
    let uid = &*object.uid;
    if !owners.waiting.is_empty() && writer.store().index.has_dependents(uid) {
        unblock_if_cyclic(writer, key, uid);
        writer.collect(key, Some(Policy::Foreground));
    } else {
        // The finalizers already on the object say what its own deletion should do; the default is background.
        writer.collect(key, None);
    }
}

fn classify(writer: &Writer<'_>, key: &ObjectKey, object: &ObjectSummary) -> Owners {
    let mut owners = Owners::default();
    for owner in &object.owners {
        let found = writer
            .store()
            .index
            .find(&owner.uid)
            .filter(|it| it.namespace.is_empty() || it.namespace == key.namespace);
        match found.and_then(|found| writer.store().get(found)) {
            Some(found) if found.head.awaits_dependents => owners.waiting.push(owner.uid.to_string()),
            Some(_) => owners.solid = true,
            None if can_be_judged(writer, key, owner) => owners.dangling.push(owner.uid.to_string()),
            None => owners.solid = true,
        }
    }
    owners
}

/// Whether the absence of an owner means anything: its kind must be served here, and a cluster-scoped object cannot
/// have a namespaced owner. Kubernetes leaves such objects alone, too.
fn can_be_judged(writer: &Writer<'_>, key: &ObjectKey, owner: &Owner) -> bool {
    let group = meta::group_of(&owner.api_version);
    let served = writer
        .store()
        .tables()
        .find(|table| table.resource.group == group && *table.resource.kind == *owner.kind);
    served.is_some_and(|table| !table.resource.namespaced || !key.namespace.is_empty())
}

/// Removes an owner that waited in the foreground, once no dependent blocks it.
fn release_when_alone(
    writer: &mut Writer<'_>,
    key: &ObjectKey,
    object: &ObjectSummary,
    suspects: &mut Suspects,
) {
    let uid = &*object.uid;
    let blocks = |key: &&ObjectKey| {
        let dependent = writer.store().get(key);
        dependent.is_some_and(|it| it.head.owners.iter().any(|owner| &*owner.uid == uid && owner.blocks))
    };
    let blocking: Vec<ObjectKey> = writer.store().index.dependents(uid).filter(blocks).cloned().collect();
    if blocking.is_empty() {
        return drop_finalizer(writer, key, meta::FOREGROUND);
    }
    let idle = |key: &ObjectKey| writer.store().get(key).is_some_and(|it| !it.head.is_deleting);
    suspects.extend(blocking.into_iter().filter(idle));
}

/// Two objects that own each other would wait for each other for ever: the second one stops blocking.
fn unblock_if_cyclic(writer: &mut Writer<'_>, key: &ObjectKey, uid: &str) {
    let waits = |key: &ObjectKey| writer.store().get(key).is_some_and(|it| it.head.awaits_dependents);
    if writer.store().index.dependents(uid).any(waits) {
        writer.rewrite(key, |object| {
            for owner in owner_list(object).into_iter().flatten() {
                if let Some(owner) = owner.as_object_mut() {
                    owner.insert("blockOwnerDeletion".to_owned(), Value::Bool(false));
                }
            }
        });
    }
}

fn owner_list(object: &mut Value) -> Option<&mut Vec<Value>> {
    meta::of_mut(object)?.get_mut("ownerReferences")?.as_array_mut()
}

fn drop_owners(writer: &mut Writer<'_>, key: &ObjectKey, uids: &[String]) {
    writer.rewrite(key, |object| {
        if let Some(owners) = owner_list(object) {
            owners.retain(|owner| !uids.iter().any(|uid| uid == meta::str_at(owner, "uid")));
            if owners.is_empty() {
                meta::remove(object, "ownerReferences");
            }
        }
    });
}

fn drop_finalizer(writer: &mut Writer<'_>, key: &ObjectKey, finalizer: &str) {
    writer.rewrite(key, |object| {
        let kept = meta::finalizers(object).filter(|it| *it != finalizer).map(str::to_owned).collect();
        meta::set_finalizers(object, kept);
    });
}
