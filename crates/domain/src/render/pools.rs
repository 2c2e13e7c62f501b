//! Which pools a template needs.
//!
//! Takes the template and the objects of the machine, because annotations may name pools. Gives each pool once:
//! whatever a machine takes from a pool, and however often, it gets one address of it. Only pools whose answer is
//! rendered are listed; a pool that loses against another source of the same value would cost an address for nothing.

use std::collections::BTreeMap;

use capm3_api::v1beta2::{
    FromAnnotation, FromPool, Gateway, IpPoolRef, MetaData, Metal3DataTemplateSpec, NetworkData, Networks,
    Route, StaticNetwork,
};

use super::{
    error::{Problem, RenderError},
    objects::Objects,
};

/// Where a template names a pool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PoolPlace {
    /// The field, such as `spec.networkData.networks.ipv4[0].ipAddressFromIPPool`.
    pub path: String,
    /// The network or the key in the metadata, such as `network baremetal`; empty where there is none.
    pub item: String,
}

/// Pools by name.
pub type Pools = BTreeMap<String, PoolRef>;

const METAL3_GROUP: &str = "ipam.metal3.io";
const METAL3_KIND: &str = "IPPool";

/// A pool that a template needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolRef {
    /// Name of the pool.
    pub name: String,
    /// API group of the pool.
    pub api_group: String,
    /// Kind of the pool.
    pub kind: String,
}

impl PoolRef {
    /// A pool; an absent or empty group or kind is Metal3's.
    pub fn new(name: &str, api_group: Option<&str>, kind: Option<&str>) -> Self {
        let or =
            |given: Option<&str>, usual: &str| given.filter(|g| !g.is_empty()).unwrap_or(usual).to_owned();
        Self { name: name.to_owned(), api_group: or(api_group, METAL3_GROUP), kind: or(kind, METAL3_KIND) }
    }

    /// Whether Metal3's own address manager serves the pool; all others go through Cluster API's contract.
    pub fn is_metal3(&self) -> bool {
        self.api_group == METAL3_GROUP && self.kind == METAL3_KIND
    }
}

/// The pools that a template needs for the machine of these objects. With no objects at all, as when a machine is
/// taken down, sources that need one are left out.
pub fn referenced_pools(spec: &Metal3DataTemplateSpec, objects: Objects<'_>) -> Result<Pools, RenderError> {
    Collector::of(spec, objects).map(|collector| collector.pools)
}

/// Where a template names a pool for the first time; none if it does not.
pub fn place_of_pool(spec: &Metal3DataTemplateSpec, objects: Objects<'_>, pool: &str) -> Option<PoolPlace> {
    Collector::of(spec, objects).ok()?.places.remove(pool)
}

struct Collector<'a> {
    pools: Pools,
    places: BTreeMap<String, PoolPlace>,
    objects: Objects<'a>,
    /// Kind and id or key of the item that is being looked at.
    item: Option<(&'static str, &'a str)>,
}

/// Who reports an annotation that names no pool.
#[derive(Clone, Copy)]
enum BadAnnotation {
    IsAnError,
    /// The renderer does, once the pools that are known have answered.
    IsLeftToTheRenderer,
}

impl<'a> Collector<'a> {
    fn of(spec: &'a Metal3DataTemplateSpec, objects: Objects<'a>) -> Result<Self, RenderError> {
        let mut collector = Self { pools: Pools::new(), places: BTreeMap::new(), objects, item: None };
        let collected = collector.spec(spec);
        match (collected, collector.item) {
            (Ok(()), _) => Ok(collector),
            (Err(error), Some((kind, name))) => Err(error.of(kind, name)),
            (Err(error), None) => Err(error),
        }
    }

    fn spec(&mut self, spec: &'a Metal3DataTemplateSpec) -> Result<(), RenderError> {
        if let Some(meta_data) = &spec.meta_data {
            self.meta_data(meta_data)?;
        }
        if let Some(network_data) = &spec.network_data {
            self.network_data(network_data)?;
        }
        Ok(())
    }

    fn meta_data(&mut self, meta_data: &'a MetaData) -> Result<(), RenderError> {
        let lists: [(&str, &[FromPool]); 4] = [
            ("ipAddressesFromPool", &meta_data.ip_addresses_from_pool),
            ("prefixesFromPool", &meta_data.prefixes_from_pool),
            ("gatewaysFromPool", &meta_data.gateways_from_pool),
            ("dnsServersFromPool", &meta_data.dns_servers_from_pool),
        ];
        for (list, items) in lists {
            for (index, item) in items.iter().enumerate() {
                self.item = Some(("key", &item.key));
                let pool = PoolRef::new(&item.name, item.api_group.as_deref(), item.kind.as_deref());
                self.add(pool, &format!("spec.metaData.{list}[{index}].name"))?;
            }
        }
        Ok(())
    }

    fn network_data(&mut self, network_data: &'a NetworkData) -> Result<(), RenderError> {
        if let Some(networks) = &network_data.networks {
            self.networks(networks)?;
        }
        self.item = None;
        let dns = network_data.services.as_ref().and_then(|s| s.dns_from_ip_pool.as_deref());
        self.add_named(dns, "spec.networkData.services.dnsFromIPPool")
    }

    fn networks(&mut self, networks: &'a Networks) -> Result<(), RenderError> {
        for (list, items) in [("ipv4", &networks.ipv4), ("ipv6", &networks.ipv6)] {
            for (index, network) in items.iter().enumerate() {
                let path = format!("spec.networkData.networks.{list}[{index}]");
                self.item = Some(("network", &network.id));
                self.static_network(network, &path)?;
                self.routes(&network.routes, &path, BadAnnotation::IsAnError)?;
            }
        }
        let dynamic = [
            ("ipv4DHCP", &networks.ipv4_dhcp),
            ("ipv6DHCP", &networks.ipv6_dhcp),
            ("ipv6SLAAC", &networks.ipv6_slaac),
        ];
        for (list, items) in dynamic {
            for (index, network) in items.iter().enumerate() {
                let path = format!("spec.networkData.networks.{list}[{index}]");
                self.item = Some(("network", &network.id));
                self.routes(&network.routes, &path, BadAnnotation::IsLeftToTheRenderer)?;
            }
        }
        Ok(())
    }

    /// A range that follows the index needs no pool.
    fn static_network(&mut self, network: &StaticNetwork, path: &str) -> Result<(), RenderError> {
        if network.ip_address.is_some() {
            return Ok(());
        }
        let named = ("ipAddressFromIPPool", network.ip_address_from_ip_pool.as_deref());
        let annotation = network.from_pool_annotation.as_ref();
        self.source(annotation, network.from_pool_ref.as_ref(), named, path, BadAnnotation::IsAnError)
    }

    fn routes(&mut self, routes: &[Route], path: &str, bad: BadAnnotation) -> Result<(), RenderError> {
        for (index, route) in routes.iter().enumerate() {
            let path = format!("{path}.routes[{index}]");
            self.gateway(&route.gateway, &format!("{path}.gateway"), bad)?;
            let dns = route.services.as_ref().and_then(|s| s.dns_from_ip_pool.as_deref());
            self.add_named(dns, &format!("{path}.services.dnsFromIPPool"))?;
        }
        Ok(())
    }

    fn gateway(&mut self, gateway: &Gateway, path: &str, bad: BadAnnotation) -> Result<(), RenderError> {
        if gateway.string.as_ref().is_some_and(|address| !address.is_empty()) {
            return Ok(());
        }
        let annotation = gateway.from_pool_annotation.as_ref();
        let named = ("fromIPPool", gateway.from_ip_pool.as_deref());
        self.source(annotation, gateway.from_pool_ref.as_ref(), named, path, bad)
    }

    /// The first source that is given wins, as in the renderer. `named`: the member that has the name alone.
    fn source(
        &mut self,
        annotation: Option<&FromAnnotation>,
        reference: Option<&IpPoolRef>,
        (member, name): (&str, Option<&str>),
        path: &str,
        bad: BadAnnotation,
    ) -> Result<(), RenderError> {
        if let Some(annotation) = annotation.filter(|_| !self.objects.are_unknown()) {
            let path = format!("{path}.fromPoolAnnotation");
            return match (self.objects.pool_of(annotation, &path), bad) {
                (Ok(pool), _) => self.add_named(Some(pool), &path),
                (Err(_), BadAnnotation::IsLeftToTheRenderer) => Ok(()),
                (Err(error), BadAnnotation::IsAnError) => Err(error),
            };
        }
        match reference.filter(|reference| !reference.name.is_empty()) {
            Some(r) => {
                let pool = PoolRef::new(&r.name, r.api_group.as_deref(), r.kind.as_deref());
                self.add(pool, &format!("{path}.fromPoolRef"))
            }
            None => self.add_named(name, &format!("{path}.{member}")),
        }
    }

    fn add_named(&mut self, name: Option<&str>, path: &str) -> Result<(), RenderError> {
        match name.filter(|name| !name.is_empty()) {
            Some(name) => self.add(PoolRef::new(name, None, None), path),
            None => Ok(()),
        }
    }

    fn add(&mut self, pool: PoolRef, path: &str) -> Result<(), RenderError> {
        let known = self.pools.entry(pool.name.clone()).or_insert_with(|| pool.clone());
        if *known == pool {
            let item = self.item.map(|(kind, name)| format!("{kind} {name}")).unwrap_or_default();
            self.places.entry(pool.name).or_insert_with(|| PoolPlace { path: path.to_owned(), item });
            return Ok(());
        }
        let detail = format!(
            "pool {} is both {}/{} and {}/{}",
            pool.name, known.api_group, known.kind, pool.api_group, pool.kind
        );
        Err(RenderError::new(Problem::PoolOfTwoKinds, path, detail))
    }
}

#[cfg(test)]
mod tests {
    use capm3_api::neighbours::BareMetalHost;
    use serde_json::{Value, json};

    use super::*;

    fn pools(spec: Value, objects: Objects<'_>) -> Result<Vec<String>, String> {
        let spec: Metal3DataTemplateSpec = serde_json::from_value(spec).unwrap();
        let pools = referenced_pools(&spec, objects).map_err(|error| error.to_string())?;
        Ok(pools.into_values().map(|p| format!("{}/{}/{}", p.api_group, p.kind, p.name)).collect())
    }

    #[test]
    fn only_metal3s_own_kind_is_metal3() {
        assert!(PoolRef::new("p", None, Some("")).is_metal3());
        assert!(!PoolRef::new("p", None, Some("GlobalPool")).is_metal3());
        assert!(!PoolRef::new("p", Some("ipam.cluster.x-k8s.io"), Some("InClusterIPPool")).is_metal3());
    }

    /// One name for pools of two kinds is an error that names both.
    #[test]
    fn ip113_one_name_for_pools_of_two_kinds_is_refused() {
        let spec = json!({
            "metaData": {"ipAddressesFromPool": [{"key": "a", "name": "p"}]},
            "networkData": {"networks": {"ipv6": [
                {"id": "n", "link": "l", "fromPoolRef": {"name": "p", "kind": "InClusterIPPool", "apiGroup": "x.io"}}
            ]}}
        });
        assert_eq!(
            pools(spec, Objects::default()).unwrap_err(),
            "multiple references with the same name but different resource types: spec.networkData.networks.ipv6[0].fromPoolRef, \
             pool p is both ipam.metal3.io/IPPool and x.io/InClusterIPPool (network n)"
        );
    }

    #[test]
    fn without_objects_annotations_are_passed_over_for_the_next_source() {
        let spec = json!({"networkData": {"networks": {"ipv4": [
            {"id": "n", "link": "l", "fromPoolAnnotation": {"object": "machine", "annotation": "a"}},
            {"id": "m", "link": "l", "fromPoolAnnotation": {"object": "machine", "annotation": "a"}, "ipAddressFromIPPool": "p"}
        ]}}});
        assert_eq!(pools(spec.clone(), Objects::default()).unwrap(), ["ipam.metal3.io/IPPool/p"]);
        let host = BareMetalHost::default();
        let objects = Objects { host: Some(&host), ..Objects::default() };
        assert_eq!(
            pools(spec, objects).unwrap_err(),
            "machine is nil but referenced in annotation a: spec.networkData.networks.ipv4[0].fromPoolAnnotation (network n)"
        );
    }
}
