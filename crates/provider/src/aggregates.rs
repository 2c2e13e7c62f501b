//! What the informers sum up for the controllers that allocate indexes and addresses: numbers in use, numbers that a status
//! shows, and the Clusters that use a template.
//!
//! Groups are named `<namespace>/<name>`, as in [`indexes`](crate::indexes). Asking for a group costs the same among ten objects
//! and among ten thousand.

use std::{collections::BTreeMap, marker::PhantomData, sync::Arc};

use capm3_api::{
    ipam::{IpAddress, IpPool},
    metadata::MetadataExt,
    neighbours::CapiIpAddress,
    v1beta2::{Metal3Data, Metal3DataTemplate},
    vocabulary::label,
};
use capm3_domain::{
    address::Address,
    index::{self, index_in_name},
    numbers::UsedNumbers,
};
use capm3_engine::{Aggregate, Caches, Index, Object};

use crate::indexes::{
    CAPI_IP_ADDRESSES_BY_POOL, DATA_BY_SPACE, DATA_BY_TEMPLATE, IP_ADDRESSES_BY_POOL, in_namespace,
};

/// Numbers that objects use, in the groups that `G` makes of them.
#[derive(Debug)]
pub struct Used<G> {
    numbers: Arc<UsedNumbers>,
    grouping: PhantomData<fn() -> G>,
}

/// Which numbers an object uses, and in which groups.
pub trait Grouping<K>: 'static {
    /// The groups, each with the same numbers.
    fn groups(object: &K) -> (Vec<String>, Vec<u128>);
}

impl<G> Used<G> {
    /// The numbers.
    pub fn numbers(&self) -> Arc<UsedNumbers> {
        Arc::clone(&self.numbers)
    }
}

impl<G> Clone for Used<G> {
    fn clone(&self) -> Self {
        Self { numbers: Arc::clone(&self.numbers), grouping: PhantomData }
    }
}

impl<G> Default for Used<G> {
    fn default() -> Self {
        Self { numbers: Arc::default(), grouping: PhantomData }
    }
}

impl<K, G: Grouping<K>> Aggregate<K> for Used<G> {
    type Entry = Vec<u128>;

    fn entries(object: &K) -> Vec<(String, Vec<u128>)> {
        let (groups, numbers) = G::groups(object);
        groups.into_iter().map(|group| (group, numbers.clone())).collect()
    }

    fn add(&mut self, numbers: &Vec<u128>) {
        let used = Arc::make_mut(&mut self.numbers);
        numbers.iter().for_each(|number| used.add(*number));
    }

    fn remove(&mut self, numbers: &Vec<u128>) {
        let used = Arc::make_mut(&mut self.numbers);
        numbers.iter().for_each(|number| used.remove(*number));
    }

    fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }
}

/// Indexes of Metal3Data by the template that they name.
#[derive(Debug)]
pub struct ByTemplate;

impl Grouping<Metal3Data> for ByTemplate {
    fn groups(data: &Metal3Data) -> (Vec<String>, Vec<u128>) {
        ((DATA_BY_TEMPLATE.values)(data), index_of(data))
    }
}

/// Indexes of Metal3Data by the key of their index space.
#[derive(Debug)]
pub struct BySpace;

impl Grouping<Metal3Data> for BySpace {
    fn groups(data: &Metal3Data) -> (Vec<String>, Vec<u128>) {
        ((DATA_BY_SPACE.values)(data), index_of(data))
    }
}

/// Indexes in the names of Metal3Data, by what stands before them.
#[derive(Debug)]
pub struct ByNamePrefix;

impl Grouping<Metal3Data> for ByNamePrefix {
    fn groups(data: &Metal3Data) -> (Vec<String>, Vec<u128>) {
        match index_in_name(data.metadata.name_str()) {
            Some((prefix, index)) => (vec![in_namespace(&data.metadata, prefix)], vec![index.number()]),
            None => (Vec::new(), Vec::new()),
        }
    }
}

fn index_of(data: &Metal3Data) -> Vec<u128> {
    data.spec.index.and_then(index::Index::new).map(index::Index::number).into_iter().collect()
}

/// Addresses by the pool that they are from. One that does not parse blocks its name, nothing else.
#[derive(Debug)]
pub struct ByPool;

impl Grouping<IpAddress> for ByPool {
    fn groups(address: &IpAddress) -> (Vec<String>, Vec<u128>) {
        addresses(&IP_ADDRESSES_BY_POOL, address, &address.spec.address)
    }
}

impl Grouping<CapiIpAddress> for ByPool {
    fn groups(address: &CapiIpAddress) -> (Vec<String>, Vec<u128>) {
        addresses(&CAPI_IP_ADDRESSES_BY_POOL, address, &address.spec.address)
    }
}

fn addresses<K>(by_pool: &Index<K>, object: &K, address: &str) -> (Vec<String>, Vec<u128>) {
    ((by_pool.values)(object), number(address).into_iter().collect())
}

fn number(address: &str) -> Option<u128> {
    address.parse::<Address>().ok().map(Address::number)
}

/// Numbers that the status of a template or pool shows as used, by the object itself.
#[derive(Debug)]
pub struct InStatus;

impl Grouping<Metal3DataTemplate> for InStatus {
    fn groups(template: &Metal3DataTemplate) -> (Vec<String>, Vec<u128>) {
        let indexes = template.status.indexes.iter().filter_map(|entry| index::Index::new(entry.index));
        (vec![template.key().to_string()], indexes.map(index::Index::number).collect())
    }
}

impl Grouping<IpPool> for InStatus {
    fn groups(pool: &IpPool) -> (Vec<String>, Vec<u128>) {
        let addresses = pool.status.indexes.values().filter_map(|address| number(address));
        (vec![pool.key().to_string()], addresses.collect())
    }
}

/// The Clusters that the Metal3Data of a template are labelled with, and how many data each has.
#[derive(Debug, Clone, Default)]
pub struct ClustersOfTemplate(BTreeMap<String, usize>);

impl ClustersOfTemplate {
    /// Their names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl Aggregate<Metal3Data> for ClustersOfTemplate {
    type Entry = String;

    fn entries(data: &Metal3Data) -> Vec<(String, String)> {
        let Some(cluster) = data.metadata.label(label::CLUSTER_NAME) else { return Vec::new() };
        let templates = (DATA_BY_TEMPLATE.values)(data).into_iter();
        templates.map(|template| (template, cluster.to_owned())).collect()
    }

    fn add(&mut self, cluster: &String) {
        *self.0.entry(cluster.clone()).or_default() += 1;
    }

    fn remove(&mut self, cluster: &String) {
        if let Some(count) = self.0.get_mut(cluster) {
            *count -= 1;
            if *count == 0 {
                self.0.remove(cluster);
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Lets the stores maintain all of them.
pub(crate) fn maintain(caches: &Caches) {
    if let Some(datas) = caches.store::<Metal3Data>() {
        datas.maintain::<Used<ByTemplate>>();
        datas.maintain::<Used<BySpace>>();
        datas.maintain::<Used<ByNamePrefix>>();
        datas.maintain::<ClustersOfTemplate>();
    }
    if let Some(templates) = caches.store::<Metal3DataTemplate>() {
        templates.maintain::<Used<InStatus>>();
    }
    if let Some(pools) = caches.store::<IpPool>() {
        pools.maintain::<Used<InStatus>>();
    }
    if let Some(addresses) = caches.store::<IpAddress>() {
        addresses.maintain::<Used<ByPool>>();
    }
    if let Some(addresses) = caches.store::<CapiIpAddress>() {
        addresses.maintain::<Used<ByPool>>();
    }
}
