//! Choice among equals: each machine ranks all hosts in an order of its own.
//!
//! The rank of a host comes from machine and host alone, so a retry or another replica takes the same host, a host
//! that vanishes moves only the machine that wanted it, and the machines spread evenly. A machine without uid exists only in
//! files. What it will draw cannot be known, so it takes the first host by name.

use std::cmp::Reverse;

/// The order of one machine.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ranking {
    /// By a number that machine and host give together.
    Drawn(u64),
    /// By the names of the hosts.
    ByName,
}

/// Rank of a host for one machine; the highest wins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank<'h> {
    /// The number, then the name.
    Drawn(u64, &'h str),
    /// The lowest name wins.
    ByName(Reverse<&'h str>),
}

impl Rank<'_> {
    /// What decides before names do.
    pub(super) fn number(self) -> u64 {
        match self {
            Self::Drawn(number, _) => number,
            Self::ByName(_) => 0,
        }
    }
}

impl Ranking {
    /// The order of the machine with that uid.
    pub(super) fn of(uid: &str) -> Self {
        match uid {
            "" => Self::ByName,
            uid => Self::Drawn(fnv(fnv(0xcbf2_9ce4_8422_2325, uid.as_bytes()), &[0])),
        }
    }

    /// Rank of a host.
    pub(super) fn rank(self, host: &str) -> Rank<'_> {
        match self {
            Self::Drawn(seed) => Rank::Drawn(mix(fnv(seed, host.as_bytes())), host),
            Self::ByName => Rank::ByName(Reverse(host)),
        }
    }
}

fn fnv(hash: u64, bytes: &[u8]) -> u64 {
    bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// FNV alone leaves neighbouring names with neighbouring ranks; this spreads them over all 64 bits.
fn mix(mut hash: u64) -> u64 {
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        hash = (hash ^ (hash >> 33)).wrapping_mul(factor);
    }
    hash ^ (hash >> 33)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn rank(machine: &str, host: &str) -> u64 {
        Ranking::of(machine).rank(host).number()
    }

    fn favourite(machine: &str, hosts: &[String]) -> String {
        hosts.iter().max_by_key(|host| rank(machine, host)).unwrap().clone()
    }

    #[test]
    fn machines_spread_evenly_over_hosts() {
        let hosts: Vec<String> = (0..10).map(|n| format!("host-{n}")).collect();
        let mut taken: BTreeMap<String, usize> = BTreeMap::new();
        for n in 0..5000 {
            *taken.entry(favourite(&format!("uid-{n}"), &hosts)).or_default() += 1;
        }
        assert_eq!(taken.len(), 10);
        for (host, count) in taken {
            assert!((400..600).contains(&count), "{host} was wanted {count} times of 5000");
        }
    }

    #[test]
    fn a_host_that_vanishes_moves_only_those_that_wanted_it() {
        let hosts: Vec<String> = (0..10).map(|n| format!("host-{n}")).collect();
        for n in 0..200 {
            let machine = format!("uid-{n}");
            let before = favourite(&machine, &hosts);
            let after = favourite(&machine, &hosts[1..]);
            assert!(before == after || before == hosts[0]);
        }
    }

    #[test]
    fn ranks_stay_the_same_for_ever() {
        // Replicas of different releases must agree, so these numbers may never change.
        assert_eq!(rank("uid-1", "host-1"), 0x07b3_b451_1089_ee25);
        assert_ne!(rank("ab", "c"), rank("a", "bc"));
    }

    #[test]
    fn a_machine_without_uid_takes_the_first_host_by_name() {
        let ranking = Ranking::of("");
        assert!(ranking.rank("host-1") > ranking.rank("host-10"));
        assert!(ranking.rank("host-10") > ranking.rank("host-2"));
    }
}
