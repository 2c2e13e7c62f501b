//! Never two at once, at no revision: hosts, indexes, addresses.

use std::collections::{BTreeMap, BTreeSet};

use capm3_apiserver::{ApiServer, Revision};
use serde_json::Value;

use super::{beside, consuming_machine, is_deleting, key, recorded_host, text};

/// Resources whose history matters, by group and plural.
const WATCHED: [(&str, &str); 4] = [
    ("metal3.io", "baremetalhosts"),
    ("infrastructure.cluster.x-k8s.io", "metal3machines"),
    ("infrastructure.cluster.x-k8s.io", "metal3datas"),
    ("ipam.metal3.io", "ipaddresses"),
];

/// Mix-ups in everything that happened on a server.
pub fn mix_ups(server: &ApiServer) -> Vec<String> {
    mix_ups_among(server, SecondHost::Forbidden)
}

/// Whether a machine may consume a second host for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SecondHost {
    Forbidden,
    /// If the host has no image yet: the provider could not know of the first one.
    WithoutImage,
}

/// The same where a machine may consume a second host for a while.
pub(crate) fn mix_ups_among(server: &ApiServer, second: SecondHost) -> Vec<String> {
    match everything(server, &WATCHED) {
        Ok(history) => judge_among(&history, second),
        Err(forgotten) => vec![forgotten],
    }
}

/// Every revision of some resources, in order; otherwise which one the server does not remember whole.
pub(super) fn everything(server: &ApiServer, of: &[(&str, &str)]) -> Result<Vec<Revision>, String> {
    let mut all = Vec::new();
    for (group, plural) in of {
        match server.history(None, group, plural) {
            Some(history) => all.extend(history),
            None => return Err(format!("more happened to {plural} than the server remembers")),
        }
    }
    all.sort_by_key(|revision| revision.number);
    Ok(all)
}

/// Mix-ups in a history, in the order of revisions.
pub fn judge(history: &[Revision]) -> Vec<String> {
    judge_among(history, SecondHost::Forbidden)
}

fn judge_among(history: &[Revision], second: SecondHost) -> Vec<String> {
    let mut books = Books { allows_second_host: second == SecondHost::WithoutImage, ..Books::default() };
    for revision in history {
        books.enter(revision);
    }
    books.found
}

/// Who holds what at the present revision.
#[derive(Default)]
struct Books {
    allows_second_host: bool,
    /// Consumer of each host.
    consumers: BTreeMap<String, String>,
    machines_of_hosts: Holders,
    hosts_of_machines: Holders,
    data_of_indexes: Holders,
    data_of_claims: Holders,
    addresses: Holders,
    addresses_of_claims: Holders,
    found: Vec<String>,
}

/// Holders by what they hold; what is held by two is a mix-up.
#[derive(Default)]
struct Holders {
    held: BTreeMap<String, String>,
    by: BTreeMap<String, BTreeSet<String>>,
}

impl Holders {
    /// Says what a holder holds now; gives both holders if another one holds it already.
    fn set(&mut self, holder: &str, what: Option<String>) -> Option<String> {
        if self.held.get(holder) == what.as_ref() {
            return None;
        }
        if let Some(old) = self.held.remove(holder)
            && let Some(holders) = self.by.get_mut(&old)
        {
            holders.remove(holder);
        }
        let what = what?;
        self.held.insert(holder.to_owned(), what.clone());
        let holders = self.by.entry(what).or_default();
        holders.insert(holder.to_owned());
        (holders.len() > 1).then(|| holders.iter().cloned().collect::<Vec<_>>().join(" and "))
    }
}

impl Books {
    fn enter(&mut self, revision: &Revision) {
        let object = Some(&revision.object).filter(|_| !revision.removed);
        let name = key(&revision.object);
        let mut mixed = Vec::new();
        let mut report = |what: &str, both: Option<String>| {
            mixed.extend(both.map(|both| format!("{what}: {both}")));
        };
        match text(&revision.object, "/kind") {
            "BareMetalHost" => {
                let consumer = object.and_then(consuming_machine);
                let has_image = object.is_some_and(|host| host.pointer("/spec/image/url").is_some());
                let holds = consumer.clone().filter(|_| has_image || !self.allows_second_host);
                report("a machine consumes two hosts", self.hosts_of_machines.set(&name, holds));
                report("a host changed hands without being free", self.pass_on(&name, consumer));
            }
            "Metal3Machine" => {
                let host = object.filter(|machine| !is_deleting(machine)).and_then(recorded_host);
                report("two machines name one host", self.machines_of_hosts.set(&name, host));
            }
            "Metal3Data" => {
                report("two data have one index", self.data_of_indexes.set(&name, object.and_then(index)));
                let claim = object.filter(|data| !is_deleting(data)).map(|data| claim(data, "/spec/claim"));
                report("two data serve one claim", self.data_of_claims.set(&name, claim));
            }
            "IPAddress" => {
                report("one address was given twice", self.addresses.set(&name, object.map(address)));
                let claim = object.filter(|a| !is_deleting(a)).map(|a| claim(a, "/spec/claim"));
                report("two addresses serve one claim", self.addresses_of_claims.set(&name, claim));
            }
            _ => {}
        }
        let number = revision.number;
        self.found.extend(mixed.into_iter().map(|what| format!("revision {number}: {what}")));
    }

    /// Whether a host goes from one machine straight to another one.
    fn pass_on(&mut self, host: &str, to: Option<String>) -> Option<String> {
        let from = match &to {
            Some(to) => self.consumers.insert(host.to_owned(), to.clone()),
            None => self.consumers.remove(host),
        };
        let (from, to) = (from?, to?);
        (from != to).then(|| format!("{host} from {from} to {to}"))
    }
}

fn index(data: &Value) -> Option<String> {
    let index = data.pointer("/spec/index")?;
    Some(format!("{} {index}", beside(data, text(data, "/spec/template/name"))))
}

fn address(address: &Value) -> String {
    let pool = beside(address, text(address, "/spec/pool/name"));
    format!("{pool} {}", text(address, "/spec/address"))
}

fn claim(object: &Value, pointer: &str) -> String {
    beside(object, text(object, &format!("{pointer}/name")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{super::history_of, *};

    fn host(name: &str, consumer: Option<&str>) -> Value {
        let consumer = consumer.map(|name| json!({"kind": "Metal3Machine", "name": name}));
        json!({"kind": "BareMetalHost", "metadata": {"namespace": "n", "name": name}, "spec": {"consumerRef": consumer}})
    }

    fn machine(name: &str, host: &str) -> Value {
        json!({"kind": "Metal3Machine", "metadata": {"namespace": "n", "name": name,
            "annotations": {"metal3.io/BareMetalHost": format!("n/{host}")}}})
    }

    fn held(kind: &str, name: &str, spec: Value) -> Value {
        json!({"kind": kind, "metadata": {"namespace": "n", "name": name}, "spec": spec})
    }

    #[test]
    fn each_mix_up_is_reported_with_its_revision() {
        let data = |name, claim| {
            held("Metal3Data", name, json!({"index": 0, "template": {"name": "t"}, "claim": {"name": claim}}))
        };
        let address = |name, claim| {
            let spec = json!({"address": "10.0.0.1", "pool": {"name": "p"}, "claim": {"name": claim}});
            held("IPAddress", name, spec)
        };
        let rows: [(&[Value], &str); 6] = [
            (
                &[host("h", Some("a")), host("h", Some("b"))],
                "revision 2: a host changed hands without being free: n/h from n/a to n/b",
            ),
            (
                &[host("g", Some("a")), host("h", Some("a"))],
                "revision 2: a machine consumes two hosts: n/g and n/h",
            ),
            (&[machine("a", "h"), machine("b", "h")], "revision 2: two machines name one host: n/a and n/b"),
            (&[data("d", "a"), data("e", "b")], "revision 2: two data have one index: n/d and n/e"),
            (&[address("d", "a"), address("e", "b")], "revision 2: one address was given twice: n/d and n/e"),
            (
                &[
                    held("Metal3Data", "d", json!({"index": 0, "claim": {"name": "a"}})),
                    held("Metal3Data", "e", json!({"index": 1, "claim": {"name": "a"}})),
                ],
                "revision 2: two data serve one claim: n/d and n/e",
            ),
        ];
        for (objects, expected) in rows {
            assert_eq!(judge(&history_of(objects)), [expected]);
        }
    }

    #[test]
    fn one_after_the_other_is_no_mix_up() {
        let mut gone = machine("a", "h");
        gone["gone"] = json!(true);
        let mut reserved = host("h", None);
        reserved["spec"]["consumerRef"] = json!({"kind": "Cluster", "name": "c"});
        let objects = [
            host("h", Some("a")),
            machine("a", "h"),
            reserved,
            gone,
            host("h", Some("b")),
            machine("b", "h"),
            host("h", Some("b")),
        ];
        assert_eq!(judge(&history_of(&objects)), Vec::<String>::new());
    }
}
