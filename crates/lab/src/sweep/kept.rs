//! What a scenario must leave as it was: which hosts are in use, or which machine has which host, index and address, and
//! when each host was provisioned.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::scenario::Keeps;
use crate::{
    Lab,
    report::{MachineRow, report},
};

/// Where everything is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Kept {
    machines: BTreeMap<String, MachineRow>,
    /// When each host was last provisioned.
    provisioned: BTreeMap<String, String>,
}

impl Kept {
    pub(super) fn of(lab: &Lab) -> Self {
        let machines = report(lab, 0).machines.into_iter().map(|row| (row.name.clone(), row)).collect();
        let provisioned = lab.objects("BareMetalHost").into_iter().map(|host| {
            let start = text(&host, "/status/operationHistory/provision/start");
            (text(&host, "/metadata/name"), start)
        });
        Self { machines, provisioned: provisioned.collect() }
    }

    /// What is no longer as it was, of what is to be kept.
    pub(super) fn lost(&self, now: &Self, keeps: Keeps) -> Vec<String> {
        match keeps {
            Keeps::Nothing => Vec::new(),
            Keeps::Hosts => self.other_hosts(now),
            Keeps::Everything => self.moved(now),
            Keeps::AllButOne => self.moved_beside_one(now),
        }
    }

    fn hosts(&self) -> BTreeSet<&str> {
        self.machines.values().filter_map(|machine| machine.host.as_deref()).collect()
    }

    fn other_hosts(&self, now: &Self) -> Vec<String> {
        let (before, after) = (self.hosts(), now.hosts());
        let given_up = before.difference(&after).map(|host| format!("{host} was in use and is not kept"));
        given_up
            .chain(after.difference(&before).map(|host| format!("{host} was to spare and is taken")))
            .collect()
    }

    /// What was moved beside the one machine that is replaced, which must be on another host.
    fn moved_beside_one(&self, now: &Self) -> Vec<String> {
        let only_in = |one: &Self, other: &Self| -> Vec<MachineRow> {
            let rows = one.machines.values().filter(|row| !other.machines.contains_key(&row.name));
            rows.cloned().collect()
        };
        let (gone, new) = (only_in(self, now), only_in(now, self));
        let ([gone], [new]) = (gone.as_slice(), new.as_slice()) else {
            return vec![format!("{} machines were replaced by {} new ones", gone.len(), new.len())];
        };
        if gone.host == new.host {
            return vec![format!("{} has the host of {}", new.name, gone.name)];
        }
        let without_both = |kept: &Self| {
            let mut kept = kept.clone();
            for row in [gone, new] {
                kept.machines.remove(&row.name);
                kept.provisioned.retain(|host, _| Some(host) != row.host.as_ref());
            }
            kept
        };
        without_both(self).moved(&without_both(now))
    }

    fn moved(&self, now: &Self) -> Vec<String> {
        let mut lost = Vec::new();
        for (name, before) in &self.machines {
            match now.machines.get(name) {
                Some(after) if after == before => {}
                Some(after) => lost.push(format!("{name} was {before:?} and is {after:?}")),
                None => lost.push(format!("{name} is gone")),
            }
        }
        let others = now.machines.keys().filter(|name| !self.machines.contains_key(*name));
        lost.extend(others.map(|name| format!("{name} was not there before")));
        for (host, before) in &self.provisioned {
            let after = now.provisioned.get(host).map_or("", String::as_str);
            if after != before {
                lost.push(format!("{host} was provisioned at {before:?} and again at {after:?}"));
            }
        }
        lost
    }
}

fn text(object: &Value, pointer: &str) -> String {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(machine: &str, address: &str, start: &str) -> Kept {
        let row = MachineRow {
            namespace: "metal3".to_owned(),
            name: machine.to_owned(),
            host: Some("h".to_owned()),
            failure_domain: None,
            data_template: None,
            data: None,
            index: Some(0),
            vlans: Vec::new(),
            addresses: vec![address.to_owned()],
            provider_id: None,
            ready: true,
        };
        let provisioned = [("h".to_owned(), start.to_owned())].into();
        Kept { machines: [(machine.to_owned(), row)].into(), provisioned }
    }

    #[test]
    fn a_new_machine_on_the_same_host_keeps_hosts_and_one_on_another_does_not() {
        let before = kept("m", "10.0.0.1", "then");
        assert_eq!(before.lost(&kept("n", "10.0.0.2", "now"), Keeps::Hosts), Vec::<String>::new());
        let mut elsewhere = kept("n", "10.0.0.1", "then");
        elsewhere.machines.values_mut().for_each(|row| row.host = Some("spare".to_owned()));
        let lost = ["h was in use and is not kept", "spare was to spare and is taken"];
        assert_eq!(before.lost(&elsewhere, Keeps::Hosts), lost);
        assert_eq!(before.lost(&elsewhere, Keeps::Nothing), Vec::<String>::new());
    }

    #[test]
    fn one_machine_may_be_replaced_on_another_host_and_nothing_else_may_change() {
        let two = |one: &str, host: &str, other: &str| {
            let mut both = kept("stays", other, "then");
            let mut row = kept(one, "10.0.0.9", "then").machines.remove(one).unwrap();
            row.host = Some(host.to_owned());
            both.machines.insert(one.to_owned(), row);
            both.provisioned.insert(host.to_owned(), one.to_owned());
            both
        };
        let before = two("m", "a", "10.0.0.1");
        let lost = |now: &Kept| before.lost(now, Keeps::AllButOne);
        assert_eq!(lost(&two("n", "b", "10.0.0.1")), Vec::<String>::new());
        assert_eq!(lost(&two("n", "a", "10.0.0.1")), ["n has the host of m"]);
        assert_eq!(lost(&before), ["0 machines were replaced by 0 new ones"]);
        assert_eq!(lost(&two("n", "b", "10.0.0.2")).len(), 1, "the other machine has another address");
    }

    #[test]
    fn another_address_another_machine_and_a_host_provisioned_again_are_reported() {
        let before = kept("m", "10.0.0.1", "then");
        let lost = |machine, address, start| before.lost(&kept(machine, address, start), Keeps::Everything);
        assert_eq!(lost("m", "10.0.0.1", "then"), Vec::<String>::new());
        assert_eq!(lost("m", "10.0.0.2", "then").len(), 1);
        assert_eq!(lost("n", "10.0.0.1", "then"), ["m is gone", "n was not there before"]);
        let again = lost("m", "10.0.0.1", "now");
        assert_eq!(again, ["h was provisioned at \"then\" and again at \"now\""]);
    }
}
