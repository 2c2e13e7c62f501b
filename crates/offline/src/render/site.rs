//! The objects of the files in memory, and the document that each came from.

use std::{collections::BTreeMap, sync::Arc};

use capm3_api::{
    ipam,
    metadata::group_of,
    neighbours::{CAPI_GROUP, CAPI_IPAM_GROUP, CONTROL_PLANE_GROUP, METAL3_GROUP},
    v1beta2,
};
use capm3_engine::{
    Memory, Object, ObjectKey, Reader,
    manifests::{Document, Problem},
};

use crate::{planner, stored};

/// An object and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct Located<'d, K> {
    pub object: Arc<K>,
    pub document: &'d Document,
}

/// Where objects stand.
#[derive(Debug, Default)]
pub(crate) struct Site<'d> {
    documents: BTreeMap<(&'d str, &'d str, ObjectKey), &'d Document>,
    /// Control planes, MachineDeployments and MachineSets, in the order of the files.
    pub scalable: Vec<&'d Document>,
}

impl<'d> Site<'d> {
    /// Reads documents into memory. Kinds that the controllers do not read are passed over.
    pub fn read(
        documents: impl Iterator<Item = &'d Document>,
        problems: &mut Vec<Problem>,
    ) -> (Self, Memory) {
        let (mut site, mut loader) = (Self::default(), planner::Loader::default());
        for document in documents {
            let group = group_of(document.api_version());
            if matches!((group, document.kind()), (CAPI_GROUP, "MachineDeployment" | "MachineSet"))
                || group == CONTROL_PLANE_GROUP
            {
                site.scalable.push(document);
            }
            let Some(read) = loader.load(document) else { continue };
            let place = (group, document.kind(), document.key());
            let first = *site.documents.entry(place).or_insert(document);
            let is_first = std::ptr::eq(first, document);
            problems.extend(if is_first { read.err() } else { Some(stored::twice(document, first)) });
        }
        (site, loader.finish())
    }

    /// The document of an object.
    pub fn document<K: Object>(&self, key: &ObjectKey) -> Option<&'d Document> {
        let (group, kind) = (K::group(&()), K::kind(&()));
        self.documents.get(&(group.as_ref(), kind.as_ref(), key.clone())).copied()
    }

    /// An object of the files.
    pub fn get<K: Object>(&self, memory: &Memory, key: &ObjectKey) -> Option<Located<'d, K>> {
        Some(Located { object: memory.get(key)?, document: self.document::<K>(key)? })
    }

    /// Every object of a kind, by namespace and name.
    pub fn all<K: Object>(&self, memory: &Memory) -> Vec<Located<'d, K>> {
        let all = memory.caches().store::<K>().map(|store| store.all()).unwrap_or_default();
        let located = all.into_iter().filter_map(|object| {
            let document = self.document::<K>(&object.key())?;
            Some(Located { object, document })
        });
        located.collect()
    }
}

/// Whether objects of the document's group have a say in rendering.
pub(super) fn reads(document: &Document) -> bool {
    let group = group_of(document.api_version());
    let groups =
        [v1beta2::GROUP, METAL3_GROUP, ipam::GROUP, CAPI_IPAM_GROUP, CAPI_GROUP, CONTROL_PLANE_GROUP];
    groups.contains(&group)
}
