//! What a controller waits for: one enum, and one table with everything that is known of each wait.
//!
//! A wait prints as a sentence (`Display`). Its text has no other accessor: code that must tell waits apart matches the
//! enum, and programs outside read the [`Code`]. See `docs/troubleshooting.md` for each code.

mod actor;
mod addresses;
mod code;
mod data_error;
mod table;
mod text;

pub use self::{
    actor::Actor,
    addresses::{AddressWait, AddressWaits, FreeAddresses},
    code::Code,
    data_error::DataError,
    table::{Facts, Shown},
    text::{Message, Text},
};
use crate::{
    address::ClaimKind,
    host::{Blocker, Consumer, HostAnnotationError, HostCounts, Rejection, SelectorError},
    label_sync::SettingsError,
    provider_id::{NodeConflict, NodeWait},
    release::HostWait,
    remediation::RemediationWait,
};

/// What a controller waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wait {
    /// Any object: it, or its Cluster, is paused.
    Paused(Pause),
    /// Any object: the API server refuses a write.
    Refused(Refusal),
    /// Any object: it is not proven that something is gone.
    Unproven {
        /// What seems to be gone.
        subject: Text,
        /// Why that is not certain.
        doubt: Text,
    },

    /// Metal3Machine: no owner reference to a Machine.
    OwnerReference,
    /// Metal3Machine: the Machine of this name is not there.
    Machine(String),
    /// Metal3Machine: the Cluster of this name is not there.
    Cluster(String),
    /// Metal3Machine: the infrastructure of this Cluster is not ready.
    Infrastructure(String),
    /// Metal3Machine: the Metal3Cluster of this Cluster is not there.
    Metal3Cluster(String),
    /// Metal3Machine: the bootstrap data of this Machine is not there.
    Bootstrap(String),

    /// Metal3Machine: no host can be taken.
    NoHost(HostCounts),
    /// Metal3Machine: hosts are reserved for its owner and not ready yet; name and state of each.
    ReservedHost(Vec<(String, String)>),
    /// Metal3Machine: `spec.hostSelector` cannot be used.
    HostSelector(SelectorError),
    /// Metal3Machine: its record of its host cannot be read.
    HostRecord(HostAnnotationError),
    /// Metal3Machine: a host in use names it, and it has no record of the host.
    UnrecordedHost {
        /// Namespace of both.
        namespace: String,
        /// The host.
        host: String,
    },
    /// Metal3Machine: its claim shows that it had a host, and no host names it.
    LostHost {
        /// The Metal3DataClaim.
        claim: String,
    },
    /// Metal3Machine: somebody else consumes its host.
    HostConsumed {
        /// The host.
        host: String,
        /// Who consumes it.
        consumer: Box<Consumer>,
    },
    /// Metal3Machine: the host that it has recorded cannot be claimed.
    RecordedHost {
        /// The host.
        host: String,
        /// Why not.
        rejection: Box<Rejection>,
    },
    /// Metal3Machine: its host is not there; none if it is not even known.
    HostMissing(Option<String>),
    /// Metal3Machine: its host is being deleted or deprovisioned by somebody else.
    HostLeaving {
        /// The host.
        host: String,
        /// Whether it is being deleted; else it is being deprovisioned.
        is_deleted: bool,
        /// What the host reports.
        problem: Option<String>,
    },

    /// Metal3Machine: Secrets that its spec names are not there; field and name of each.
    Secrets(Vec<(&'static str, String)>),
    /// Metal3Machine: its spec names a Secret of another namespace.
    SecretNamespace {
        /// The field.
        field: &'static str,
        /// The namespace found.
        found: String,
        /// The namespace of the machine.
        expected: String,
    },
    /// Metal3Machine: the claim of an earlier machine of this name is still there.
    FormerClaim(String),
    /// Metal3Machine: a claim of its name has an owner with another uid.
    ClaimOfOtherUid {
        /// The claim.
        claim: String,
        /// The uid of the machine.
        uid: String,
    },
    /// Metal3Machine: its claim was deleted before it was served.
    DeletedClaim(String),
    /// Metal3Machine: the template has not served its claim.
    DataTemplate {
        /// The Metal3DataTemplate.
        template: String,
        /// The namespace in which there is no such template.
        missing_in: Option<String>,
        /// What the claim reports.
        report: Option<Text>,
    },
    /// Metal3Machine: its Metal3Data is not there.
    Data {
        /// The Metal3Data.
        data: String,
        /// The Metal3DataTemplate.
        template: String,
    },
    /// Metal3Machine: its Metal3Data is not rendered.
    Rendering {
        /// The Metal3Data.
        data: String,
        /// What the data reports.
        report: Option<Text>,
    },

    /// Metal3Machine: the host operator writes the image.
    Provisioning {
        /// The host.
        host: String,
        /// Its state.
        state: String,
    },
    /// Metal3Machine: the host operator cannot write the image.
    HostBlocked {
        /// The host.
        host: String,
        /// Its state.
        state: String,
        /// What keeps the operator from it.
        by: Blocker,
    },
    /// Metal3Machine: the CRD of BareMetalHost lacks a field that the machine needs.
    HostField(&'static str),
    /// Metal3Machine: its spec cannot be written to the host.
    HostSpec(Text),
    /// Metal3Machine: the Nodes of this workload cluster are not listed yet.
    Nodes(String),
    /// Metal3Machine: the workload cluster cannot be reached.
    WorkloadCluster {
        /// The Cluster.
        cluster: String,
        /// Why not.
        cause: Text,
    },
    /// Metal3Machine: its Node is not there, or cannot be distinguished from others.
    Node(NodeWait),
    /// Metal3Machine: the Node of its host is another machine's, or carries another ID.
    NodeConflict(NodeConflict),
    /// Metal3Machine, BareMetalHost: the host is deprovisioned before it is released.
    Deprovisioning(HostWait),
    /// Metal3Machine: its CustomResourceDefinition is being deleted.
    DefinitionDeleting,

    /// Metal3Data: the Cluster that its label names is not there.
    DataCluster,
    /// Metal3Data: its Metal3DataTemplate is not there.
    TemplateOfData(String),
    /// Metal3Data: its claim is not there.
    ClaimOfData,
    /// Metal3Data: the Metal3Machine that owns the claim is not there.
    MachineOfData,
    /// Metal3Data: the Machine that owns the Metal3Machine is not there.
    OwnerOfData,
    /// Metal3Data: the host of the machine is not there.
    HostOfData,
    /// Metal3Data: pools have not given addresses yet.
    Addresses(AddressWaits),
    /// Metal3Data: the API server does not serve the kind by which a pool is asked for an address.
    ClaimKindNotServed {
        /// The kind.
        claim: ClaimKind,
        /// Kind of the pool.
        kind: String,
        /// Name of the pool.
        pool: String,
    },
    /// Metal3Data: a Secret that is being deleted.
    OldSecret(String),
    /// Metal3Data: its claim is released, or uses other data.
    AbandonedData,
    /// Metal3Data, being deleted: its claim is still there.
    ClaimOfDeletedData(String),
    /// Metal3Data, being deleted: these address claims are still there.
    AddressesOfDeletedData(Vec<String>),
    /// Metal3Data: it cannot be rendered until an input is corrected.
    DataError(Box<DataError>),

    /// Metal3Cluster: no owner reference to a Cluster.
    OwnerClusterReference,
    /// Metal3Cluster: the Cluster that the owner reference names is not there.
    OwnerCluster(String),
    /// Metal3Cluster: members of `spec.controlPlaneEndpoint` are missing.
    Endpoint(Vec<&'static str>),
    /// Metal3Cluster, BareMetalHost: it cannot be determined which labels Nodes get from their hosts.
    LabelSync(SettingsError),
    /// BareMetalHost: the Node that gets its labels is not there.
    NodeToLabel {
        /// The Machine on the host.
        machine: String,
        /// The Node, if the Machine names one.
        node: Option<String>,
    },
    /// Metal3Remediation: the next step of an attempt, or an object that it needs.
    Remediation(RemediationWait),
    /// Metal3Cluster, being deleted: Machines of the Cluster are still there.
    MachinesOfCluster(usize),
    /// IPPool: its Cluster is not there.
    ClusterOfPool(String),
    /// IPPool, being deleted: addresses are in use.
    AddressesOfPool,
    /// Metal3DataTemplate, being deleted: claims and data are still there.
    ClaimsOfTemplate,
}

impl From<DataError> for Wait {
    fn from(error: DataError) -> Self {
        Self::DataError(Box::new(error))
    }
}

impl From<RemediationWait> for Wait {
    fn from(wait: RemediationWait) -> Self {
        Self::Remediation(wait)
    }
}

impl Wait {
    /// The API server was not asked yet whether something is gone.
    pub fn not_asked(subject: &str) -> Self {
        Self::Unproven { subject: Text::new(subject), doubt: Text::new("the API server is asked first") }
    }
}

/// Why an object is left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pause {
    /// Whether the Cluster is paused.
    pub by_cluster: bool,
    /// The kind of the object, if it has the annotation.
    pub by_annotation_of: Option<&'static str>,
}

impl Pause {
    /// A pause, if there is one.
    pub fn of(kind: &'static str, is_annotated: bool, is_cluster_paused: bool) -> Option<Self> {
        let by_annotation_of = is_annotated.then_some(kind);
        (is_annotated || is_cluster_paused)
            .then_some(Self { by_cluster: is_cluster_paused, by_annotation_of })
    }
}

/// A write that the API server refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// What is written, such as `patch BareMetalHost ns/h`.
    pub write: Text,
    /// Whether it is a write to a BareMetalHost.
    pub is_of_host: bool,
    /// The words of the server.
    pub cause: Text,
}
