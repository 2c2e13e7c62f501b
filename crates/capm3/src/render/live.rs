//! A cluster to compare with: the objects that the files do not have, and the Secrets.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use base64::{Engine, engine::general_purpose::STANDARD};
use capm3_api::{
    ipam::{self, IpAddress, IpClaim, IpPool},
    neighbours::{BareMetalHost, CAPI_IPAM_GROUP, CapiIpAddress, Cluster, Machine, MachineSet, Secret},
    v1beta2::{
        Metal3Cluster, Metal3Data, Metal3DataClaim, Metal3DataTemplate, Metal3Machine, Metal3MachineTemplate,
    },
};
use capm3_engine::{Detail, ObjectKey, ResourceKind, manifests::Document};
use capm3_offline::render::{Rendering, unified};

use crate::{
    exit::{self, Failure},
    remote::{PLACE, Remote, unreadable},
};

/// Name under which the server counts the requests.
const USER_AGENT: &str = "capm3-render";

/// Kinds that say who has what; the cluster knows better than a file.
const GIVEN_OUT: [&str; 8] = [
    "BareMetalHost",
    "IPAddress",
    "IPClaim",
    "Machine",
    "MachineSet",
    "Metal3Data",
    "Metal3DataClaim",
    "Metal3Machine",
];

/// A cluster to compare with.
pub struct Live(Remote);

impl Live {
    /// A client for the kubeconfig; nothing is sent yet.
    pub fn connect(kubeconfig: &Path, context: Option<&str>) -> Result<Self, Failure> {
        Remote::connect(kubeconfig, context, USER_AGENT).map(Self)
    }

    /// The documents, and what else the cluster has in their namespaces or in the one that is named. Of what the user
    /// writes the files have the last word, of what was given out the cluster.
    pub fn complete(
        &self,
        documents: Vec<Document>,
        namespace: Option<&str>,
    ) -> Result<Vec<Document>, Failure> {
        let namespaces: BTreeSet<String> = match namespace {
            Some(namespace) => [namespace.to_owned()].into(),
            None => documents.iter().map(|d| d.key().namespace).filter(|n| !n.is_empty()).collect(),
        };
        let has_pools = documents.iter().any(|document| {
            let kind = document.resource();
            kind.group == ipam::GROUP && kind.kind == IpPool::API.kind
        });
        let mut merged: BTreeMap<_, Document> = BTreeMap::new();
        let (mut order, mut live) = (Vec::new(), Vec::new());
        for namespace in &namespaces {
            for kind in kinds() {
                live.extend(self.list(&kind, namespace, has_pools)?);
            }
        }
        for document in documents.into_iter().chain(live) {
            let kind = document.resource();
            let identity = (kind.group, kind.kind, document.key());
            let known = merged.contains_key(&identity);
            if !known {
                order.push(identity.clone());
            }
            if !known || (document.file == PLACE && GIVEN_OUT.contains(&document.kind())) {
                merged.insert(identity, document);
            }
        }
        Ok(order.into_iter().filter_map(|identity| merged.remove(&identity)).collect())
    }

    /// A kind that is not served is never taken for one without objects. Of addresses a cluster may have none: then each
    /// machine that needs one is reported, unless the files have the pools to give them out.
    fn list(&self, kind: &ResourceKind, namespace: &str, has_pools: bool) -> Result<Vec<Document>, Failure> {
        let listed = self.0.list(kind, namespace, Detail::Whole);
        let listed = listed
            .map_err(|error| unreadable(&format!("{} of namespace {namespace}", kind.plural), &error))?;
        let may_be_lacking = kind.group == CAPI_IPAM_GROUP || kind.group == ipam::GROUP && !has_pools;
        let what = format!("{} {} is not served", kind.kind, kind.api_version());
        match listed {
            Some(listed) => Ok(listed),
            None if may_be_lacking => {
                exit::say(format_args!("{what}: such objects are unknown"));
                Ok(Vec::new())
            }
            None => Err(Failure::CouldNotRun(format!(
                "{what} by the cluster: cannot read which hosts, indexes and addresses are in use, so nothing is compared"
            ))),
        }
    }

    /// How the Secrets differ from what is rendered, one text a Secret.
    pub fn differences(&self, rendering: &Rendering) -> Result<Vec<String>, Failure> {
        let mut differences = Vec::new();
        for machine in &rendering.machines {
            let wanted_documents = [
                ("metaData", &machine.meta_data_secret, &machine.meta_data),
                ("networkData", &machine.network_data_secret, &machine.network_data),
            ];
            for (member, key, document) in wanted_documents {
                let Some(document) = document else { continue };
                let (old, name) = match self.document(key, member)? {
                    Some(old) => (old, format!("cluster: Secret {key}")),
                    None => (String::new(), format!("cluster: Secret {key} is not there")),
                };
                let new = format!("rendered: machine {}, {member}", machine.whose());
                differences.extend(unified(&name, &new, &old, document));
            }
        }
        Ok(differences)
    }

    fn document(&self, key: &ObjectKey, member: &str) -> Result<Option<String>, Failure> {
        let secret = self.0.get::<Secret>(key);
        let secret = secret.map_err(|error| unreadable(&format!("Secret {key}"), &error))?;
        let Some(encoded) = secret.and_then(|secret| secret.data.get(member).cloned()) else {
            return Ok(None);
        };
        let bytes = STANDARD.decode(encoded).ok().and_then(|bytes| String::from_utf8(bytes).ok());
        let text =
            bytes.ok_or_else(|| Failure::CouldNotRun(format!("Secret {key}: {member} is not text")))?;
        Ok(Some(text))
    }
}

/// What rendering looks at.
fn kinds() -> [ResourceKind; 14] {
    [
        ResourceKind::of::<Metal3Machine>(),
        ResourceKind::of::<Metal3MachineTemplate>(),
        ResourceKind::of::<Metal3DataTemplate>(),
        ResourceKind::of::<Metal3DataClaim>(),
        ResourceKind::of::<Metal3Data>(),
        ResourceKind::of::<Metal3Cluster>(),
        ResourceKind::of::<Cluster>(),
        ResourceKind::of::<Machine>(),
        ResourceKind::of::<MachineSet>(),
        ResourceKind::of::<BareMetalHost>(),
        ResourceKind::of::<IpPool>(),
        ResourceKind::of::<IpClaim>(),
        ResourceKind::of::<IpAddress>(),
        ResourceKind::of::<CapiIpAddress>(),
    ]
}
