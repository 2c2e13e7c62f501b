//! The objects of the files by kind and key, each with the document that it came from.

use std::collections::BTreeMap;

use capm3_api::{
    ipam::{self, IpAddress, IpClaim, IpPool},
    metadata::group_of,
    neighbours::{
        BareMetalHost, CAPI_GROUP, CAPI_IPAM_GROUP, CONTROL_PLANE_GROUP, CapiIpAddress, Cluster,
        METAL3_GROUP, Machine, MachineSet,
    },
    v1beta2::{
        self, Metal3Cluster, Metal3Data, Metal3DataClaim, Metal3DataTemplate, Metal3Machine,
        Metal3MachineTemplate,
    },
};
use capm3_engine::{
    Object, ObjectKey,
    manifests::{Document, Problem},
};

use crate::stored;

/// An object and where it stands.
#[derive(Debug)]
pub(super) struct Located<'d, K> {
    pub object: K,
    pub document: &'d Document,
}

/// Objects of one kind.
pub(super) type Kind<'d, K> = BTreeMap<ObjectKey, Located<'d, K>>;

/// Everything that rendering looks at.
#[derive(Debug, Default)]
pub(super) struct Site<'d> {
    pub machines: Kind<'d, Metal3Machine>,
    pub machine_templates: Kind<'d, Metal3MachineTemplate>,
    pub data_templates: Kind<'d, Metal3DataTemplate>,
    pub claims: Kind<'d, Metal3DataClaim>,
    pub datas: Kind<'d, Metal3Data>,
    pub metal3_clusters: Kind<'d, Metal3Cluster>,
    pub clusters: Kind<'d, Cluster>,
    pub owners: Kind<'d, Machine>,
    pub machine_sets: Kind<'d, MachineSet>,
    pub hosts: Kind<'d, BareMetalHost>,
    pub pools: Kind<'d, IpPool>,
    pub ip_claims: Kind<'d, IpClaim>,
    pub ip_addresses: Kind<'d, IpAddress>,
    pub capi_addresses: Kind<'d, CapiIpAddress>,
    /// Control planes, MachineDeployments and MachineSets, in the order of the files.
    pub scalable: Vec<&'d Document>,
}

impl<'d> Site<'d> {
    /// Sorts documents out. Kinds that have no say in rendering are passed over.
    pub fn read(documents: impl Iterator<Item = &'d Document>, problems: &mut Vec<Problem>) -> Self {
        let mut site = Self::default();
        for document in documents {
            if let Err(problem) = site.take(document) {
                problems.push(problem);
            }
        }
        site
    }

    fn take(&mut self, document: &'d Document) -> Result<(), Problem> {
        let group = group_of(document.api_version());
        match (group, document.kind()) {
            (v1beta2::GROUP, "Metal3Machine") => put(&mut self.machines, document),
            (v1beta2::GROUP, "Metal3MachineTemplate") => put(&mut self.machine_templates, document),
            (v1beta2::GROUP, "Metal3DataTemplate") => put(&mut self.data_templates, document),
            (v1beta2::GROUP, "Metal3DataClaim") => put(&mut self.claims, document),
            (v1beta2::GROUP, "Metal3Data") => put(&mut self.datas, document),
            (v1beta2::GROUP, "Metal3Cluster") => put(&mut self.metal3_clusters, document),
            (METAL3_GROUP, "BareMetalHost") => put(&mut self.hosts, document),
            (ipam::GROUP, "IPPool") => put(&mut self.pools, document),
            (ipam::GROUP, "IPClaim") => put(&mut self.ip_claims, document),
            (ipam::GROUP, "IPAddress") => put(&mut self.ip_addresses, document),
            (CAPI_IPAM_GROUP, "IPAddress") => put(&mut self.capi_addresses, document),
            (CAPI_GROUP, "Cluster") => put(&mut self.clusters, document),
            (CAPI_GROUP, "Machine") => put(&mut self.owners, document),
            (CAPI_GROUP, "MachineSet") => {
                self.scalable.push(document);
                put(&mut self.machine_sets, document)
            }
            (CAPI_GROUP, "MachineDeployment") | (CONTROL_PLANE_GROUP, _) => {
                self.scalable.push(document);
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// Whether objects of the document's group have a say in rendering.
pub(super) fn reads(document: &Document) -> bool {
    let group = group_of(document.api_version());
    let groups =
        [v1beta2::GROUP, METAL3_GROUP, ipam::GROUP, CAPI_IPAM_GROUP, CAPI_GROUP, CONTROL_PLANE_GROUP];
    groups.contains(&group)
}

fn put<'d, K: Object>(kind: &mut Kind<'d, K>, document: &'d Document) -> Result<(), Problem> {
    let (key, object) = (document.key(), stored::object(document)?);
    if let Some(first) = kind.get(&key) {
        return Err(stored::twice(document, first.document));
    }
    kind.insert(key, Located { object, document });
    Ok(())
}
