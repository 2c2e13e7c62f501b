//! The hosts that a machine may take, where the choice among equals cannot be known yet.
//!
//! Takes the requests of machines of one namespace, in the order in which they choose, and the hosts as they are before the
//! first of them chooses; gives the hosts that each machine may take. A machine without uid may take any of equal hosts. One
//! with a uid takes the first of its own ranking that the machines before it leave. Must not choose: that is `choose`.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
};

use capm3_api::{metadata::MetadataExt, neighbours::BareMetalHost};

use super::{Eligibility, HostRequest, domain_of, eligibility, rendezvous::Ranking};

/// The hosts that one machine may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PossibleHosts {
    /// Their names.
    pub hosts: BTreeSet<String>,
    /// Whether it may be left without a host, or has to wait for one that is not ready.
    pub may_take_none: bool,
}

impl PossibleHosts {
    /// Whether there is only one outcome.
    pub fn is_decided(&self) -> bool {
        self.hosts.len() + usize::from(self.may_take_none) <= 1
    }
}

/// What the machines that choose first leave.
#[derive(Debug, Default)]
pub struct Undecided {
    /// Hosts that are certainly taken.
    taken: BTreeSet<String>,
    /// The hosts of each machine that has several outcomes.
    open: Vec<BTreeSet<String>>,
}

/// Hosts that are equal to a machine.
struct Level<'h> {
    hosts: BTreeSet<&'h str>,
    is_ready: bool,
}

impl Undecided {
    /// A host was given back and can be taken again.
    pub fn returned(&mut self, host: &str) {
        self.taken.remove(host);
    }

    /// The hosts that the next machine may take.
    pub fn next<'h>(
        &mut self,
        request: &HostRequest<'_>,
        hosts: impl Iterator<Item = &'h BareMetalHost>,
    ) -> PossibleHosts {
        let left = hosts.filter(|host| !self.taken.contains(host.metadata.name_str()));
        let (mut found, mut waits, mut has_one) = (BTreeSet::new(), false, false);
        for Level { hosts, is_ready } in levels(request, left) {
            // Each machine takes at most one of them.
            let rivals = self.open.iter().filter(|other| hosts.iter().any(|host| other.contains(*host)));
            has_one = is_ready && hosts.len() > rivals.count();
            waits |= !is_ready;
            found.extend(hosts.into_iter().map(str::to_owned));
            if has_one {
                break;
            }
        }
        let possible = PossibleHosts { hosts: found, may_take_none: waits || !has_one };
        if possible.is_decided() {
            self.taken.extend(possible.hosts.iter().cloned());
        } else {
            self.open.push(possible.hosts.clone());
        }
        possible
    }
}

/// The hosts in the order in which the machine prefers them.
fn levels<'h>(
    request: &HostRequest<'_>,
    hosts: impl Iterator<Item = &'h BareMetalHost>,
) -> impl Iterator<Item = Level<'h>> {
    let ranking = Ranking::of(request.machine.metadata.uid_str());
    let wanted = request.failure_domain();
    let mut levels: BTreeMap<_, Level<'h>> = BTreeMap::new();
    for host in hosts {
        let (kind, is_ready) = match eligibility(request, host) {
            Eligibility::Own | Eligibility::Reserved => (0, true),
            Eligibility::ReservedLater(_) => (1, false),
            Eligibility::Free => (2, true),
            Eligibility::Rejected(_) => continue,
        };
        let name = host.metadata.name_str();
        let is_elsewhere = wanted.is_none() || domain_of(host) != wanted;
        let is_drawn = is_ready && matches!(ranking, Ranking::Drawn(_));
        let rank = is_drawn.then(|| Reverse(ranking.rank(name)));
        let level = levels.entry((kind, is_ready && is_elsewhere, rank));
        level.or_insert_with(|| Level { hosts: BTreeSet::new(), is_ready }).hosts.insert(name);
    }
    levels.into_values()
}

#[cfg(test)]
mod tests {
    use capm3_api::{
        neighbours::Machine,
        v1beta2::Metal3Machine,
        vocabulary::label::{FAILURE_DOMAIN, NODE_REUSE},
    };
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::host::{HostOutcome, choose, consumer_ref};

    const RESERVATION: &str = "md-w";

    fn host(name: &str, domain: &str, reservation: Option<&str>, state: &str) -> BareMetalHost {
        let mut labels = json!({FAILURE_DOMAIN: domain});
        if let Some(reservation) = reservation {
            labels[NODE_REUSE] = json!(reservation);
        }
        let host = json!({"metadata": {"name": name, "namespace": "ns", "labels": labels},
            "status": {"provisioning": {"state": state}}});
        serde_json::from_value(host).unwrap()
    }

    fn free(names: &[&str]) -> Vec<BareMetalHost> {
        names.iter().map(|name| host(name, "a", None, "available")).collect()
    }

    fn machine(name: &str, uid: &str, domain: &str) -> Metal3Machine {
        let machine = json!({"metadata": {"name": name, "namespace": "ns", "uid": uid},
            "spec": {"failureDomain": domain}});
        serde_json::from_value(machine).unwrap()
    }

    fn possible(machines: &[Metal3Machine], hosts: &[BareMetalHost]) -> Vec<PossibleHosts> {
        let (capi, mut undecided) = (Machine::default(), Undecided::default());
        let next = |machine| {
            let request = HostRequest::new(machine, &capi, Some(RESERVATION.to_owned()));
            undecided.next(&request, hosts.iter())
        };
        machines.iter().map(next).collect()
    }

    fn texts(machines: &[Metal3Machine], hosts: &[BareMetalHost]) -> Vec<String> {
        let text = |possible: PossibleHosts| {
            let none = possible.may_take_none.then(|| "none".to_owned());
            possible.hosts.into_iter().chain(none).collect::<Vec<_>>().join(" ")
        };
        possible(machines, hosts).into_iter().map(text).collect()
    }

    #[test]
    fn a_machine_without_uid_may_take_any_of_equal_hosts_and_the_next_one_what_is_left() {
        let machines = ["a", "b", "c"].map(|name| machine(name, "", ""));
        assert_eq!(texts(&machines[..1], &free(&["x"])), ["x"]);
        assert_eq!(texts(&machines, &free(&["x", "y"])), ["x y", "x y", "x y none"]);
    }

    #[test]
    fn the_failure_domain_is_left_only_when_others_may_have_taken_all_of_it() {
        let machines = ["a", "b", "c"].map(|name| machine(name, "", "b"));
        let mut hosts = free(&["x"]);
        hosts.extend(["y", "z"].map(|name| host(name, "b", None, "available")));
        assert_eq!(texts(&machines, &hosts), ["y z", "y z", "x y z"]);
        hosts.truncate(2);
        assert_eq!(texts(&machines, &hosts), ["y", "x", "none"], "nothing is open");
    }

    #[test]
    fn a_host_that_is_reserved_and_not_ready_may_be_waited_for() {
        let mut hosts = free(&["x"]);
        hosts.push(host("later", "a", Some(RESERVATION), "deprovisioning"));
        assert_eq!(texts(&[machine("a", "", "")], &hosts), ["later x none"]);
        hosts.push(host("now", "a", Some(RESERVATION), "available"));
        assert_eq!(texts(&[machine("a", "", "")], &hosts), ["now"]);
    }

    /// Uid of a machine, whether it is known, and failure domain.
    type Asking = (String, bool, u8);
    /// Failure domain of a host, and whether it is reserved.
    type Place = (u8, bool);

    fn sites() -> impl Strategy<Value = (Vec<Asking>, Vec<Place>)> {
        let machines = prop::collection::vec(("[a-f0-9]{8}", any::<bool>(), 0_u8..3), 1..7);
        (machines, prop::collection::vec((0_u8..3, prop::bool::weighted(0.2)), 1..8))
    }

    proptest! {
        #[test]
        fn what_a_machine_chooses_is_one_of_its_possible_hosts((uids, hosts) in sites()) {
            let hosts: Vec<_> = hosts.iter().enumerate().map(|(number, (domain, is_reserved))| {
                host(&format!("h{number}"), &domain.to_string(), is_reserved.then_some(RESERVATION), "available")
            }).collect();
            let machines = |is_fact: bool| -> Vec<_> {
                uids.iter().enumerate().map(|(number, (uid, is_known, domain))| {
                    let uid = if is_fact || *is_known { uid } else { "" };
                    machine(&format!("m{number}"), uid, &domain.to_string())
                }).collect()
            };
            let (capi, mut left) = (Machine::default(), hosts.clone());
            let (forecast, certain) = (possible(&machines(false), &hosts), possible(&machines(true), &hosts));
            for ((machine, forecast), certain) in machines(true).iter().zip(forecast).zip(certain) {
                let request = HostRequest::new(machine, &capi, Some(RESERVATION.to_owned()));
                let fact = match choose(&request, left.iter()).outcome {
                    HostOutcome::Chosen(chosen) => Some(chosen.host),
                    _ => None,
                };
                prop_assert!(certain.is_decided(), "with every uid nothing is open: {certain:?}");
                prop_assert_eq!(certain.hosts.first(), fact.as_ref());
                match &fact {
                    Some(host) => prop_assert!(forecast.hosts.contains(host), "{} {:?}", host, forecast),
                    None => prop_assert!(forecast.may_take_none, "{:?}", forecast),
                }
                for host in left.iter_mut().filter(|host| host.metadata.name == fact) {
                    host.spec.consumer_ref = Some(consumer_ref(machine));
                }
            }
        }
    }

    #[test]
    fn a_host_that_was_given_back_may_be_taken_again() {
        let (capi, mut undecided) = (Machine::default(), Undecided::default());
        let machine = machine("m", "", "a");
        let request = HostRequest::new(&machine, &capi, None);
        let one = free(&["h"]);
        assert_eq!(undecided.next(&request, one.iter()).hosts, ["h".to_owned()].into());
        assert!(undecided.next(&request, one.iter()).hosts.is_empty(), "it is taken");
        undecided.returned("h");
        assert_eq!(undecided.next(&request, one.iter()).hosts, ["h".to_owned()].into());
    }
}
