//! What a data object waits for of its pools, in words.

use capm3_api::metadata::MetadataExt;
use capm3_domain::{
    address::{AddressBook, AddressError},
    render::PoolRef,
};

use super::Snapshot;

/// Pools that have not answered yet.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    parts: Vec<String>,
    counts: Vec<String>,
}

impl Waiting {
    /// A pool that was asked. One that does not exist is said to be missing.
    pub(super) fn add_pool(&mut self, snapshot: &Snapshot, pool: &PoolRef) {
        let named = format!("{} {}", pool.kind, pool.name);
        if pool.is_metal3() && !snapshot.pools.contains_key(&pool.name) {
            return self.add(format!("an address of {named}, which does not exist"));
        }
        self.counts.extend(free(snapshot, &pool.name).map(|count| format!("{}: {count}", pool.name)));
        self.add(format!("an address of {named}"));
    }

    pub(super) fn add(&mut self, part: String) {
        self.parts.push(part);
    }

    /// The whole, counts at the end; none when nothing is waited for.
    pub(super) fn what(&self) -> Option<String> {
        let counts =
            if self.counts.is_empty() { String::new() } else { format!(" ({})", self.counts.join("; ")) };
        (!self.parts.is_empty()).then(|| format!("{}{counts}", self.parts.join(", ")))
    }
}

/// How many addresses of an IPPool are free, in words.
pub(super) fn free(snapshot: &Snapshot, pool: &str) -> Option<String> {
    let pool = snapshot.pools.get(pool).filter(|pool| !pool.metadata.is_deleting())?;
    let mut book = AddressBook::new(&pool.spec);
    for address in pool.status.indexes.values().filter_map(|address| address.parse().ok()) {
        book.record(address, None);
    }
    Some(count(book.free(), book.capacity()))
}

/// The same for one that has just refused a claim: its status may not tell yet of those who were served before.
pub(super) fn free_after(problem: &str, snapshot: &Snapshot, pool: &str) -> Option<String> {
    if problem != (AddressError::Exhausted { requested: false }).to_string() {
        return free(snapshot, pool);
    }
    let pool = snapshot.pools.get(pool).filter(|pool| !pool.metadata.is_deleting())?;
    Some(count(0, AddressBook::new(&pool.spec).capacity()))
}

fn count(free: u128, capacity: u128) -> String {
    format!("{free} of {capacity} addresses are free")
}
