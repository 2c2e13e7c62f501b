//! What a decision about a Metal3Machine needs to know.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{
        BareMetalHost, CAPI_GROUP, CONTROL_PLANE_GROUP, Cluster, KubeadmControlPlane, Machine,
        MachineDeployment, MachineSet, Node, SecretMetadata,
    },
    v1beta2::{
        GROUP, Initialization, Metal3Cluster, Metal3Data, Metal3DataClaim, Metal3DataTemplate, Metal3Machine,
        Metal3MachineTemplate,
    },
    vocabulary::{finalizer, label},
};
use capm3_domain::{
    data_template::machine_template_name,
    host::{
        Consumer, Holdings, HostRequest, Ownership, QuickChoice, annotated_host, could_be_taken, holdings,
        known_host, known_host_uid, ownership, reuse_label,
    },
};
use capm3_domain::{user_data::has_user_data, wait::Refusal};
use capm3_engine::{Object, ObjectKey, Reader};

use super::{line, live::Live};
use crate::{
    belonging::of_another,
    indexes::{
        BOOKED_HOSTS_BY_LABEL, HOSTS_BY_BMC_SECRET, HOSTS_BY_CONSUMER, HOSTS_BY_NAMESPACE, HOSTS_BY_UID,
        USABLE_HOSTS,
    },
    workload::{NODES_BY_HOST, NODES_BY_HOSTNAME, NODES_BY_UUID, Workload},
};

/// A Metal3Machine and what surrounds it.
#[derive(Debug, Clone)]
pub struct Snapshot {
    /// The object itself.
    pub metal3_machine: Arc<Metal3Machine>,
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
    /// Hosts without image that name this machine as their consumer, while it is known to have another one.
    pub surplus: Vec<Arc<BareMetalHost>>,
    /// Further hosts that name this machine and are left as they are, such as one in use that it has no record of.
    pub held: Vec<Arc<BareMetalHost>>,
    /// Hosts that this machine could take, has recorded or is named by, and that belong to another machine: their names,
    /// and its.
    pub of_others: BTreeMap<String, String>,
    /// The Secret with the credentials of the host's management controller, if it is there.
    pub bmc_secret: Option<Arc<SecretMetadata>>,
    /// Whether another host of the same cluster uses that Secret too; looked at only when the machine goes.
    pub bmc_secret_is_shared: bool,
    /// Every host of the namespace, where one must be chosen.
    pub candidates: Vec<Arc<BareMetalHost>>,
    /// How many machines of the same owner wait for the hosts that are booked for it, and go first.
    pub ahead: usize,
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
    /// What was read from the server itself during this look.
    pub live: Live,
}

impl Snapshot {
    /// Whose a host is, seen from this machine. Who is named on a host that belongs to another machine has it not.
    pub fn ownership(&self, host: &BareMetalHost) -> Ownership {
        match self.of_others.get(host.metadata.name_str()) {
            Some(other) => Ownership::Other(Consumer::machine(host.metadata.namespace_str(), other)),
            None => ownership(&self.metal3_machine, host),
        }
    }
}

impl Snapshot {
    /// Whether the machine has recorded a host that is not there.
    pub fn is_host_gone(&self) -> bool {
        self.host.is_none() && matches!(annotated_host(&self.metal3_machine), Ok(Some(_)))
    }
}

/// What is known of the Nodes that may be this machine's.
#[derive(Debug, Clone, Default)]
pub enum Nodes {
    /// The host is not provisioned yet, or the Node is known already.
    #[default]
    NotNeeded,
    /// No connection to the workload cluster was asked for yet.
    NotConnected,
    /// The first list of Nodes has not arrived yet.
    Connecting,
    /// The workload cluster cannot be reached.
    Unreachable(String),
    /// The Nodes that may be this machine's.
    Known(NodeCandidates),
}

/// Nodes that may be a machine's, by how they were found.
#[derive(Debug, Clone, Default)]
pub struct NodeCandidates {
    /// By a provider ID of the host.
    pub with_id_of_host: Vec<Arc<Node>>,
    /// The uid in the machine's legacy provider ID, where no host has it any more.
    pub former_uid: Option<String>,
    /// By the label `metal3.io/uuid`.
    pub with_uuid: Vec<Arc<Node>>,
    /// By the label `kubernetes.io/hostname`.
    pub with_hostname: Vec<Arc<Node>>,
}

/// The host names of a machine.
pub(super) fn hostnames(machine: &Metal3Machine) -> Vec<String> {
    let names = machine.status.addresses.iter().filter(|a| a.type_ == "Hostname");
    names.map(|a| a.address.clone()).collect()
}

/// Key of the workload cluster of a machine.
pub(crate) fn cluster_key(machine: &Metal3Machine) -> Option<ObjectKey> {
    let name = machine.metadata.label(label::CLUSTER_NAME)?;
    Some(ObjectKey::new(machine.metadata.namespace_str(), name))
}

/// Reads the snapshot with every host that might be chosen; `None` when the object is gone.
pub fn observe(
    reader: &impl Reader,
    workload: impl Fn(&ObjectKey) -> Workload,
    key: &ObjectKey,
) -> Option<Snapshot> {
    let mut snapshot = observe_all_but_candidates(reader, workload, key)?;
    offer_every_host(reader, &mut snapshot, key);
    snapshot.ahead = ahead(reader, &snapshot, key);
    Some(snapshot)
}

/// The same for a look that acts: of the hosts only what the decision needs, so that the look costs the same among
/// ten hosts and among ten thousand as far as possible.
pub(super) fn observe_to_act(
    reader: &impl Reader,
    workload: impl Fn(&ObjectKey) -> Workload,
    key: &ObjectKey,
) -> Option<Snapshot> {
    let mut snapshot = observe_all_but_candidates(reader, workload, key)?;
    // Nothing is taken before the finalizer stands.
    let takes_a_host = snapshot.host.is_none()
        && !snapshot.metal3_machine.metadata.is_deleting()
        && snapshot.metal3_machine.metadata.has_finalizer(finalizer::MACHINE)
        && snapshot.machine.as_ref().is_some_and(|machine| has_user_data(&snapshot.metal3_machine, machine));
    if takes_a_host {
        match the_host_to_take(reader, &snapshot, key) {
            Some(host) => snapshot.candidates = vec![host],
            // Why there is none must be said of every host.
            None => {
                offer_every_host(reader, &mut snapshot, key);
                snapshot.ahead = ahead(reader, &snapshot, key);
            }
        }
    }
    Some(snapshot)
}

/// How many machines go first where hosts are booked for the machine's owner.
fn ahead(reader: &impl Reader, snapshot: &Snapshot, key: &ObjectKey) -> usize {
    let machine = snapshot.machine.as_deref().filter(|_| snapshot.host.is_none());
    let booking = machine.and_then(|machine| reuse_label(machine, snapshot.machine_set.as_deref()));
    booking.map(|booking| line::ahead_of(reader, key, &booking)).unwrap_or_default()
}

/// Makes every host of the namespace a candidate, and notes which of those that nobody consumes belong to others.
fn offer_every_host(reader: &impl Reader, snapshot: &mut Snapshot, key: &ObjectKey) {
    if snapshot.host.is_some() {
        return;
    }
    let mut hosts = reader.by_index(&HOSTS_BY_NAMESPACE, &key.namespace);
    let own = snapshot.surplus.iter().chain(&snapshot.held);
    hosts.retain(|host| !own.clone().any(|other| other.key() == host.key()));
    for host in hosts.iter().filter(|host| could_be_taken(host)) {
        if let Some(other) = of_another(reader, &snapshot.metal3_machine, host) {
            snapshot.of_others.insert(host.metadata.name_str().to_owned(), other);
        }
    }
    snapshot.candidates = hosts;
}

/// The host that is chosen among all, found among those that are usable. Hosts that are booked for the machine's owner
/// are for the whole choice: it may have to wait for them.
fn the_host_to_take(
    reader: &impl Reader,
    snapshot: &Snapshot,
    key: &ObjectKey,
) -> Option<Arc<BareMetalHost>> {
    let machine = snapshot.machine.as_deref()?;
    let reuse = reuse_label(machine, snapshot.machine_set.as_deref());
    let booked = reuse.as_ref().map(|label| format!("{}/{label}", key.namespace));
    if booked.is_some_and(|booked| reader.count(&BOOKED_HOSTS_BY_LABEL, &booked) > 0)
        || !snapshot.surplus.is_empty()
        || !snapshot.held.is_empty()
    {
        return None;
    }
    let request = HostRequest::new(&snapshot.metal3_machine, machine, reuse);
    let best_of = |place: &str| {
        let mut choice = QuickChoice::new(&request);
        reader.each(&USABLE_HOSTS, place, &mut |host| choice.offer(host.metadata.name_str(), host));
        choice.best()
    };
    let in_domain = request.failure_domain().map(|domain| format!("{}/{domain}", key.namespace));
    let best = in_domain.and_then(|place| best_of(&place)).or_else(|| best_of(&key.namespace))?;
    // Rare enough: then every host is looked at.
    of_another(reader, &snapshot.metal3_machine, &best).is_none().then_some(best)
}

fn observe_all_but_candidates(
    reader: &impl Reader,
    workload: impl Fn(&ObjectKey) -> Workload,
    key: &ObjectKey,
) -> Option<Snapshot> {
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
    let (missing_secrets, stranded_secrets) =
        (given(&|secret| secret.is_none()), given(&|secret| secret.is_some_and(stays_behind)));
    let nodes = observe_nodes(reader, &metal3_machine, host.as_deref(), machine.as_deref(), workload);
    Some(Snapshot {
        owner,
        machine,
        machine_set,
        cluster,
        metal3_cluster,
        template,
        host,
        surplus,
        held,
        of_others,
        bmc_secret,
        bmc_secret_is_shared,
        candidates: Vec::new(),
        ahead: 0,
        missing_data_template: claim.as_deref().and_then(|claim| missing_data_template(reader, claim)),
        claim_is_of_former_machine: claim.as_deref().is_some_and(|claim| is_of_former_machine(reader, claim)),
        claim,
        held_data_templates,
        data,
        missing_secrets,
        stranded_secrets,
        nodes,
        host_lacks: Vec::new(),
        refused: None,
        fast_track: false,
        live: Live::default(),
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
fn find_hosts(
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

fn observe_nodes(
    reader: &impl Reader,
    metal3_machine: &Metal3Machine,
    host: Option<&BareMetalHost>,
    machine: Option<&Machine>,
    workload: impl Fn(&ObjectKey) -> Workload,
) -> Nodes {
    let is_provisioned = host.is_some_and(|h| h.state() == capm3_api::vocabulary::host_state::PROVISIONED);
    let (Some(host), Some(cluster), true) = (host, cluster_key(metal3_machine), is_provisioned) else {
        return Nodes::NotNeeded;
    };
    // A status that was lost is found again at the Node.
    let is_finished = metal3_machine.spec.provider_id.is_some()
        && Initialization::is_provisioned(&metal3_machine.status.initialization)
        && machine.and_then(Machine::node_name).is_some();
    if is_finished || metal3_machine.metadata.is_deleting() {
        return Nodes::NotNeeded;
    }
    match workload(&cluster) {
        Workload::Unknown => Nodes::NotConnected,
        Workload::Connecting => Nodes::Connecting,
        Workload::Unreachable { cause, .. } => Nodes::Unreachable(cause),
        Workload::Synced(store, _) => {
            let host_key = format!("{}/{}", host.metadata.namespace_str(), host.metadata.name_str());
            let uid = host.metadata.uid_str();
            let mut with_id_of_host = store.by_index(&NODES_BY_HOST, &host_key);
            with_id_of_host.extend(store.by_index(&NODES_BY_HOST, uid));
            // After a move the host has another uid than the legacy ID that machine and Node have in common.
            let former_uid = known_host_uid(metal3_machine)
                .filter(|former| former != uid && reader.count(&HOSTS_BY_UID, former) == 0);
            let of_former = former_uid.iter().flat_map(|former| store.by_index(&NODES_BY_HOST, former));
            with_id_of_host.extend(of_former);
            let names = hostnames(metal3_machine);
            Nodes::Known(NodeCandidates {
                with_id_of_host,
                former_uid,
                with_uuid: store.by_index(&NODES_BY_UUID, uid),
                with_hostname: names.iter().flat_map(|n| store.by_index(&NODES_BY_HOSTNAME, n)).collect(),
            })
        }
    }
}
