//! What an index and an address cost, and that the price does not grow with their number.

use anyhow::{Result, ensure};
use capm3_api::ipam::{IpPoolSpec, IpRange};
use capm3_domain::{
    address::{AddressBook, AddressRequest, ClaimKind},
    index::FreeIndexes,
};
use capm3_engine::clock::Stopwatch;
use serde_json::json;

/// Cost per item at the full size against that at [`SMALL`].
const BUDGET: f64 = 1.2;
const SMALL: usize = 100;
/// Items a measurement handles in all, so that small and large sizes are timed alike.
const WORK: usize = 200_000;
/// The best of so many is taken: what disturbs a run only makes it slower.
const TRIES: usize = 5;

/// Runs the benchmark.
pub fn run(size: usize, as_json: bool) -> Result<()> {
    let v4 = pool("10.0.0.0/16", "10.0.255.254");
    let v6 = pool("2001:db8::/64", "2001:db8::ffff:ffff:ffff:ffff");
    let rows = [
        ("indexes", ratio(size, indexes)),
        ("addressesV4", ratio(size, |count| addresses(&v4, count))),
        ("addressesV6", ratio(size, |count| addresses(&v6, count))),
    ];
    if as_json {
        let figure = |(name, (nanos, ratio)): &(&str, (f64, f64))| {
            let figures = json!({"nanosEach": nanos.round(), "ratio": (ratio * 100.0).round() / 100.0});
            ((*name).to_owned(), figures)
        };
        let mut line = json!({"bench": "allocate", "size": size, "budget": {"ratio": BUDGET}});
        if let Some(members) = line.as_object_mut() {
            members.extend(rows.iter().map(figure));
        }
        println!("{line}");
    } else {
        for (name, (nanos, ratio)) in rows {
            println!(
                "{name:<12} {nanos:>6.0} ns each at {size}, {ratio:.2} times that at {SMALL}   budget {BUDGET}"
            );
        }
    }
    ensure!(rows.iter().all(|(_, (_, ratio))| *ratio <= BUDGET), "the price grows with the number");
    Ok(())
}

/// A whole subnet with a reservation at its end.
fn pool(subnet: &str, last: &str) -> IpPoolSpec {
    let range = IpRange { subnet: Some(subnet.to_owned()), ..IpRange::default() };
    let reserved = [("reserved".to_owned(), last.to_owned())].into();
    IpPoolSpec { pools: vec![range], pre_allocations: reserved, ..IpPoolSpec::default() }
}

fn indexes(count: usize) {
    let mut free = FreeIndexes::default();
    for _ in 0..count {
        std::hint::black_box(free.take_lowest());
    }
}

fn addresses(spec: &IpPoolSpec, count: usize) {
    let mut book = AddressBook::new(spec);
    for n in 0..count {
        let request = AddressRequest::new(ClaimKind::IpClaim, format!("claim-{n:05}"));
        std::hint::black_box(book.allocate(&request, 0).is_ok());
    }
    let reserved = AddressRequest::new(ClaimKind::IpClaim, "reserved");
    std::hint::black_box(book.allocate(&reserved, 0).is_ok());
}

/// Nanoseconds per item at the full size, and how that compares with the small one.
fn ratio(size: usize, work: impl Fn(usize)) -> (f64, f64) {
    let each = |count: usize| {
        let rounds = (WORK / count).max(1);
        let once = || {
            let stopwatch = Stopwatch::start();
            (0..rounds).for_each(|_| work(count));
            stopwatch.elapsed().as_secs_f64() * 1e9 / (rounds * count) as f64
        };
        (0..TRIES).map(|_| once()).fold(f64::INFINITY, f64::min)
    };
    let (small, large) = (each(SMALL), each(size));
    (large, large / small)
}
