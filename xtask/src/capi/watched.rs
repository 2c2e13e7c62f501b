//! Everything that happens on a management cluster during a scenario, and what must hold of it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use anyhow::{Result, ensure};
use capm3_engine::{ApiClient, ResourceKind};
use capm3_lab::invariants;
use serde_json::Value;

use crate::{
    e2e::text,
    real::wait::Stopwatch,
    replicas::history::{History, kinds},
};

/// What a user gives, by the ends of the names: certificates of a cluster, credentials of hosts.
const GIVEN: [&str; 5] = ["-ca", "-etcd", "-apiserver-etcd-client", "-proxy", "bmc-credentials"];

/// A history from some moment on.
pub struct Watched(History);

impl Watched {
    /// From now on. ClusterClasses are followed too: they own the templates that they name.
    pub async fn follow(client: &ApiClient) -> Result<Self> {
        let class = ResourceKind {
            group: "cluster.x-k8s.io".to_owned(),
            version: "v1beta2".to_owned(),
            kind: "ClusterClass".to_owned(),
            plural: "clusterclasses".to_owned(),
        };
        let kinds: Vec<_> = kinds().into_iter().chain([class]).collect();
        Ok(Self(History::follow(client, &kinds, Stopwatch::start()).await?))
    }

    /// How often the image of each host was begun to be written, by namespace and name.
    pub fn provisionings(&self) -> Result<BTreeMap<String, usize>> {
        let (mut counts, mut states) = (BTreeMap::new(), BTreeMap::new());
        for revision in self.0.revisions()? {
            if text(&revision.object, "/kind") != "BareMetalHost" {
                continue;
            }
            let host = key(&revision.object);
            let state = text(&revision.object, "/status/provisioning/state").to_owned();
            let count: &mut usize = counts.entry(host.clone()).or_default();
            let before = states.insert(host, state.clone());
            if state == "provisioning" && before.as_ref() != Some(&state) {
                *count += 1;
            }
        }
        Ok(counts)
    }

    /// How often each host lost power while it ran an image, by name; hosts that never did are left out.
    pub fn power_cycles(&self) -> Result<BTreeMap<String, usize>> {
        let (mut counts, mut powered) = (BTreeMap::new(), BTreeMap::new());
        for revision in self.0.revisions()? {
            let object = &revision.object;
            if text(object, "/kind") != "BareMetalHost"
                || text(object, "/status/provisioning/state") != "provisioned"
            {
                continue;
            }
            let host = text(object, "/metadata/name").to_owned();
            let is_on = object.pointer("/status/poweredOn").is_some_and(|it| it == true);
            let was_on = powered.insert(host.clone(), is_on).unwrap_or(true);
            if was_on && !is_on {
                *counts.entry(host).or_default() += 1;
            }
        }
        Ok(counts)
    }

    /// Whether an object of a kind ever was so.
    pub fn any(&self, kind: &str, was_so: impl Fn(&Value) -> bool) -> Result<bool> {
        let revisions = self.0.revisions()?;
        Ok(revisions.iter().any(|it| text(&it.object, "/kind") == kind && was_so(&it.object)))
    }

    /// Names of all objects of a kind that ever were there.
    pub fn names_of(&self, kind: &str) -> Result<BTreeSet<String>> {
        let revisions = self.0.revisions()?;
        let of_kind = revisions.iter().map(|it| &it.object).filter(|it| text(it, "/kind") == kind);
        Ok(of_kind.map(|it| text(it, "/metadata/name").to_owned()).collect())
    }

    /// Nothing was mixed up, nothing taken from a live machine, and nothing is left over in a namespace.
    pub fn judge(&self, namespace: &str) -> Result<()> {
        let revisions = self.0.revisions()?;
        ensure!(!revisions.is_empty(), "nothing was seen");
        none("mixed up", &invariants::judge(&revisions))?;
        none("taken from live machines", &invariants::judge_losses(&revisions))?;
        let objects: Vec<Arc<Value>> = self.0.with_objects(|objects| {
            objects.all().filter(|it| text(it, "/metadata/namespace") == namespace).cloned().collect()
        })?;
        let is_given = |name: &&str| GIVEN.iter().any(|end| name.ends_with(end));
        let names = objects.iter().map(|object| text(object, "/metadata/name")).filter(is_given);
        let given: BTreeSet<String> = names.map(str::to_owned).collect();
        none("left behind", &invariants::leaks(&objects, &given))
    }
}

fn none(what: &str, found: &[String]) -> Result<()> {
    ensure!(found.is_empty(), "{what}:\n  {}", found.join("\n  "));
    Ok(())
}

fn key(object: &Value) -> String {
    format!("{}/{}", text(object, "/metadata/namespace"), text(object, "/metadata/name"))
}
