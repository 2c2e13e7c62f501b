//! What a decision about a Metal3Machine needs to know.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{
        BareMetalHost, CAPI_GROUP, CONTROL_PLANE_GROUP, Cluster, KubeadmControlPlane, Machine,
        MachineDeployment, MachineSet, SecretMetadata,
    },
    v1beta2::{
        GROUP, Metal3Cluster, Metal3Data, Metal3DataClaim, Metal3DataTemplate, Metal3Machine,
        Metal3MachineTemplate,
    },
    vocabulary::{finalizer, label},
};
use capm3_domain::wait::Refusal;
use capm3_domain::{
    data_template::machine_template_name,
    host::{Consumer, Holdings, Ownership, annotated_host, holdings, known_host, known_host_uid, ownership},
};
use capm3_engine::{Object, ObjectKey, Reader};

use super::{
    candidates::Candidates,
    claim_release,
    host_data::{self, HostData},
    live_reads::Live,
    observe_nodes::{Nodes, observe_nodes},
};
use crate::{
    indexes::{HOSTS_BY_BMC_SECRET, HOSTS_BY_CONSUMER, HOSTS_BY_UID, MACHINES_IN_PROGRESS},
    rightful_owner::of_another,
    workload::Workload,
};

/// A Metal3Machine and what surrounds it.
#[derive(Debug, Clone)]
pub struct MachineSnapshot<'r> {
    /// The object itself.
    pub metal3_machine: Arc<Metal3Machine>,
    /// How many machines of the namespace come up or go.
    pub machines_in_progress: usize,
    /// Name of the owner Machine, if an owner is named.
    pub owner: Option<String>,
    /// The owner Machine, if it is there.
    pub machine: Option<Arc<Machine>>,
    /// The MachineSet of the Machine.
    pub machine_set: Option<Arc<MachineSet>>,
    /// The Cluster, if it is there.
    pub cluster: Option<Arc<Cluster>>,
    /// The Metal3Cluster, if it is there.
    pub metal3_cluster: Option<Arc<Metal3Cluster>>,
    /// The template that the machine was made from, if it is there; of a machine that goes, else that of its owner.
    pub template: Option<Arc<Metal3MachineTemplate>>,
    /// The host of this machine: the one it consumes, else the one that its provider ID or its annotation names.
    pub host: Option<Arc<BareMetalHost>>,
    /// Whose the data is that the host names, while there is no image on it.
    pub host_data: HostData,
    /// Hosts without image that name this machine as their consumer, while it is known to have another one.
    pub surplus: Vec<Arc<BareMetalHost>>,
    /// Further hosts that name this machine and are left as they are, such as one in use that it has no record of.
    pub held: Vec<Arc<BareMetalHost>>,
    /// Hosts that this machine has recorded or is named by, and that belong to another machine: their names, and its.
    pub of_others: BTreeMap<String, String>,
    /// The Secret with the credentials of the host's management controller, if it is there.
    pub bmc_secret: Option<Arc<SecretMetadata>>,
    /// Whether another host of the same cluster uses that Secret too; looked at only when the machine goes.
    pub bmc_secret_is_shared: bool,
    /// The hosts that the machine may take, pulled when one must be chosen.
    pub candidates: Candidates<'r>,
    /// The claim of this machine's name.
    pub claim: Option<Arc<Metal3DataClaim>>,
    /// Whether the claim is of an earlier machine of this name, whose end was seen.
    pub claim_is_of_former_machine: bool,
    /// The data template that the claim waits for, if there is none of that name.
    pub missing_data_template: Option<ObjectKey>,
    /// Data templates that a claim may come to name and whose controller holds them, where there is no claim yet.
    pub held_data_templates: BTreeSet<String>,
    /// The data that serves the claim.
    pub data: Option<Arc<Metal3Data>>,
    /// The data that goes with the claim; looked at only when the machine goes.
    pub data_to_delete: Option<Arc<Metal3Data>>,
    /// Secrets that the spec names and that are not there: member of the spec, and name.
    pub missing_secrets: Vec<(&'static str, String)>,
    /// Secrets that the spec names and that a move of the cluster leaves behind: member of the spec, and name.
    pub stranded_secrets: Vec<(&'static str, String)>,
    /// What is known of the workload cluster's Nodes.
    pub nodes: Nodes,
    /// Fields of a host's spec that the installed CRD does not have.
    pub host_lacks: Vec<&'static str>,
    /// What the server has just refused to do for this machine.
    pub refused: Option<Refusal>,
    /// Whether released hosts stay powered on for faster provisioning.
    pub fast_track: bool,
    /// Whether the decision is for people to read and not carried out: the finalizer counts as written then.
    pub is_preview: bool,
    /// What was read from the server itself during this reconciliation.
    pub live: Live,
}

impl MachineSnapshot<'_> {
    /// Whose a host is, seen from this machine. Who is named on a host that belongs to another machine has it not.
    pub fn ownership(&self, host: &BareMetalHost) -> Ownership {
        match self.of_others.get(host.metadata.name_str()) {
            Some(other) => Ownership::Other(Consumer::machine(host.metadata.namespace_str(), other)),
            None => ownership(&self.metal3_machine, host),
        }
    }
}

impl MachineSnapshot<'_> {
    /// Whether the machine has recorded a host that is not there.
    pub fn is_host_gone(&self) -> bool {
        self.host.is_none() && matches!(annotated_host(&self.metal3_machine), Ok(Some(_)))
    }
}

/// What a decision needs beside the objects.
#[derive(Clone, Copy)]
pub struct Inputs<'a> {
    /// What is known of a workload cluster.
    pub workload: &'a dyn Fn(&ObjectKey) -> Workload,
    /// What the server itself has answered.
    pub live: &'a Live,
    /// Fields of a host's spec that the installed CRD does not have.
    pub host_lacks: &'a [&'static str],
    /// What the server has just refused to do for this machine.
    pub refused: Option<&'a Refusal>,
    /// Whether released hosts stay powered on for faster provisioning.
    pub fast_track: bool,
    /// Whether the decision is for people to read and not carried out.
    pub is_preview: bool,
    /// Whether a Secret that the reader does not show is missing.
    pub knows_secrets: bool,
}

impl<'a> Inputs<'a> {
    /// Where nothing but the reader can be asked: workload clusters are not known, and the CRD of hosts is complete.
    pub fn trusting(live: &'a Live) -> Self {
        Self {
            workload: &|_| Workload::Unknown,
            live,
            host_lacks: &[],
            refused: None,
            fast_track: false,
            is_preview: false,
            knows_secrets: true,
        }
    }
}

impl std::fmt::Debug for Inputs<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Inputs")
            .field("live", &self.live)
            .field("refused", &self.refused)
            .finish_non_exhaustive()
    }
}

/// Reads the snapshot; `None` when the object is gone.
pub fn observe<'r>(
    reader: &'r impl Reader,
    inputs: &Inputs<'_>,
    key: &ObjectKey,
) -> Option<MachineSnapshot<'r>> {
    let metal3_machine = reader.get::<Metal3Machine>(key)?;
    let here = |name: &str| ObjectKey::new(&key.namespace, name);
    let owner = metal3_machine.metadata.owner(CAPI_GROUP, "Machine").map(|owner| owner.name.clone());
    let machine = owner.as_deref().and_then(|name| reader.get::<Machine>(&here(name)));
    let machine_set = machine
        .as_ref()
        .and_then(|m| m.metadata.owner(CAPI_GROUP, "MachineSet"))
        .and_then(|owner| reader.get::<MachineSet>(&here(&owner.name)));
    let cluster = find_cluster(reader, &metal3_machine, machine.as_deref());
    let metal3_cluster = cluster
        .as_ref()
        .and_then(|c| c.spec.infrastructure_ref.as_ref()?.name.clone())
        .and_then(|name| reader.get::<Metal3Cluster>(&here(&name)));
    let Holdings { host, surplus, held, of_others } = find_hosts(reader, &metal3_machine, key);
    let bmc_secret = host.as_ref().and_then(|host| host.spec.bmc.credentials_name.as_deref());
    let bmc_secret: Option<Arc<SecretMetadata>> =
        bmc_secret.filter(|name| !name.is_empty()).and_then(|name| reader.get(&here(name)));
    let bmc_secret_is_shared = metal3_machine.metadata.is_deleting()
        && bmc_secret.as_ref().is_some_and(|secret| is_shared(reader, secret, host.as_deref()));
    let claim = reader.get::<Metal3DataClaim>(key);
    let data = rendered_data(&metal3_machine, claim.as_deref())
        .and_then(|name| reader.get::<Metal3Data>(&here(&name)));
    let data_to_delete = claim.as_deref().filter(|_| metal3_machine.metadata.is_deleting());
    let data_to_delete = data_to_delete.and_then(|claim| claim_release::data_to_delete(reader, claim));
    let template = find_template(reader, &metal3_machine).or_else(|| {
        template_for_release(reader, &metal3_machine, machine.as_deref(), machine_set.as_deref())
    });
    let held_data_templates = match claim {
        None => held_data_templates(reader, &metal3_machine, template.as_deref()),
        Some(_) => BTreeSet::new(),
    };
    let given = |which: &dyn Fn(Option<&SecretMetadata>) -> bool| {
        given_secrets(reader, &metal3_machine, machine.as_deref(), which)
    };
    // What is not known is not reported as missing.
    let missing_secrets = if inputs.knows_secrets { given(&|secret| secret.is_none()) } else { Vec::new() };
    let stranded_secrets = given(&|secret| secret.is_some_and(stays_behind));
    let nodes = observe_nodes(reader, &metal3_machine, host.as_deref(), machine.as_deref(), inputs.workload);
    let host_data = host.as_deref().map(|host| host_data::observe(reader, host)).unwrap_or_default();
    Some(MachineSnapshot {
        machines_in_progress: reader.count(&MACHINES_IN_PROGRESS, &key.namespace),
        owner,
        machine,
        machine_set,
        cluster,
        metal3_cluster,
        template,
        host,
        host_data,
        surplus,
        held,
        of_others,
        bmc_secret,
        bmc_secret_is_shared,
        candidates: Candidates::read(reader, &metal3_machine, key),
        missing_data_template: claim.as_deref().and_then(|claim| missing_data_template(reader, claim)),
        claim_is_of_former_machine: claim.as_deref().is_some_and(|claim| is_of_former_machine(reader, claim)),
        data_to_delete,
        claim,
        held_data_templates,
        data,
        missing_secrets,
        stranded_secrets,
        nodes,
        host_lacks: inputs.host_lacks.to_vec(),
        refused: inputs.refused.cloned(),
        fast_track: inputs.fast_track,
        is_preview: inputs.is_preview,
        live: inputs.live.clone(),
        metal3_machine,
    })
}

/// The Cluster that the Machine names. If the Machine is gone, the machine's own label counts: a Cluster that is paused
/// holds up the deletion of what the Machine has left.
fn find_cluster(
    reader: &impl Reader,
    metal3_machine: &Metal3Machine,
    machine: Option<&Machine>,
) -> Option<Arc<Cluster>> {
    let metadata = machine.map_or(&metal3_machine.metadata, |machine| &machine.metadata);
    let name = metadata.label(label::CLUSTER_NAME)?;
    reader.get(&ObjectKey::new(metal3_machine.metadata.namespace_str(), name))
}

/// Secrets of the user about which `which` holds. The own user data is used only where the Machine has none.
fn given_secrets(
    reader: &impl Reader,
    machine: &Metal3Machine,
    owner: Option<&Machine>,
    which: &dyn Fn(Option<&SecretMetadata>) -> bool,
) -> Vec<(&'static str, String)> {
    let has_none = owner.is_some_and(|owner| !owner.spec.bootstrap.names_any());
    let user_data = if has_none { &machine.spec.user_data } else { &None };
    let given = [
        ("userData", user_data),
        ("metaData", &machine.spec.meta_data),
        ("networkData", &machine.spec.network_data),
    ];
    let named = given.into_iter().filter_map(|(field, secret)| Some((field, secret.as_ref()?.name_str())));
    let holds = |(_, name): &(&str, &str)| {
        let key = ObjectKey::new(machine.metadata.namespace_str(), *name);
        !name.is_empty() && which(reader.get::<SecretMetadata>(&key).as_deref())
    };
    named.filter(holds).map(|(field, name)| (field, name.to_owned())).collect()
}

/// Whether clusterctl leaves a Secret behind: it moves what hangs in the tree of a cluster or says so by a label.
fn stays_behind(secret: &SecretMetadata) -> bool {
    let owned = secret.metadata.owner_references.as_ref().is_some_and(|owners| !owners.is_empty());
    let labels = [label::MOVE, label::MOVE_HIERARCHY];
    !owned && labels.iter().all(|label| secret.metadata.label(label).is_none())
}

/// The host in use, those beyond it, and those that belong to other machines.
pub fn find_hosts(
    reader: &impl Reader,
    machine: &Metal3Machine,
    key: &ObjectKey,
) -> Holdings<Arc<BareMetalHost>> {
    let consumed = reader.by_index(&HOSTS_BY_CONSUMER, &key.to_string());
    let known = find_known_host(reader, machine, known_host(machine).ok().flatten(), key);
    holdings(machine, consumed, known, |host| of_another(reader, machine, host))
}

/// The host that the machine knows as its own, if it is there.
fn find_known_host(
    reader: &impl Reader,
    machine: &Metal3Machine,
    known: Option<String>,
    key: &ObjectKey,
) -> Option<Arc<BareMetalHost>> {
    let uid = known_host_uid(machine);
    let of_uid = uid.into_iter().flat_map(|uid| reader.by_index(&HOSTS_BY_UID, &uid));
    let of_uid = of_uid.into_iter().find(|host| host.metadata.namespace_str() == key.namespace);
    of_uid.or_else(|| reader.get(&ObjectKey::new(&key.namespace, known?)))
}

fn find_template(reader: &impl Reader, machine: &Metal3Machine) -> Option<Arc<Metal3MachineTemplate>> {
    let name = machine_template_name(machine)?;
    reader.get(&ObjectKey::new(machine.metadata.namespace_str(), name))
}

/// The template by which the owner of a machine that goes makes the next one: it says whether the host is kept, once
/// the machine's own template was pruned. A machine that stays is never judged by a template that it was not made from.
fn template_for_release(
    reader: &impl Reader,
    metal3_machine: &Metal3Machine,
    machine: Option<&Machine>,
    machine_set: Option<&MachineSet>,
) -> Option<Arc<Metal3MachineTemplate>> {
    let machine = machine.filter(|_| metal3_machine.metadata.is_deleting())?;
    let here = |name: &str| ObjectKey::new(metal3_machine.metadata.namespace_str(), name);
    let template = |name: &str| reader.get::<Metal3MachineTemplate>(&here(name));
    if let Some(owner) = machine.metadata.owner(CONTROL_PLANE_GROUP, KubeadmControlPlane::API.kind) {
        let control_plane = reader.get::<KubeadmControlPlane>(&here(&owner.name))?;
        return template(control_plane.infrastructure_template()?);
    }
    let of_set = machine_set.and_then(|set| template(set.spec.infrastructure_template()?));
    of_set.or_else(|| {
        let owner = machine_set?.metadata.owner(CAPI_GROUP, MachineDeployment::API.kind)?;
        let deployment = reader.get::<MachineDeployment>(&here(&owner.name))?;
        template(deployment.spec.infrastructure_template()?)
    })
}

/// Whether another host that carries the label of the same cluster uses the Secret.
fn is_shared(reader: &impl Reader, secret: &SecretMetadata, host: Option<&BareMetalHost>) -> bool {
    let cluster = |host: &BareMetalHost| host.metadata.label(label::CLUSTER_NAME).map(str::to_owned);
    let others = reader.by_index(&HOSTS_BY_BMC_SECRET, &secret.key().to_string());
    let others = others.iter().filter(|other| host.is_none_or(|host| host.key() != other.key()));
    others.into_iter().any(|other| is_in_use(reader, other) && cluster(other) == host.and_then(cluster))
}

/// Whether a machine that stays has this host. Machines that go together must not leave the label to each other.
fn is_in_use(reader: &impl Reader, host: &BareMetalHost) -> bool {
    let consumer = host.spec.consumer_ref.as_ref().and_then(|consumer| consumer.name.as_deref());
    let machine = consumer
        .and_then(|name| reader.get::<Metal3Machine>(&ObjectKey::new(host.metadata.namespace_str(), name)));
    machine.is_some_and(|machine| !machine.metadata.is_deleting())
}

/// Whether the machine that owns a claim is known to be gone. A uid that differs says nothing: a move or a restore gives
/// new ones.
fn is_of_former_machine(reader: &impl Reader, claim: &Metal3DataClaim) -> bool {
    let owner = claim.metadata.owner(GROUP, Metal3Machine::API.kind);
    owner.is_some_and(|owner| {
        let key = ObjectKey::new(claim.metadata.namespace_str(), &owner.name);
        reader.is_known_gone::<Metal3Machine>(&key, Some(&owner.uid))
    })
}

/// The template that a claim waits for, if there is none of that name.
fn missing_data_template(reader: &impl Reader, claim: &Metal3DataClaim) -> Option<ObjectKey> {
    let template = claim.spec.template.as_ref().filter(|_| claim.status.rendered_data.is_none())?;
    let namespace = template.namespace.as_deref().filter(|namespace| !namespace.is_empty());
    let namespace = namespace.unwrap_or_else(|| claim.metadata.namespace_str());
    let key = ObjectKey::new(namespace, template.name_str());
    reader.get::<Metal3DataTemplate>(&key).is_none().then_some(key)
}

/// Of the data templates that this machine may get, those that have their controller's finalizer and stay.
fn held_data_templates(
    reader: &impl Reader,
    machine: &Metal3Machine,
    template: Option<&Metal3MachineTemplate>,
) -> BTreeSet<String> {
    let by_domain = template.into_iter().flat_map(|template| {
        let mapped = template.spec.failure_domain_data_templates.iter().map(|entry| &entry.data_template);
        mapped.chain(&template.spec.template.spec.data_template)
    });
    let names = by_domain.chain(&machine.spec.data_template).filter_map(|template| template.name.as_deref());
    let is_held = |name: &&str| {
        let key = ObjectKey::new(machine.metadata.namespace_str(), *name);
        reader.get::<Metal3DataTemplate>(&key).is_some_and(|template| {
            template.metadata.has_finalizer(finalizer::DATA_TEMPLATE) && !template.metadata.is_deleting()
        })
    };
    names.filter(is_held).map(str::to_owned).collect()
}

fn rendered_data(machine: &Metal3Machine, claim: Option<&Metal3DataClaim>) -> Option<String> {
    let of_machine = machine.status.rendered_data.as_ref().and_then(|data| data.name.as_deref());
    let of_claim = || claim?.status.rendered_data.as_ref()?.name.as_deref();
    of_machine.or_else(of_claim).map(str::to_owned)
}
