//! Nothing is taken from a live machine, at no revision: not its host, its Secrets, its index, its addresses.
//!
//! A machine is live while its Metal3Machine is there and nobody deletes it, as the server has it just before the
//! revision that is judged. Who took something away does not matter: nobody may.

use std::collections::{BTreeMap, BTreeSet};

use capm3_apiserver::{ApiServer, Revision};
use serde_json::Value;

use super::{beside, consuming_machine, is_deleting, key, mix_ups::everything, text};

/// Resources whose history matters, by group and plural.
const WATCHED: [(&str, &str); 6] = [
    ("metal3.io", "baremetalhosts"),
    ("infrastructure.cluster.x-k8s.io", "metal3machines"),
    ("infrastructure.cluster.x-k8s.io", "metal3datas"),
    ("ipam.metal3.io", "ipclaims"),
    ("ipam.metal3.io", "ipaddresses"),
    ("", "secrets"),
];

/// What a host is booted with.
const BOOTED_WITH: [&str; 5] = ["image", "customDeploy", "userData", "metaData", "networkData"];
/// Fields that name Secrets.
const SECRETS: [&str; 3] = ["userData", "metaData", "networkData"];

/// What live machines lost in everything that happened on a server.
pub fn losses(server: &ApiServer) -> Vec<String> {
    match everything(server, &WATCHED) {
        Ok(history) => judge(&history),
        Err(forgotten) => vec![forgotten],
    }
}

/// The same for a history, in the order of revisions.
pub fn judge(history: &[Revision]) -> Vec<String> {
    let mut books = Books::default();
    let mut found = Vec::new();
    for revision in history {
        let lost = books.lost(revision);
        found.extend(lost.into_iter().map(|what| format!("revision {}: {what}", revision.number)));
        books.enter(revision);
    }
    found
}

/// Every object as it was just before the present revision, by kind and key.
#[derive(Default)]
struct Books<'a> {
    objects: BTreeMap<(&'a str, String), &'a Value>,
}

impl<'a> Books<'a> {
    fn enter(&mut self, revision: &'a Revision) {
        let at = (text(&revision.object, "/kind"), key(&revision.object));
        match revision.removed {
            true => self.objects.remove(&at),
            false => self.objects.insert(at, &revision.object),
        };
    }

    fn get(&self, kind: &'static str, key: String) -> Option<&'a Value> {
        self.objects.get(&(kind, key)).copied()
    }

    fn is_live(&self, machine: &str) -> bool {
        self.get("Metal3Machine", machine.to_owned()).is_some_and(|machine| !is_deleting(machine))
    }

    /// What a revision takes from a live machine.
    fn lost(&self, revision: &Revision) -> Option<String> {
        let (kind, name) = (text(&revision.object, "/kind"), key(&revision.object));
        let before = self.objects.get(&(kind, name.clone())).copied()?;
        if kind == "BareMetalHost" {
            return self.taken_from_host(before, Some(&revision.object).filter(|_| !revision.removed));
        }
        let goes = !is_deleting(before) && (revision.removed || is_deleting(&revision.object));
        let machine = match kind {
            _ if !goes => None,
            "Secret" => self.user_of_secret(&name),
            "Metal3Data" => machine_of_data(before),
            "IPAddress" => self.machine_of_address(before),
            _ => None,
        };
        let machine = machine.filter(|machine| self.is_live(machine))?;
        Some(format!("{kind} {name} of live machine {machine} is deleted"))
    }

    fn taken_from_host(&self, before: &Value, after: Option<&Value>) -> Option<String> {
        let machine = consuming_machine(before).filter(|machine| self.is_live(machine))?;
        if self.is_surplus(before, &machine) {
            return None;
        }
        let name = key(before);
        let Some(after) = after else {
            return Some(format!("host {name} of live machine {machine} is deleted"));
        };
        let has =
            |host: &Value, field: &str| host.pointer(&format!("/spec/{field}")).is_some_and(|v| !v.is_null());
        let mut lost: Vec<&str> =
            BOOTED_WITH.into_iter().filter(|field| has(before, field) && !has(after, field)).collect();
        let is_online = |host: &Value| host.pointer("/spec/online").is_some_and(|online| *online == true);
        if is_online(before) && !is_online(after) {
            lost.push("power");
        }
        if consuming_machine(after).as_ref() != Some(&machine) {
            lost.push("consumerRef");
        }
        (!lost.is_empty()).then(|| format!("host {name} of live machine {machine} loses {}", lost.join(", ")))
    }

    /// Whether a host has nothing on it and its machine consumes another one: it may be given back.
    fn is_surplus(&self, host: &Value, machine: &str) -> bool {
        let has = |field: &str| host.pointer(&format!("/spec/{field}")).is_some_and(|v| !v.is_null());
        let mut others =
            self.objects.iter().filter(|((kind, name), _)| *kind == "BareMetalHost" && *name != key(host));
        !BOOTED_WITH.into_iter().any(has)
            && others.any(|(_, other)| consuming_machine(other).as_deref() == Some(machine))
    }

    /// The live machine that runs with a Secret, by its own word or by its host's.
    fn user_of_secret(&self, secret: &str) -> Option<String> {
        let names = |object: &Value, part: &str| {
            let named = SECRETS.map(|field| text(object, &format!("/{part}/{field}/name")));
            named.into_iter().any(|name| !name.is_empty() && beside(object, name) == secret)
        };
        let user = |((kind, name), object): (&(&str, String), &&Value)| match *kind {
            "Metal3Machine" if names(object, "spec") || names(object, "status") => Some(name.clone()),
            "BareMetalHost" if names(object, "spec") => consuming_machine(object),
            _ => None,
        };
        let users: BTreeSet<String> = self.objects.iter().filter_map(user).collect();
        users.into_iter().find(|machine| self.is_live(machine))
    }

    /// The machine for which an address was claimed. Claims of one name follow each other, so each owner is known by its
    /// uid: an address may outlive its claim, and then belongs to nobody.
    fn machine_of_address(&self, address: &Value) -> Option<String> {
        let claim = self.get("IPClaim", beside(address, text(address, "/spec/claim/name")))?;
        owner(address, claim)?;
        let data = owner_name(claim, "Metal3Data")?;
        let data = self.get("Metal3Data", beside(claim, data))?;
        owner(claim, data)?;
        machine_of_data(data)
    }
}

fn owners(object: &Value) -> impl Iterator<Item = &Value> {
    object.pointer("/metadata/ownerReferences").and_then(Value::as_array).into_iter().flatten()
}

fn owner_name<'a>(object: &'a Value, kind: &str) -> Option<&'a str> {
    owners(object).find(|owner| text(owner, "/kind") == kind).map(|owner| text(owner, "/name"))
}

/// The reference by which one object owns another, if it does.
fn owner<'a>(object: &'a Value, by: &Value) -> Option<&'a Value> {
    owners(object).find(|owner| text(owner, "/uid") == text(by, "/metadata/uid"))
}

/// The machine that data is made for: its claim has the machine's name.
fn machine_of_data(data: &Value) -> Option<String> {
    let claim = text(data, "/spec/claim/name");
    (!claim.is_empty()).then(|| beside(data, claim))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::history_of, *};

    fn object(kind: &str, name: &str, spec: Value) -> Value {
        json!({"kind": kind, "metadata": {"namespace": "n", "name": name, "uid": name}, "spec": spec})
    }

    fn with(mut object: Value, pointer: &str, value: Value) -> Value {
        let (parent, member) = pointer.rsplit_once('/').unwrap();
        object.pointer_mut(parent).unwrap()[member] = value;
        object
    }

    fn gone(object: Value) -> Value {
        with(object, "/gone", json!(true))
    }

    fn deleting(object: Value) -> Value {
        with(object, "/metadata/deletionTimestamp", json!("now"))
    }

    fn host() -> Value {
        let consumer = json!({"kind": "Metal3Machine", "name": "m"});
        let spec = json!({"online": true, "image": {"url": "u"}, "userData": {"name": "s"}, "consumerRef": consumer});
        object("BareMetalHost", "h", spec)
    }

    /// A live machine with everything that it has.
    fn world() -> Vec<Value> {
        let owner = |kind: &str, name: &str| json!([{"kind": kind, "name": name, "uid": name}]);
        vec![
            object("Metal3Machine", "m", json!({})),
            host(),
            object("Secret", "s", json!({})),
            object("Metal3Data", "d", json!({"claim": {"name": "m"}})),
            with(object("IPClaim", "c", json!({})), "/metadata/ownerReferences", owner("Metal3Data", "d")),
            with(
                object("IPAddress", "a", json!({"claim": {"name": "c"}})),
                "/metadata/ownerReferences",
                owner("IPClaim", "c"),
            ),
        ]
    }

    /// What may not be done to a live machine, and how it is reported.
    fn steps() -> Vec<(Value, &'static str)> {
        vec![
            (gone(host()), "host n/h of live machine n/m is deleted"),
            (with(host(), "/spec/image", Value::Null), "host n/h of live machine n/m loses image"),
            (with(host(), "/spec/userData", Value::Null), "host n/h of live machine n/m loses userData"),
            (with(host(), "/spec/online", json!(false)), "host n/h of live machine n/m loses power"),
            (
                with(host(), "/spec/consumerRef", Value::Null),
                "host n/h of live machine n/m loses consumerRef",
            ),
            (gone(object("Secret", "s", json!({}))), "Secret n/s of live machine n/m is deleted"),
            (deleting(object("Metal3Data", "d", json!({}))), "Metal3Data n/d of live machine n/m is deleted"),
            (gone(object("IPAddress", "a", json!({}))), "IPAddress n/a of live machine n/m is deleted"),
        ]
    }

    #[test]
    fn each_loss_of_a_live_machine_is_reported() {
        for (step, loss) in steps() {
            let mut objects = world();
            objects.push(step);
            assert_eq!(judge(&history_of(&objects)), [format!("revision 7: {loss}")]);
        }
    }

    #[test]
    fn a_machine_that_is_deleted_or_gone_may_lose_everything() {
        let machine = object("Metal3Machine", "m", json!({}));
        for end in [deleting(machine.clone()), gone(machine)] {
            for (step, _) in steps() {
                let mut objects = world();
                objects.extend([end.clone(), step]);
                assert_eq!(judge(&history_of(&objects)), Vec::<String>::new());
            }
        }
    }

    #[test]
    fn an_address_of_an_earlier_claim_of_the_same_name_may_go() {
        let mut objects = world();
        objects[4] = with(objects[4].clone(), "/metadata/uid", json!("a later one"));
        objects.push(gone(object("IPAddress", "a", json!({}))));
        assert_eq!(judge(&history_of(&objects)), Vec::<String>::new());
    }

    #[test]
    fn changes_that_take_nothing_away_are_no_loss() {
        let mut objects = world();
        let other = with(host(), "/spec/image", json!({"url": "v"}));
        objects.extend([other, with(object("Secret", "s", json!({})), "/data", json!({"a": "b"}))]);
        objects.push(gone(object("Secret", "another", json!({}))));
        assert_eq!(judge(&history_of(&objects)), Vec::<String>::new());
    }
}
