//! The sentences of waits.

use std::fmt::{self, Display as _};

use serde::{Serialize, Serializer};

use super::{Pause, Refusal, Wait};
use crate::host::Blocker;

/// Text for people, such as the words of another controller. It prints; nothing else can be done with it.
///
/// ```compile_fail
/// let text = capm3_domain::wait::Text::new("waiting for a host");
/// let _: bool = text.starts_with("waiting");
/// ```
///
/// ```compile_fail
/// let text = capm3_domain::wait::Text::new("waiting for a host");
/// let _: &str = text.as_ref();
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text(String);

impl Text {
    /// What something prints.
    pub fn new(source: impl fmt::Display) -> Self {
        Self(source.to_string())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl Serialize for Text {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A wait as a condition says it: without what changes with every step of others, which would cost a write each time.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a>(pub(super) &'a Wait);

impl fmt::Display for Message<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Wait::ReservedHost(hosts) => reserved(f, hosts.iter().map(|(host, _)| host.clone())),
            Wait::Provisioning { host, .. } => write!(f, "host {host} is being provisioned"),
            Wait::Deprovisioning(wait) => {
                write!(f, "waiting for host {} to be deprovisioned", wait.host)?;
                wait.blocker.as_ref().map_or(Ok(()), |blocker| write!(f, "; {blocker}"))
            }
            Wait::Addresses(waits) => write!(f, "waiting for {waits}"),
            Wait::MachinesOfCluster(_) => {
                f.write_str("waiting for the Machines of the Cluster to be deleted")
            }
            other => other.write_sentence(f),
        }
    }
}

/// The alternate form, as in logs, begins with the code.
impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if f.alternate() {
            write!(f, "{} ", self.code())?;
        }
        self.write_sentence(f)
    }
}

impl Wait {
    #[expect(clippy::too_many_lines, reason = "a table: one sentence for each wait")]
    fn write_sentence(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Paused(pause) => pause.fmt(f),
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Unproven { subject, doubt } => {
                write!(f, "cannot confirm that {subject} is gone: {doubt}")
            }
            Self::OwnerReference => f.write_str(
                "waiting for the Machine controller to set an owner reference to the Machine",
            ),
            Self::Machine(name) => {
                write!(f, "waiting for Machine {name} of the owner reference, which is not found")
            }
            Self::Cluster(name) | Self::ClusterOfPool(name) => write!(f, "waiting for Cluster {name}"),
            Self::Infrastructure(cluster) => {
                write!(f, "waiting for the infrastructure of Cluster {cluster} to be ready")
            }
            Self::Metal3Cluster(cluster) => {
                write!(f, "waiting for the Metal3Cluster of Cluster {cluster}")
            }
            Self::Bootstrap(machine) => {
                write!(f, "waiting for the bootstrap data of Machine {machine}")
            }
            Self::NoHost(counts) => write!(f, "no host is available: {counts}"),
            Self::ReservedHost(hosts) => {
                reserved(f, hosts.iter().map(|(host, state)| format!("{host} ({})", or_new(state))))
            }
            Self::HostSelector(error) => error.fmt(f),
            Self::HostRecord(error) => error.fmt(f),
            Self::UnrecordedHost { namespace, host } => write!(
                f,
                "spec.consumerRef of host {host} is this machine and the host is in use, but this machine does not \
                 record the host; the host is left unchanged. To keep the workload on the host, set annotation \
                 metal3.io/BareMetalHost of this Metal3Machine to {namespace}/{host}; to release the host, delete the \
                 Machine"
            ),
            Self::LostHost { claim } => write!(
                f,
                "this machine had a host (Metal3DataClaim {claim} exists), but no BareMetalHost has a \
                 spec.consumerRef to this machine. Restore the BareMetalHost with its spec.consumerRef, or delete the \
                 Machine, so that its replacement takes another host"
            ),
            Self::HostConsumed { host, consumer } => {
                write!(f, "host {host} is consumed by {consumer}; this machine does not take it over")
            }
            Self::RecordedHost { host, rejection } => {
                write!(f, "recorded host {host} cannot be claimed: {rejection}")
            }
            Self::HostMissing(Some(host)) => {
                write!(f, "BareMetalHost {host} of this machine is not found")
            }
            Self::HostMissing(None) => f.write_str(
                "the BareMetalHost of this machine is not known: spec.consumerRef of no host is this machine, and \
                 neither annotation metal3.io/BareMetalHost nor spec.providerID names a host",
            ),
            Self::HostLeaving { host, is_deleted, problem } => {
                let what = if *is_deleted { "deleted" } else { "deprovisioned" };
                write!(f, "host {host} is being {what}")?;
                problem.as_ref().map_or(Ok(()), |problem| write!(f, ": {problem}"))
            }
            Self::Secrets(secrets) => {
                let named =
                    |(field, name): &(&str, String)| format!("Secret {name}, which spec.{field} names");
                let named: Vec<String> = secrets.iter().map(named).collect();
                write!(f, "waiting for {}", named.join(" and "))
            }
            Self::SecretNamespace { field, found, expected } => write!(
                f,
                "cross-namespace secret reference is not allowed for {field} (namespace {found:?} does not match \
                 {expected:?})"
            ),
            Self::FormerClaim(claim) => write!(
                f,
                "waiting for the deletion of Metal3DataClaim {claim}, which belongs to an earlier machine with the \
                 name of this one"
            ),
            Self::ClaimOfOtherUid { claim, uid } => write!(
                f,
                "waiting for Metal3DataClaim {claim}: the uid in its owner reference is not the uid of this machine. \
                 If the claim belongs to this machine, set that uid to {uid}; otherwise delete the claim"
            ),
            Self::DeletedClaim(claim) => {
                write!(f, "waiting for Metal3DataClaim {claim}, which is being deleted")
            }
            Self::DataTemplate { template, missing_in: Some(namespace), .. } => write!(
                f,
                "waiting for Metal3DataTemplate {template}, which does not exist in namespace {namespace}"
            ),
            Self::DataTemplate { template, report: Some(report), .. } => {
                write!(f, "Metal3DataTemplate {template} does not serve the Metal3DataClaim: {report}")
            }
            Self::DataTemplate { template, .. } => {
                write!(f, "waiting for Metal3DataTemplate {template} to serve the Metal3DataClaim")
            }
            Self::Data { data, template } => {
                write!(f, "waiting for Metal3Data {data} of Metal3DataTemplate {template}")
            }
            Self::Rendering { data, report: Some(report) } => {
                write!(f, "Metal3Data {data} is not rendered: {report}")
            }
            Self::Rendering { data, .. } => write!(f, "waiting for Metal3Data {data} to be rendered"),
            Self::Provisioning { host, state } => {
                write!(f, "waiting for host {host} to be provisioned; it is {}", or_new(state))
            }
            Self::HostBlocked { host, state, by: Blocker::Error(problem) } => {
                write!(f, "host {host} is {}: {problem}", or_new(state))
            }
            Self::HostBlocked { host, by, .. } => {
                write!(f, "host {host} is not being provisioned: {by}")
            }
            Self::HostField(field) => write!(
                f,
                "the installed CRD of BareMetalHost has no field spec.{field}, which this machine needs; install a \
                 newer Baremetal Operator"
            ),
            Self::HostSpec(error) => error.fmt(f),
            Self::Nodes(cluster) => {
                write!(f, "waiting for the list of Nodes of workload cluster {cluster}")
            }
            Self::WorkloadCluster { cluster, cause } => {
                write!(f, "waiting for workload cluster {cluster} to be reachable: {cause}")
            }
            Self::Node(wait) => wait.fmt(f),
            Self::NodeConflict(conflict) => conflict.fmt(f),
            Self::Deprovisioning(wait) => wait.fmt(f),
            Self::DefinitionDeleting => f.write_str(
                "the CustomResourceDefinition of Metal3Machine is being deleted, and this machine with it; its host \
                 is left unchanged. Back up the Metal3Machines, remove their finalizers, install the \
                 CustomResourceDefinition again and restore the Metal3Machines",
            ),
            Self::DataCluster => f.write_str("waiting for the Cluster that the label names"),
            Self::TemplateOfData(template) => write!(f, "waiting for Metal3DataTemplate {template}"),
            Self::ClaimOfData => f.write_str("waiting for the Metal3DataClaim"),
            Self::MachineOfData => f.write_str("waiting for the Metal3Machine that owns the claim"),
            Self::OwnerOfData => f.write_str("waiting for the Machine that owns the Metal3Machine"),
            Self::HostOfData => f.write_str("waiting for the BareMetalHost of the Metal3Machine"),
            Self::Addresses(waits) => write!(f, "waiting for {waits:#}"),
            Self::ClaimKindNotServed { claim, kind, pool } => write!(
                f,
                "the API server does not serve {claim}, which is needed for an address of {kind} {pool}; install the \
                 address \
                 manager of {kind}"
            ),
            Self::OldSecret(name) => write!(f, "waiting for the old Secret {name} to be deleted"),
            Self::AbandonedData => {
                f.write_str("waiting for the template's controller to delete this data with its claim")
            }
            Self::ClaimOfDeletedData(claim) => write!(f, "waiting for Metal3DataClaim {claim} to be deleted"),
            Self::AddressesOfDeletedData(claims) => {
                write!(f, "waiting for the address of IPClaim {} to be released", claims.join(", "))
            }
            Self::DataError(error) => error.fmt(f),
            Self::OwnerClusterReference => f.write_str("waiting for an owner reference to a Cluster"),
            Self::OwnerCluster(name) => {
                write!(f, "Cluster {name} of the owner reference does not exist")
            }
            Self::Endpoint(missing) => write!(
                f,
                "Invalid Metal3Cluster provided: missing fields from Spec: [{}]",
                missing.join(" ")
            ),
            Self::LabelSync(error) => write!(f, "annotation {}: {error}", error.annotation()),
            Self::NodeToLabel { machine, node: None } => {
                write!(f, "waiting for Machine {machine} to have a Node, which gets the labels of the host")
            }
            Self::NodeToLabel { machine, node: Some(node) } => {
                write!(f, "waiting for Node {node} of Machine {machine}, which gets the labels of the host")
            }
            Self::Remediation(wait) => wait.fmt(f),
            Self::MachinesOfCluster(count) => write!(f, "waiting for {count} Machines to be deleted"),
            Self::AddressesOfPool => f.write_str("waiting for the addresses of the pool to be released"),
            Self::ClaimsOfTemplate => {
                f.write_str("waiting for the claims and the data of the template to be deleted")
            }
        }
    }
}

fn reserved(f: &mut fmt::Formatter<'_>, hosts: impl Iterator<Item = String>) -> fmt::Result {
    let hosts: Vec<String> = hosts.collect();
    write!(
        f,
        "waiting for a host that is reserved for the control plane or MachineDeployment of this machine: {}",
        hosts.join(", ")
    )
}

fn or_new(state: &str) -> &str {
    if state.is_empty() { "new" } else { state }
}

impl fmt::Display for Pause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cluster = self.by_cluster.then(|| "Cluster spec.paused is set to true".to_owned());
        let annotation =
            self.by_annotation_of.map(|kind| format!("{kind} has the cluster.x-k8s.io/paused annotation"));
        let causes: Vec<String> = cluster.into_iter().chain(annotation).collect();
        f.write_str(&causes.join(", "))
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the API server refuses to {}: {}", self.write, self.cause)
    }
}
