//! Every label, annotation, finalizer, condition and reason once, under the name that the API uses.

/// Keys of annotations.
pub mod annotation {
    /// On a Metal3Machine: `<namespace>/<name>` of its host.
    pub const HOST: &str = "metal3.io/BareMetalHost";
    /// On a CustomResourceDefinition: the generation up to which its objects are migrated to the storage version.
    pub const CRD_MIGRATED: &str = "crd-migration.cluster.x-k8s.io/observed-generation";
    /// On a host: pauses the host operator.
    pub const HOST_PAUSED: &str = "baremetalhost.metal3.io/paused";
    /// Value of [`HOST_PAUSED`] when the provider set it.
    pub const HOST_PAUSED_BY_US: &str = "metal3.io/capm3";
    /// On a host: its status as text, from which its operator restores it after a move.
    pub const HOST_STATUS: &str = "baremetalhost.metal3.io/status";
    /// On a host: detached from its operator.
    pub const HOST_DETACHED: &str = "baremetalhost.metal3.io/detached";
    /// On a host: not to be moved yet.
    pub const BLOCK_MOVE: &str = "clusterctl.cluster.x-k8s.io/block-move";
    /// On a host: what inspection would find, as JSON; the host operator takes it instead of looking.
    pub const HARDWARE_DETAILS: &str = "inspect.metal3.io/hardwaredetails";
    /// On a host: not to be chosen.
    pub const UNHEALTHY: &str = "capm3.metal3.io/unhealthy";
    /// On a host whose machine is gone: a person, or the manager by its flag, asks that the host is cleared and given back.
    /// The value is `namespace/name` of the Metal3Machine that the host names.
    pub const RELEASE_HOST: &str = "capm3.metal3.io/release";
    /// On a host: older key of [`UNHEALTHY`].
    pub const UNHEALTHY_OLD: &str = "capi.metal3.io/unhealthy";
    /// On anything: controllers leave the object alone.
    pub const PAUSED: &str = "cluster.x-k8s.io/paused";
    /// On an infrastructure object: managed by somebody else.
    pub const MANAGED_BY: &str = "cluster.x-k8s.io/managed-by";
    /// On a Metal3Machine: name of the template that it was made from.
    pub const CLONED_FROM_NAME: &str = "cluster.x-k8s.io/cloned-from-name";
    /// On a Metal3Machine: kind and group of the template that it was made from.
    pub const CLONED_FROM_GROUP_KIND: &str = "cluster.x-k8s.io/cloned-from-groupkind";
    /// On any of our kinds read in an older version: the stored object, so that writing it back loses nothing.
    pub const CONVERSION_DATA: &str = "cluster.x-k8s.io/conversion-data";
    /// On a Metal3DataTemplate or Metal3Data: mirror of `spec.templateReference`, for CRDs without that field.
    pub const TEMPLATE_REFERENCE: &str = "capm3.metal3.io/template-reference";
    /// On a rendered Secret: SHA-256 of its document.
    pub const CONTENT_DIGEST: &str = "capm3.metal3.io/content-digest";
    /// On a rendered Secret: SHA-256 of what its document was rendered from.
    pub const INPUTS_DIGEST: &str = "capm3.metal3.io/inputs-digest";
    /// On a Metal3Cluster: prefixes of the labels that Nodes get from their hosts, separated by commas.
    pub const LABEL_SYNC_PREFIXES: &str = "metal3.io/metal3-label-sync-prefixes";
    /// On a Metal3Cluster: labels that Nodes get although no label of the host has the name.
    pub const LABEL_SYNC_DEFAULTS: &str = "metal3.io/metal3-label-sync-defaults";
    /// Value of [`LABEL_SYNC_DEFAULTS`]: the zone of a Node is the failure domain of its host.
    pub const LABEL_SYNC_TOPOLOGY: &str = "topology";
    /// On a Node: keys of the labels that Cluster API gave it from its Machine, separated by commas.
    pub const LABELS_FROM_MACHINE: &str = "cluster.x-k8s.io/labels-from-machine";
    /// On a Node: keys of the labels that were set from its host, separated by commas.
    pub const SYNCED_LABELS: &str = "capm3.metal3.io/synced-labels";
    /// On a Metal3Remediation: what it has done so far, as JSON. Unlike a status it is kept by a move.
    pub const REMEDIATION_PROGRESS: &str = "capm3.metal3.io/remediation-progress";
    /// On a Metal3Remediation: annotations of the Node that was deleted, as JSON.
    pub const NODE_ANNOTATIONS_BACKUP: &str = "remediation.metal3.io/node-annotations-backup";
    /// On a Metal3Remediation: labels of the Node that was deleted, as JSON.
    pub const NODE_LABELS_BACKUP: &str = "remediation.metal3.io/node-labels-backup";
    /// On a host: what its remediation asks to be powered off has a key that begins like this and ends with the uid of the
    /// Metal3Remediation.
    pub const POWER_OFF_PREFIX: &str = "reboot.metal3.io/metal3-remediation-";
    /// Value of [`UNHEALTHY`] after a remediation that failed.
    pub const UNHEALTHY_NODE: &str = "capm3/UnhealthyNode";
    /// On an address claim: the address that is wanted.
    pub const REQUESTED_ADDRESS: &str = "ipAddress";
}

/// Keys of labels.
pub mod label {
    /// Moved along with its cluster by clusterctl.
    pub const MOVE: &str = "clusterctl.cluster.x-k8s.io/move";
    /// The same, with everything that it owns.
    pub const MOVE_HIERARCHY: &str = "clusterctl.cluster.x-k8s.io/move-hierarchy";
    /// Name of the Cluster.
    pub const CLUSTER_NAME: &str = "cluster.x-k8s.io/cluster-name";
    /// Presence marks a control-plane Machine.
    pub const CONTROL_PLANE: &str = "cluster.x-k8s.io/control-plane";
    /// Which manager takes care of an object, where several share a cluster.
    pub const WATCH_FILTER: &str = "cluster.x-k8s.io/watch-filter";
    /// Provider of an object.
    pub const PROVIDER: &str = "cluster.x-k8s.io/provider";
    /// On a host: reserved for the next machine of this owner.
    pub const NODE_REUSE: &str = "infrastructure.cluster.x-k8s.io/node-reuse";
    /// On a host: where it stands.
    pub const FAILURE_DOMAIN: &str = "infrastructure.cluster.x-k8s.io/failure-domain";
    /// On a Node: uid of its host.
    pub const NODE_UUID: &str = "metal3.io/uuid";
    /// On a Node: its host name.
    pub const NODE_HOSTNAME: &str = "kubernetes.io/hostname";
    /// On a Node: its zone.
    pub const NODE_ZONE: &str = "topology.kubernetes.io/zone";
    /// Names the Metal3Data of an IPClaim that is named after its host.
    pub const DATA_NAME: &str = "infrastructure.cluster.x-k8s.io/data-name";
    /// Names the IPPool of an IPClaim that is named after its host.
    pub const POOL_NAME: &str = "infrastructure.cluster.x-k8s.io/pool-name";
}

/// Finalizers.
pub mod finalizer {
    /// Of a Metal3Cluster.
    pub const CLUSTER: &str = "metal3cluster.infrastructure.cluster.x-k8s.io";
    /// Of a Metal3Machine, and on its claim.
    pub const MACHINE: &str = "metal3machine.infrastructure.cluster.x-k8s.io";
    /// Of a Metal3Remediation.
    pub const REMEDIATION: &str = "metal3remediation.infrastructure.cluster.x-k8s.io";
    /// Of a Metal3DataTemplate.
    pub const DATA_TEMPLATE: &str = "metal3datatemplate.infrastructure.cluster.x-k8s.io";
    /// Of a Metal3DataClaim, and on its data.
    pub const DATA_CLAIM: &str = "metal3dataclaim.infrastructure.cluster.x-k8s.io";
    /// Of a Metal3Data, and on its address claims.
    pub const DATA: &str = "metal3data.infrastructure.cluster.x-k8s.io";
    /// Of an IPPool.
    pub const IP_POOL: &str = "ippool.ipam.metal3.io";
    /// Of an IPClaim.
    pub const IP_CLAIM: &str = "ipclaim.ipam.metal3.io";
    /// Of an IPAddress.
    pub const IP_ADDRESS: &str = "ipaddress.ipam.metal3.io";
    /// Of an IPAddressClaim of Cluster API that an IPPool serves.
    pub const CAPI_IP_ADDRESS_CLAIM: &str = "ipam.metal3.io/ipaddressclaim";
    /// Of an IPAddress of Cluster API that is from an IPPool.
    pub const CAPI_IP_ADDRESS: &str = "ipam.metal3.io/ipaddress";
}

/// Types of conditions.
pub mod condition {
    /// Summary.
    pub const READY: &str = "Ready";
    /// Paused or not.
    pub const PAUSED: &str = "Paused";
    /// Metal3Cluster: the endpoint is valid.
    pub const INFRASTRUCTURE_READY: &str = "BaremetalInfrastructureReady";
    /// Metal3Machine: a host was taken.
    pub const ASSOCIATE_HOST: &str = "AssociateBareMetalHost";
    /// Metal3Machine: the claim is there, the host is up to date, the provider ID is known.
    pub const ASSOCIATE_META_DATA: &str = "AssociateMetal3MachineMetaData";
    /// Metal3Machine: the rendered Secrets are there.
    pub const DATA_READY: &str = "Metal3DataReady";
    /// Metal3Machine: the host operator reports the image on the disk.
    pub const HOST_PROVISIONED: &str = "BareMetalHostProvisioned";
    /// Metal3Cluster: Nodes get labels of their hosts.
    pub const LABEL_SYNC_ACTIVE: &str = "LabelSyncActive";
    /// Metal3Remediation: the host was powered off and on, and its Node is back.
    pub const REMEDIATED: &str = "Remediated";
    /// Machine: its infrastructure provider could not bring it back, so its owner replaces it.
    pub const OWNER_REMEDIATED: &str = "OwnerRemediated";
    /// Older form of [`ASSOCIATE_HOST`].
    pub const LEGACY_ASSOCIATE_BMH: &str = "AssociateBMH";
    /// Older form of [`ASSOCIATE_META_DATA`].
    pub const LEGACY_NODE_READY: &str = "KubernetesNodeReady";
}

/// Reasons of conditions.
pub mod reason {
    /// Summary is true.
    pub const READY: &str = "Ready";
    /// Summary is false.
    pub const NOT_READY: &str = "NotReady";
    /// Summary is unknown.
    pub const READY_UNKNOWN: &str = "ReadyUnknown";
    /// Paused.
    pub const PAUSED: &str = "Paused";
    /// Not paused.
    pub const NOT_PAUSED: &str = "NotPaused";
    /// The spec is not usable.
    pub const INVALID_CONFIGURATION: &str = "InvalidConfiguration";
    /// Deletion has begun.
    pub const DELETING: &str = "Deleting";
    /// The Cluster that owns the object is not there.
    pub const OWNER_CLUSTER_NOT_FOUND: &str = "FailedToGetOwnerCluster";
    /// The same in older conditions, spelled as they spell it.
    pub const LEGACY_INTERNAL_FAILURE: &str = "InternalFailureOccured";
    /// No owner Machine yet.
    pub const WAITING_FOR_OWNER: &str = "WaitingForMetal3MachineOwnerRef";
    /// Older form of [`WAITING_FOR_OWNER`].
    pub const LEGACY_WAITING_FOR_OWNER: &str = "WaitingForM3MachineOwnerRef";
    /// No Cluster, or its infrastructure is not ready.
    pub const WAITING_FOR_INFRASTRUCTURE: &str = "WaitingForClusterInfrastructureReady";
    /// Older form of [`WAITING_FOR_INFRASTRUCTURE`].
    pub const LEGACY_WAITING_FOR_INFRASTRUCTURE: &str = "WaitingForClusterInfrastructure";
    /// No Metal3Cluster.
    pub const WAITING_FOR_METAL3_CLUSTER: &str = "WaitingforMetal3Cluster";
    /// No user data yet.
    pub const WAITING_FOR_BOOTSTRAP: &str = "WaitingForBootstrapData";
    /// Older form of [`WAITING_FOR_BOOTSTRAP`].
    pub const LEGACY_WAITING_FOR_BOOTSTRAP: &str = "WaitingForBootstrapReady";
    /// The host could not be paused.
    pub const HOST_PAUSE_FAILED: &str = "BareMetalHostPauseAnnotationSetFailed";
    /// Older form of [`HOST_PAUSE_FAILED`].
    pub const LEGACY_HOST_PAUSE_FAILED: &str = "PauseAnnotationSetFailedReason";
    /// The pause of the host could not be taken off.
    pub const HOST_UNPAUSE_FAILED: &str = "BareMetalHostPauseAnnotationRemoveFailed";
    /// Older form of [`HOST_UNPAUSE_FAILED`].
    pub const LEGACY_HOST_UNPAUSE_FAILED: &str = "PauseAnnotationRemoveFailed";
    /// Older form of [`PAUSED`].
    pub const LEGACY_MACHINE_PAUSED: &str = "Metal3MachinePaused";
    /// A host was taken.
    pub const ASSOCIATE_HOST_SUCCESS: &str = "AssociateBareMetalHostSuccess";
    /// A reserved host was taken.
    pub const ASSOCIATE_HOST_VIA_REUSE: &str = "AssociateBareMetalHostViaNodeReuseSuccess";
    /// No host could be taken.
    pub const ASSOCIATE_HOST_FAILED: &str = "AssociateBareMetalHostFailed";
    /// Older form of [`ASSOCIATE_HOST_FAILED`].
    pub const LEGACY_ASSOCIATE_BMH_FAILED: &str = "AssociateBMHFailed";
    /// The claim is there or not needed.
    pub const META_DATA_SUCCESS: &str = "AssociateMetal3MachineMetaDataSuccess";
    /// The claim could not be made.
    pub const META_DATA_FAILED: &str = "AssociateMetal3MachineMetaDataFailed";
    /// Older form of [`META_DATA_FAILED`].
    pub const LEGACY_META_DATA_FAILED: &str = "AssociateM3MetaDataFailed";
    /// Not provisioned yet and cannot go on.
    pub const CREATE_ERROR: &str = "CreateError";
    /// Provisioned and cannot be kept in line.
    pub const UPDATE_ERROR: &str = "UpdateError";
    /// The host cannot be given back.
    pub const DELETION_FAILED: &str = "DeletionFailed";
    /// The host is left as it is: the definition of the machine's kind is being deleted.
    pub const DEFINITION_DELETING: &str = "DefinitionDeleting";
    /// The data is not rendered yet.
    pub const WAITING_FOR_DATA: &str = "WaitingForMetal3Data";
    /// The rendered Secrets are there.
    pub const DATA_SECRETS_READY: &str = "Metal3DataSecretsReady";
    /// Secrets are given by the user, or none is needed.
    pub const SECRETS_SET_EXTERNALLY: &str = "SecretsSetExternally";
    /// The image is on the disk.
    pub const HOST_PROVISIONED: &str = "Provisioned";
    /// The operator is at work.
    pub const HOST_PROVISIONING: &str = "Provisioning";
    /// The operator reports an error.
    pub const HOST_ERROR: &str = "HostError";
    /// The host is paused, so nothing is put on it.
    pub const HOST_PAUSED: &str = "HostPaused";
    /// The host is detached from its operator, so nothing is put on it.
    pub const HOST_DETACHED: &str = "HostDetached";
    /// The host is externally provisioned, so nothing is put on it.
    pub const HOST_EXTERNALLY_PROVISIONED: &str = "HostExternallyProvisioned";
    /// The host is being deleted.
    pub const HOST_DELETING: &str = "HostDeleting";
    /// The host is not there.
    pub const HOST_MISSING: &str = "HostMissing";
    /// The Node has not joined yet.
    pub const WAITING_FOR_NODE: &str = "WaitingForNode";
    /// The workload cluster cannot be reached, so its Nodes are not known.
    pub const WORKLOAD_CLUSTER_UNREACHABLE: &str = "WorkloadClusterUnreachable";
    /// The Node cannot be distinguished from others.
    pub const AMBIGUOUS_NODE: &str = "AmbiguousNode";
    /// The API server refuses a write.
    pub const WRITE_REFUSED: &str = "WriteRefused";
    /// Metal3DataClaim: it gets no data.
    pub const DATA_NOT_CREATED: &str = "DataNotCreated";
    /// Metal3Data: every Secret is there.
    pub const RENDERED: &str = "Rendered";
    /// Metal3Data: its Cluster is not there.
    pub const WAITING_FOR_CLUSTER: &str = "WaitingForCluster";
    /// Metal3Data: its template is not there.
    pub const WAITING_FOR_TEMPLATE: &str = "WaitingForTemplate";
    /// Metal3Data: its claim is not there.
    pub const WAITING_FOR_CLAIM: &str = "WaitingForClaim";
    /// Metal3Data: its machine is not there.
    pub const WAITING_FOR_MACHINE: &str = "WaitingForMachine";
    /// Metal3Data: its machine has no host.
    pub const WAITING_FOR_HOST: &str = "WaitingForHost";
    /// Metal3Data: a pool has not answered yet.
    pub const WAITING_FOR_IP_ADDRESS: &str = "WaitingForIPAddress";
    /// The API server does not serve IPClaim.
    pub const IP_CLAIM_NOT_SERVED: &str = "IPClaimNotServed";
    /// The API server does not serve IPAddressClaim.
    pub const IP_ADDRESS_CLAIM_NOT_SERVED: &str = "IPAddressClaimNotServed";
    /// Metal3Data: an older Secret of the name is still going.
    pub const WAITING_FOR_SECRET: &str = "WaitingForSecret";
    /// Metal3Data: somebody else's Secret has the name.
    pub const SECRET_NOT_OURS: &str = "SecretNotOurs";
    /// Metal3Data: the template cannot be rendered for this machine.
    pub const RENDER_FAILED: &str = "RenderFailed";
    /// Metal3Data: no address could be given.
    pub const IP_ALLOCATION_FAILED: &str = "IPAllocationFailed";
    /// Nodes get labels of their hosts.
    pub const LABEL_SYNC_ACTIVE: &str = "Active";
    /// An annotation that says which labels are synced cannot be read.
    pub const LABEL_SYNC_INVALID: &str = "InvalidAnnotation";
    /// No annotation asks for labels any more.
    pub const LABEL_SYNC_OFF: &str = "NotRequested";
    /// Metal3Remediation: an object that it needs is not there.
    pub const WAITING_FOR_OBJECTS: &str = "WaitingForObjects";
    /// Metal3Remediation: its strategy is not `Reboot`.
    pub const UNSUPPORTED_STRATEGY: &str = "UnsupportedStrategy";
    /// Metal3Remediation: the host is switched off on purpose.
    pub const HOST_OFFLINE: &str = "HostOffline";
    /// Metal3Remediation: the host is still powered on.
    pub const WAITING_FOR_POWER_OFF: &str = "WaitingForPowerOff";
    /// Metal3Remediation: what ran on the Node is still there.
    pub const WAITING_FOR_DRAIN: &str = "WaitingForDrain";
    /// Metal3Remediation: the host is not powered on yet.
    pub const WAITING_FOR_POWER_ON: &str = "WaitingForPowerOn";
    /// Metal3Remediation: the host was powered off and on.
    pub const POWER_CYCLED: &str = "PowerCycled";
    /// Metal3Remediation: all attempts have failed.
    pub const EXHAUSTED: &str = "Exhausted";
    /// Machine: the owner replaces it after its remediation has failed.
    pub const WAITING_FOR_REMEDIATION: &str = "WaitingForRemediation";
    /// Deletion waits for the host to be cleaned.
    pub const DEPROVISIONING: &str = "Deprovisioning";
}

/// Reasons of events.
pub mod event {
    /// The data template was exchanged for the one of the host's failure domain.
    pub const DATA_TEMPLATE_CHANGED: &str = "DataTemplateChanged";
    /// A host was taken.
    pub const HOST_CLAIMED: &str = "HostClaimed";
    /// A host was given back.
    pub const HOST_RELEASED: &str = "HostReleased";
    /// Two data templates would give the same address out.
    pub const RANGES_OVERLAP: &str = "RangesOverlap";
    /// The host taken stands in another domain than asked for.
    pub const FAILURE_DOMAIN_FALLBACK: &str = "FailureDomainFallback";
    /// No host could be taken, and not for want of hosts.
    pub const HOST_REFUSED: &str = "HostRefused";
    /// The host under a running node is being wiped or deleted, or is gone.
    pub const HOST_LOST: &str = "HostLost";
    /// The host that a machine knows as its own names somebody else.
    pub const HOST_DISPUTED: &str = "HostDisputed";
    /// A host names a machine that cannot be found, or that does not know the host.
    pub const HOST_ORPHANED: &str = "HostOrphaned";
    /// The manager asks for the release of an orphaned host, by its flag.
    pub const RELEASE_REQUESTED: &str = "ReleaseRequested";
    /// A request to release a host is not carried out.
    pub const RELEASE_REFUSED: &str = "ReleaseRefused";
    /// A host was reserved for the next machine of the same owner.
    pub const HOST_BOOKED: &str = "HostBooked";
    /// The reservation of a host has ended.
    pub const BOOKING_ENDED: &str = "BookingEnded";
    /// A host is given back to all, though it was to be kept for the next machine of the same owner.
    pub const HOST_NOT_KEPT: &str = "HostNotKept";
    /// Metadata and network data are rendered.
    pub const DATA_READY: &str = "DataReady";
    /// The provider ID was set.
    pub const PROVIDER_ID_SET: &str = "ProviderIDSet";
    /// A claim got a lower index in place of one that no range can serve.
    pub const INDEX_REPLACED: &str = "IndexReplaced";
    /// The Secrets of a Metal3Data were made.
    pub const RENDERED: &str = "Rendered";
    /// A Secret was made again and differs from the one before.
    pub const RENDER_DIFFERS: &str = "RenderDiffers";
    /// A Secret of the user is not moved along with its cluster.
    pub const SECRET_STAYS_BEHIND: &str = "SecretStaysBehind";
    /// A remediation begins to power a host off and on.
    pub const REMEDIATION_STARTED: &str = "RemediationStarted";
    /// A Node got the out-of-service taint.
    pub const NODE_TAINTED: &str = "NodeTainted";
    /// A Node was deleted after its labels and annotations were kept.
    pub const NODE_DELETED: &str = "NodeDeleted";
    /// A host may be powered on again.
    pub const POWER_ON_REQUESTED: &str = "PowerOnRequested";
    /// The taint of a Node was removed, or its labels and annotations were restored.
    pub const NODE_RESTORED: &str = "NodeRestored";
    /// An attempt has failed, and another one begins.
    pub const REMEDIATION_RETRIED: &str = "RemediationRetried";
    /// The last attempt has failed.
    pub const REMEDIATION_EXHAUSTED: &str = "RemediationExhausted";
    /// The host of a remediation is switched off on purpose.
    pub const REMEDIATION_FAILED: &str = "RemediationFailed";
    /// A remediation may not read or change Nodes.
    pub const NODE_FORBIDDEN: &str = "NodeForbidden";
    /// Labels of a host were written to its Node.
    pub const LABELS_SYNCED: &str = "LabelsSynced";
    /// An annotation that says which labels are synced cannot be read.
    pub const LABEL_SYNC_INVALID: &str = "LabelSyncInvalid";
    /// A claim got no address.
    pub const ADDRESS_NOT_GIVEN: &str = "AddressNotGiven";
}

/// Provisioning states of a host.
pub mod host_state {
    /// Older form of [`AVAILABLE`].
    pub const READY: &str = "ready";
    /// Free for use.
    pub const AVAILABLE: &str = "available";
    /// The image is being written.
    pub const PROVISIONING: &str = "provisioning";
    /// The image is on the disk.
    pub const PROVISIONED: &str = "provisioned";
    /// Managed elsewhere.
    pub const EXTERNALLY_PROVISIONED: &str = "externally provisioned";
    /// The disk is being cleaned.
    pub const DEPROVISIONING: &str = "deprovisioning";
}

/// The taint of a Node whose host is powered off, so that what ran there may run elsewhere.
pub mod out_of_service {
    /// Key of the taint.
    pub const KEY: &str = "node.kubernetes.io/out-of-service";
    /// Value of the taint.
    pub const VALUE: &str = "nodeshutdown";
    /// Effect of the taint.
    pub const EFFECT: &str = "NoExecute";
}

/// Prefix of provider IDs.
pub const PROVIDER_ID_PREFIX: &str = "metal3://";
/// Type of rendered Secrets.
pub const SECRET_TYPE: &str = "infrastructure.cluster.x-k8s.io/secret";
/// Suffix of the metadata Secret's name.
pub const META_DATA_SUFFIX: &str = "-metadata";
/// Suffix of the network data Secret's name.
pub const NETWORK_DATA_SUFFIX: &str = "-networkdata";
/// `cloned-from-groupkind` of machines made from our template.
pub const MACHINE_TEMPLATE_GROUP_KIND: &str = "Metal3MachineTemplate.infrastructure.cluster.x-k8s.io";
/// Value of the provider label on an IPPool.
pub const IPAM_PROVIDER: &str = "ipam-metal3";
