//! What a data object waits for of its pools.

use capm3_api::metadata::MetadataExt;
use capm3_domain::{
    address::AddressBook,
    render::PoolRef,
    wait::{AddressWait, FreeAddresses},
};

use super::Snapshot;

/// A pool that was asked. One that does not exist is said to be missing.
pub(super) fn wait_for_pool(snapshot: &Snapshot, pool: &PoolRef) -> AddressWait {
    let (kind, name) = (pool.kind.to_string(), pool.name.clone());
    if pool.is_metal3() && !snapshot.pools.contains_key(&name) {
        return AddressWait::MissingPool { kind, pool: name };
    }
    let free = free(snapshot, &name);
    AddressWait::Pool { kind, pool: name, free }
}

/// How many addresses of an IPPool are free, as its status tells it.
fn free(snapshot: &Snapshot, pool: &str) -> Option<FreeAddresses> {
    let mut book = book(snapshot, pool)?;
    let pool = snapshot.pools.get(pool)?;
    for address in pool.status.indexes.values().filter_map(|address| address.parse().ok()) {
        book.record(address, None);
    }
    Some(FreeAddresses { free: book.free(), capacity: book.capacity() })
}

/// How many addresses an IPPool has.
pub(super) fn capacity(snapshot: &Snapshot, pool: &str) -> Option<u128> {
    book(snapshot, pool).map(|book| book.capacity())
}

fn book(snapshot: &Snapshot, pool: &str) -> Option<AddressBook> {
    let pool = snapshot.pools.get(pool).filter(|pool| !pool.metadata.is_deleting())?;
    Some(AddressBook::new(&pool.spec))
}
