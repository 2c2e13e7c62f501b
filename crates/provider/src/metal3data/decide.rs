//! What to do with a Metal3Data: get one address of each pool, render, store the Secrets; at the end give the
//! addresses back.

use std::collections::BTreeMap;

use capm3_api::{
    ipam::{IpClaim, IpClaimSpec},
    metadata::MetadataExt,
    neighbours::SecretMetadata,
    reference::{SecretRef, WideRef},
    v1beta2::{self, Metal3Data, Metal3DataTemplate, Metal3Machine},
    vocabulary::{annotation, finalizer},
};
use capm3_domain::render::{
    Address, Content, Inputs, Objects, Pools, RenderedSecret, referenced_pools, render_meta_data,
    render_network_data, secret_name,
};
use capm3_engine::{End, ObjectKey, Plan, ResourceKind};
use kube::core::ObjectMeta;

use super::{PoolClaim, Snapshot, observe::ip_claim_name};
use crate::{
    finalizers::{add_finalizer, remove_finalizer},
    owners::controlled_by,
};

/// Longest text that the schema allows in `status.errorMessage`.
const LONGEST_MESSAGE: usize = 512;

/// One look at a data object.
struct Pass<'a> {
    snapshot: &'a Snapshot,
    new: Metal3Data,
    others: Plan,
}

/// Why the look ends.
enum Stop {
    /// Something must come first.
    Wait(String),
    /// Something is wrong that only a change of its inputs can cure.
    Fail(String),
}

type Step<T = ()> = Result<T, Stop>;

/// Decides.
pub fn decide(snapshot: &Snapshot) -> Plan {
    let mut pass = Pass { snapshot, new: snapshot.data.as_ref().clone(), others: Plan::done() };
    let stop = if pass.new.metadata.is_deleting() { pass.delete() } else { pass.render() };
    let end = match stop {
        Ok(()) => {
            pass.new.status.error_message = None;
            End::Done
        }
        Err(Stop::Wait(what)) => {
            pass.new.status.error_message = None;
            End::WaitFor(what)
        }
        Err(Stop::Fail(message)) => {
            pass.new.status.error_message = Some(message.chars().take(LONGEST_MESSAGE).collect());
            End::WaitFor(message)
        }
    };
    pass.finish(end)
}

impl Pass<'_> {
    /// Own spec and finalizer first, then what hangs on them, then the status; the last finalizer goes last.
    fn finish(self, end: End) -> Plan {
        let old = self.snapshot.data.as_ref();
        let mut plan = Plan::done();
        if self.new.metadata.is_deleting() {
            plan.append(self.others);
            plan.update_object(old, &self.new);
        } else {
            plan.update_object(old, &self.new);
            plan.append(self.others);
            plan.update_status(old, &self.new);
        }
        plan.ending(end)
    }

    fn render(&mut self) -> Step {
        self.check_cluster()?;
        let (template, machine) = resolve(self.snapshot)?;
        self.hold_on(template, machine);
        let missing = self.missing_secrets(template)?;
        if missing.is_empty() {
            self.new.status.ready = Some(true);
            return Ok(());
        }
        let snapshot = self.snapshot;
        let owner = snapshot.machine.as_deref();
        let owner = owner.ok_or_else(|| Stop::Wait("the Machine that owns the Metal3Machine".to_owned()))?;
        let host = snapshot.host.as_deref();
        let host = host.ok_or_else(|| Stop::Wait("BareMetalHost of the Metal3Machine".to_owned()))?;
        let objects = Objects { metal3_machine: Some(machine), machine: Some(owner), host: Some(host) };
        let pools = referenced_pools(&template.spec, objects).map_err(|e| Stop::Fail(e.to_string()))?;
        let addresses = self.addresses(&pools)?;
        let data = self.new.clone();
        let inputs = Inputs { data: &data, objects, addresses: &addresses };
        for content in missing {
            let document = render_document(content, template, &inputs)?;
            let name = machine.metadata.name_str();
            let secret = RenderedSecret::new(content, &data, name, &owner.spec.cluster_name, document);
            let kind = ResourceKind::of::<SecretMetadata>();
            let key = ObjectKey::new(&secret.namespace, &secret.name);
            self.others.create_value(kind, key, secret.to_object());
        }
        self.new.status.ready = Some(true);
        Ok(())
    }

    fn check_cluster(&self) -> Step {
        let cluster = self.snapshot.cluster.as_deref();
        let cluster = cluster.ok_or_else(|| Stop::Wait("the Cluster that the label names".to_owned()))?;
        if cluster.is_paused() || self.new.metadata.annotation(annotation::PAUSED).is_some() {
            return Err(Stop::Wait("the end of the pause".to_owned()));
        }
        Ok(())
    }

    /// The finalizer and the names of the Secrets are stored before anything hangs on them.
    fn hold_on(&mut self, template: &Metal3DataTemplate, machine: &Metal3Machine) {
        add_finalizer(&mut self.new.metadata, finalizer::DATA);
        let namespace = self.new.metadata.namespace_str().to_owned();
        let named = |content| {
            let name = secret_name(content, &self.snapshot.data, machine.metadata.name_str());
            Some(SecretRef::new(&namespace, name))
        };
        if template.spec.meta_data.is_some() {
            self.new.spec.meta_data = named(Content::MetaData);
        }
        if template.spec.network_data.is_some() {
            self.new.spec.network_data = named(Content::NetworkData);
        }
    }

    /// Which Secrets must be made. One that is there is never rewritten; one of somebody else is refused.
    fn missing_secrets(&self, template: &Metal3DataTemplate) -> Step<Vec<Content>> {
        let wanted = [
            (Content::MetaData, template.spec.meta_data.is_some()),
            (Content::NetworkData, template.spec.network_data.is_some()),
        ];
        let mut missing = Vec::new();
        for (content, _) in wanted.into_iter().filter(|(_, wanted)| *wanted) {
            match self.snapshot.secrets.get(content.key()) {
                None => missing.push(content),
                Some(secret) if secret.metadata.is_owned_by_uid(self.new.metadata.uid_str()) => {}
                Some(secret) if secret.metadata.is_deleting() => {
                    return Err(Stop::Wait(format!(
                        "the old Secret {} to be gone",
                        secret.metadata.name_str()
                    )));
                }
                Some(secret) => {
                    return Err(Stop::Fail(format!(
                        "Secret {} belongs to somebody else and is not touched; delete or rename it",
                        secret.metadata.name_str()
                    )));
                }
            }
        }
        Ok(missing)
    }

    /// One address of each pool; claims that are not there yet are made.
    fn addresses(&mut self, pools: &Pools) -> Step<BTreeMap<String, Address>> {
        let snapshot = self.snapshot;
        let mut addresses = BTreeMap::new();
        let mut waiting = Vec::new();
        for (name, pool) in pools {
            if !pool.is_metal3() {
                return Err(Stop::Fail(format!(
                    "pool {name} is a {} of {}; only IPPool of ipam.metal3.io is served",
                    pool.kind, pool.api_group
                )));
            }
            match snapshot.ip_claims.iter().find(|c| c.claim.spec.pool.name_str() == name) {
                None => waiting.push(self.ask(name)),
                Some(claim) => match given(claim) {
                    Ok(Some(address)) => {
                        addresses.insert(name.clone(), address);
                    }
                    Ok(None) => waiting.push(format!("an address of IPPool {name}")),
                    Err(message) => {
                        return Err(Stop::Fail(format!("IP Allocation for {name} failed : {message}")));
                    }
                },
            }
        }
        if waiting.is_empty() { Ok(addresses) } else { Err(Stop::Wait(waiting.join(", "))) }
    }

    /// Makes the claim on a pool, unless a claim of that name is still there.
    fn ask(&mut self, pool: &str) -> String {
        let Some(namesake) = self.snapshot.namesakes.get(pool) else {
            let claim = self.new_claim(pool);
            self.others.create(&claim);
            return format!("an address of IPPool {pool}");
        };
        let name = namesake.metadata.name_str();
        let predecessor = namesake.metadata.owner(v1beta2::GROUP, "Metal3Data");
        let is_of_predecessor = predecessor.is_some_and(|o| o.name == self.new.metadata.name_str());
        if is_of_predecessor && namesake.metadata.is_deleting() {
            // Its data had our name, so it is gone: nobody else will take this finalizer off.
            let mut released = namesake.as_ref().clone();
            remove_finalizer(&mut released.metadata, finalizer::DATA);
            self.others.update_object(namesake.as_ref(), &released);
        }
        format!("IPClaim {name}, which is not of this data, to be gone")
    }

    fn new_claim(&self, pool: &str) -> IpClaim {
        let data = self.snapshot.data.as_ref();
        let namespace = data.metadata.namespace_str();
        IpClaim {
            metadata: ObjectMeta {
                name: Some(ip_claim_name(data, pool)),
                namespace: Some(namespace.to_owned()),
                labels: data.metadata.labels.clone(),
                finalizers: Some(vec![finalizer::DATA.to_owned()]),
                owner_references: Some(vec![controlled_by(data)]),
                ..ObjectMeta::default()
            },
            spec: IpClaimSpec { pool: WideRef::new(namespace, pool) },
            ..IpClaim::default()
        }
    }

    /// Waits for the claim to go, gives every address back, lets go. Needs no template.
    fn delete(&mut self) -> Step {
        if self.is_claimed() {
            return Err(Stop::Wait("the Metal3DataClaim to be gone".to_owned()));
        }
        for PoolClaim { claim, .. } in &self.snapshot.ip_claims {
            let mut released = claim.as_ref().clone();
            remove_finalizer(&mut released.metadata, finalizer::DATA);
            self.others.update_object(claim.as_ref(), &released);
            if !claim.metadata.is_deleting() {
                self.others.delete(claim.as_ref());
            }
        }
        remove_finalizer(&mut self.new.metadata, finalizer::DATA);
        // The claim is gone, so nobody else will take its finalizer off.
        remove_finalizer(&mut self.new.metadata, finalizer::DATA_CLAIM);
        Ok(())
    }

    /// Whether the claim that this data was made for is still there; a later namesake does not count. Data without
    /// an owner cannot tell, so any claim of the name holds it.
    fn is_claimed(&self) -> bool {
        if self.new.metadata.owner(v1beta2::GROUP, "Metal3DataClaim").is_none() {
            return self.snapshot.claim.is_some();
        }
        self.snapshot
            .claim
            .as_ref()
            .is_some_and(|claim| self.new.metadata.is_owned_by_uid(claim.metadata.uid_str()))
    }
}

/// Template and machine of the data, and that the machine still asks for this template.
fn resolve(snapshot: &Snapshot) -> Step<(&Metal3DataTemplate, &Metal3Machine)> {
    let name = snapshot.data.spec.template.as_ref().map(|t| t.name_str()).unwrap_or_default();
    let template = snapshot.template.as_deref();
    let template = template.ok_or_else(|| Stop::Wait(format!("Metal3DataTemplate {name}")))?;
    if snapshot.claim.is_none() {
        return Err(Stop::Wait("the Metal3DataClaim".to_owned()));
    }
    let machine = snapshot.metal3_machine.as_deref();
    let machine = machine.ok_or_else(|| Stop::Wait("the Metal3Machine that owns the claim".to_owned()))?;
    let asked = machine.spec.data_template.as_ref().map(|t| t.name_str()).unwrap_or_default();
    if asked != name {
        return Err(Stop::Fail(format!(
            "metal3Machine associated with Metal3DataTemplate is not found: Metal3Machine {} asks for template {asked:?}, not {name:?}",
            machine.metadata.name_str()
        )));
    }
    Ok((template, machine))
}

fn render_document(content: Content, template: &Metal3DataTemplate, inputs: &Inputs<'_>) -> Step<String> {
    let document = match content {
        Content::MetaData => template.spec.meta_data.as_ref().map(|m| render_meta_data(m, inputs)),
        Content::NetworkData => template.spec.network_data.as_ref().map(|n| render_network_data(n, inputs)),
    };
    match document {
        Some(Ok(document)) => Ok(document),
        Some(Err(error)) => Err(Stop::Fail(error.to_string())),
        None => Ok(String::new()),
    }
}

/// The address that a claim was given, `None` while it waits, or why it cannot be served.
fn given(claim: &PoolClaim) -> Result<Option<Address>, String> {
    if let Some(message) = claim.claim.status.error_message.as_ref().filter(|m| !m.is_empty()) {
        return Err(message.clone());
    }
    Ok(claim.address.as_ref().map(|address| Address {
        address: address.spec.address.clone(),
        prefix: address.spec.prefix,
        gateway: address.spec.gateway.clone().unwrap_or_default(),
        dns_servers: address.spec.dns_servers.clone(),
    }))
}
