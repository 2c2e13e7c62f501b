//! A pool whose gateway its machines cannot reach.

use std::net::IpAddr;

use capm3_api::ipam::{IpPoolSpec, IpRange};

use super::pools::{gateway, subnet};

use crate::{
    lint::{Check, Draft, Example, Manifests, ObjectId, Rule, Severity},
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L024"),
    title: "the gateway of a pool is outside of the subnet of a range",
    severity: Severity::Error,
    why: "The gateway becomes the default route of each machine with an address of the range. The kernel \
          refuses a route whose gateway is in no subnet of the device, so the machine reaches nothing.",
    mend: "use a gateway of the subnet, or correct range and prefix",
    example: Example {
        wrong: r#"pools:
- {start: 10.0.0.10, end: 10.0.0.50, prefix: 24, gateway: 10.0.1.1}"#,
        right: r#"pools:
- {start: 10.0.0.10, end: 10.0.0.50, prefix: 24, gateway: 10.0.0.1}"#,
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

fn judge(pool: &IpPoolSpec, number: usize, range: &IpRange) -> Option<Draft> {
    let (text, place) = gateway(pool, number, range)?;
    let gateway: IpAddr = text.parse().ok()?;
    let subnet = subnet(pool, range)?;
    if gateway.is_ipv4() != subnet.addr().is_ipv4() {
        return Some(Draft::new(place, format!("gateway {gateway} is of another family than {subnet}")));
    }
    (!subnet.contains(&gateway))
        .then(|| Draft::new(place, format!("gateway {gateway} is outside of {subnet}")))
}
