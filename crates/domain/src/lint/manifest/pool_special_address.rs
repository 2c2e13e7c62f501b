//! A pool that gives out what no machine can have.

use capm3_api::ipam::{IpPoolSpec, IpRange};

use super::pools::subnet;

use crate::{
    address::{Address, Range},
    lint::{Check, Draft, Example, Manifests, ObjectId, Rule, Severity},
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L025"),
    title: "a pool gives out the address of its subnet, or the broadcast address",
    severity: Severity::Warning,
    why: "Every address of a range is given out at some time. The first address of an IPv4 subnet means the subnet, and the last one \
          all nodes of it. A range that is given as a subnet only has the last address in it.",
    mend: "take these addresses out with start and end, or reserve them in spec.preAllocations",
    example: Example {
        wrong: r#"pools:
- {subnet: 10.0.0.0/24, gateway: 10.0.0.1}"#,
        right: r#"pools:
- {start: 10.0.0.10, end: 10.0.0.250, prefix: 24, gateway: 10.0.0.1}"#,
    },
    check: Check::Manifests(check),
};

fn check(manifests: &Manifests<'_>) -> Vec<(ObjectId, Draft)> {
    let mut drafts = Vec::new();
    for (_, _, pool) in manifests.pools.iter() {
        for (number, range) in pool.object.spec.pools.iter().enumerate() {
            drafts.extend(judge(&pool.object.spec, number, range).map(|draft| (pool.id, draft)));
        }
    }
    drafts
}

fn judge(pool: &IpPoolSpec, number: usize, given: &IpRange) -> Option<Draft> {
    let range = Range::new(given)?;
    let subnet = subnet(pool, given).filter(|net| net.addr().is_ipv4() && net.prefix_len() < 31)?;
    let reserved: Vec<Address> = pool.pre_allocations.values().filter_map(|text| text.parse().ok()).collect();
    let ends: [(Address, &str); 2] = [
        (subnet.network().into(), "the subnet itself"),
        (subnet.broadcast().into(), "the broadcast address"),
    ];
    let given_out = ends.iter().filter(|(end, _)| range.contains(*end) && !reserved.contains(end));
    let words: Vec<String> = given_out.map(|(end, what)| format!("{end} ({what})")).collect();
    let message = format!("the range contains {}", words.join(" and "));
    (!words.is_empty()).then(|| Draft::new(format!("spec.pools[{number}]"), message))
}
