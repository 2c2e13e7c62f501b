//! What a range of a pool means: its gateway and its subnet.

use capm3_api::ipam::{IpPoolSpec, IpRange};
use ipnet::IpNet;

/// The gateway of a range and the field that has it: its own, or that of the pool.
pub(super) fn gateway<'a>(
    pool: &'a IpPoolSpec,
    number: usize,
    range: &'a IpRange,
) -> Option<(&'a str, String)> {
    let given = |text: &'a Option<String>| text.as_deref().filter(|text| !text.is_empty());
    let own = given(&range.gateway).map(|text| (text, format!("spec.pools[{number}].gateway")));
    own.or_else(|| given(&pool.gateway).map(|text| (text, "spec.gateway".to_owned())))
}

/// The subnet in which machines with an address of the range are: by the prefix that they get or, where there is none, that of
/// `subnet`.
pub(super) fn subnet(pool: &IpPoolSpec, range: &IpRange) -> Option<IpNet> {
    let written: Option<IpNet> = range.subnet.as_deref().and_then(|text| text.parse().ok());
    let start = range.start.as_deref().and_then(|text| text.parse().ok());
    let address = start.or_else(|| written.map(|net| net.addr()))?;
    let set = |prefix: Option<i32>| prefix.filter(|prefix| *prefix > 0).and_then(|it| u8::try_from(it).ok());
    let prefix = set(range.prefix).or_else(|| set(pool.prefix));
    let prefix = prefix.or_else(|| written.map(|net| net.prefix_len()))?;
    IpNet::new(address, prefix).ok().map(|net| net.trunc())
}
