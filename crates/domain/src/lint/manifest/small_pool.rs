//! A pool, or a range, with too few addresses.

use std::collections::{BTreeMap, BTreeSet};

use capm3_api::{ipam::IpPool, v1beta2::Metal3DataTemplate};

use super::owners::{self, Owner};

use crate::{
    address::count_addresses,
    lint::{Check, Draft, Example, Manifests, ObjectId, Rule, Severity, Subject},
    numbers::Runs,
    render::{Objects, inline_limit, referenced_pools},
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L021"),
    title: "a pool or range has fewer addresses than machines need",
    severity: Severity::Error,
    why: "Each machine takes one address of each pool that its data template names. Machines that get \
          none wait for ever. Where only the roll-out needs one more address, it cannot start, so it is \
          a warning.",
    mend: "widen a range of the pool, or add one",
    example: Example {
        wrong: r#"kind: IPPool
spec:
  pools: [{start: 10.0.0.10, end: 10.0.0.11}]   # for three machines"#,
        right: r#"kind: IPPool
spec:
  pools: [{start: 10.0.0.10, end: 10.0.0.19}]   # for three machines"#,
    },
    check: Check::Manifests(check),
};

/// How many machines need something.
#[derive(Default)]
struct Need<'a> {
    replicas: u64,
    surge: u64,
    owners: BTreeSet<&'a str>,
}

fn check(manifests: &Manifests<'_>) -> Vec<(ObjectId, Draft)> {
    let owners = owners::all(manifests);
    let mut of_template: BTreeMap<ObjectId, (&Subject<Metal3DataTemplate>, Need<'_>)> = BTreeMap::new();
    for owner in &owners {
        for (template, replicas) in owner.data_templates(manifests) {
            let need = &mut of_template.entry(template.id).or_insert((template, Need::default())).1;
            need.add(owner, replicas);
        }
    }
    let mut of_pool: BTreeMap<ObjectId, (&Subject<IpPool>, Need<'_>)> = BTreeMap::new();
    let mut drafts = Vec::new();
    for (template, need) in of_template.values() {
        if let Some(limit) = inline_limit(&template.object.spec) {
            let what = "the smallest range of the template";
            drafts.extend(need.judge(limit, what, "spec").map(|draft| (template.id, draft)));
        }
        let pools = referenced_pools(&template.object.spec, Objects::default()).unwrap_or_default();
        let namespace = template.object.metadata.namespace.as_deref().unwrap_or_default();
        for pool in pools.values().filter(|pool| pool.is_metal3()) {
            if let Some(found) = manifests.pools.get(namespace, &pool.name) {
                of_pool.entry(found.id).or_insert((found, Need::default())).1.join(need);
            }
        }
    }
    for (pool, need) in of_pool.values() {
        let capacity = count_addresses(&pool.object.spec, &Runs::default()).capacity;
        drafts.extend(need.judge(capacity, "the pool", "spec.pools").map(|draft| (pool.id, draft)));
    }
    drafts
}

impl<'a> Need<'a> {
    fn add(&mut self, owner: &'a Owner<'_>, replicas: u64) {
        self.replicas += replicas;
        self.surge = self.surge.max(owner.surge);
        self.owners.insert(&owner.object.name);
    }

    fn join(&mut self, other: &Self) {
        self.replicas += other.replicas;
        self.surge = self.surge.max(other.surge);
        self.owners.extend(&other.owners);
    }

    fn judge(&self, capacity: u128, what: &str, field: &str) -> Option<Draft> {
        let (replicas, surge) = (u128::from(self.replicas), u128::from(self.surge));
        let owners = self.owners.iter().copied().collect::<Vec<_>>().join(", ");
        let has = if capacity == 1 { "1 address".to_owned() } else { format!("{capacity} addresses") };
        if capacity < replicas {
            return Some(Draft::new(field, format!("{what} has {has} for {replicas} machines of {owners}")));
        }
        let message =
            format!("{what} has {has} for {replicas} machines of {owners}: a roll-out needs {surge} more");
        (capacity < replicas + surge).then(|| Draft::new(field, message).warning())
    }
}
