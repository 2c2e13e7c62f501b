//! The rows.

use super::{
    Fails::{self, ConditionOf, Controllers, Creation, Deletion, Field, FieldOf, Migration},
    Right,
    Says::{self, Condition, Log, Readyz},
    Scope, When, Without,
};

const METAL3: &str = "infrastructure.cluster.x-k8s.io";
const CAPI: &str = "cluster.x-k8s.io";
const CAPI_IPAM: &str = "ipam.cluster.x-k8s.io";
const IPAM: &str = "ipam.metal3.io";
const DEFINITIONS: &str = "apiextensions.k8s.io";
const ADMISSION: &str = "admissionregistration.k8s.io";

const READ: &[&str] = &["get", "list", "watch"];
const PATCH: &[&str] = &["patch"];
const CREATE: &[&str] = &["create"];
const DELETE: &[&str] = &["delete"];

const METAL3CLUSTERS: &str = "metal3clusters.infrastructure.cluster.x-k8s.io";

/// CRDs whose conversion the manager serves.
pub(super) const CONVERTED: &[&str] = &[
    METAL3CLUSTERS,
    "metal3clustertemplates.infrastructure.cluster.x-k8s.io",
    "metal3machines.infrastructure.cluster.x-k8s.io",
    "metal3machinetemplates.infrastructure.cluster.x-k8s.io",
    "metal3datatemplates.infrastructure.cluster.x-k8s.io",
    "metal3dataclaims.infrastructure.cluster.x-k8s.io",
    "metal3datas.infrastructure.cluster.x-k8s.io",
    "metal3remediations.infrastructure.cluster.x-k8s.io",
    "metal3remediationtemplates.infrastructure.cluster.x-k8s.io",
];

/// A right of every installation, in every namespace.
const fn may(
    verbs: &'static [&'static str],
    group: &'static str,
    resource: &'static str,
    by: &'static str,
    why: &'static str,
) -> Right {
    // Each row says it; a test looks for those that do not.
    let without = Without { fails: Fails::Nothing(""), says: Says::Nothing };
    Right { group, resource, verbs, names: &[], scope: Scope::Cluster, when: When::Always, by, why, without }
}

/// The informers read everything that the controllers look at, and a write that was refused as outdated is followed by a GET.
const fn reads(group: &'static str, resource: &'static str) -> Right {
    let why = "informer; read again after a conflict";
    may(READ, group, resource, "provider/src/kinds.rs", why).without(Controllers, Readyz)
}

const fn migrates(resource: &'static str, kind: &'static str, says: &'static str) -> Right {
    let right = may(&["list", "patch"], METAL3, resource, MIGRATION, "storage version migration");
    right.without(Migration(kind), Log(says))
}

impl Right {
    /// What fails without it, and where the manager says so.
    const fn without(self, fails: Fails, says: Says) -> Self {
        Self { without: Without { fails, says }, ..self }
    }

    const fn when(self, when: When) -> Self {
        Self { when, ..self }
    }

    const fn in_own_namespace(self) -> Self {
        Self { scope: Scope::OwnNamespace, ..self }
    }

    const fn only(self, names: &'static [&'static str]) -> Self {
        Self { names, ..self }
    }
}

/// Every right of the manager.
pub const TABLE: &[Right] = &[
    // The provider's own kinds.
    reads(METAL3, "metal3clusters"),
    may(PATCH, METAL3, "metal3clusters", "provider/src/metal3cluster/decide.rs", "finalizer")
        .without(Field("Metal3Cluster", "metadata.finalizers"), Log("patch Metal3Cluster")),
    may(
        PATCH,
        METAL3,
        "metal3clusters/status",
        "provider/src/metal3cluster/decide.rs",
        "conditions, failure domains",
    )
    .without(Field("Metal3Cluster", "status.conditions"), Log("patch Metal3Cluster/status")),
    reads(METAL3, "metal3machines"),
    may(
        PATCH,
        METAL3,
        "metal3machines",
        "provider/src/metal3machine/decide.rs",
        "finalizer, provider ID, record of the host",
    )
    .without(
        Field("Metal3Machine", "metadata.finalizers"),
        Condition("Metal3Machine", "AssociateBareMetalHost", "WriteRefused"),
    ),
    may(
        PATCH,
        METAL3,
        "metal3machines/status",
        "provider/src/metal3machine/status.rs",
        "conditions, references",
    )
    .without(Field("Metal3Machine", "status.conditions"), Log("patch Metal3Machine/status")),
    reads(METAL3, "metal3remediations"),
    may(
        PATCH,
        METAL3,
        "metal3remediations",
        "provider/src/metal3remediation/pass.rs",
        "finalizer, record of what was done",
    )
    .without(Field("Metal3Remediation", "metadata.finalizers"), Log("patch Metal3Remediation")),
    may(
        PATCH,
        METAL3,
        "metal3remediations/status",
        "provider/src/metal3remediation/pass.rs",
        "phase, attempts, condition",
    )
    .without(Field("Metal3Remediation", "status.phase"), Log("patch Metal3Remediation/status")),
    reads(METAL3, "metal3machinetemplates"),
    may(
        PATCH,
        METAL3,
        "metal3machinetemplates/status",
        "provider/src/metal3machinetemplate/capacity.rs",
        "capacity for scaling from zero",
    )
    .without(Field("Metal3MachineTemplate", "status.capacity"), Log("patch Metal3MachineTemplate/status")),
    reads(METAL3, "metal3datatemplates"),
    may(
        PATCH,
        METAL3,
        "metal3datatemplates",
        "provider/src/metal3datatemplate/decide.rs",
        "finalizer, owner Cluster",
    )
    .without(Field("Metal3DataTemplate", "metadata.finalizers"), Log("patch Metal3DataTemplate")),
    may(
        PATCH,
        METAL3,
        "metal3datatemplates/status",
        "provider/src/metal3datatemplate/status.rs",
        "indexes in use",
    )
    .without(Field("Metal3DataTemplate", "status.indexes"), Log("patch Metal3DataTemplate/status")),
    reads(METAL3, "metal3dataclaims"),
    may(CREATE, METAL3, "metal3dataclaims", "provider/src/metal3machine/data.rs", "claim of a machine")
        .without(
            Creation("Metal3DataClaim"),
            Condition("Metal3Machine", "AssociateMetal3MachineMetaData", "WriteRefused"),
        ),
    may(
        DELETE,
        METAL3,
        "metal3dataclaims",
        "provider/src/metal3machine/data.rs",
        "claim of a machine that is deleted",
    )
    .without(
        Deletion("Metal3DataClaim"),
        Condition("Metal3Machine", "AssociateMetal3MachineMetaData", "WriteRefused"),
    ),
    may(PATCH, METAL3, "metal3dataclaims", "provider/src/metal3datatemplate/claim.rs", "finalizers")
        .without(Deletion("Metal3DataClaim"), Log("patch Metal3DataClaim")),
    may(
        PATCH,
        METAL3,
        "metal3dataclaims/status",
        "provider/src/metal3datatemplate/claim.rs",
        "answer to the claim",
    )
    .without(Field("Metal3DataClaim", "status.renderedData"), Log("patch Metal3DataClaim/status")),
    reads(METAL3, "metal3datas"),
    may(CREATE, METAL3, "metal3datas", "provider/src/metal3datatemplate/claim.rs", "one data per claim")
        .without(Creation("Metal3Data"), Log("create Metal3Data")),
    may(
        DELETE,
        METAL3,
        "metal3datas",
        "provider/src/metal3datatemplate/claim.rs",
        "data of a claim that is deleted",
    )
    .without(Deletion("Metal3Data"), Log("delete Metal3Data")),
    may(PATCH, METAL3, "metal3datas", "provider/src/metal3data/decide.rs", "finalizers, names of Secrets")
        .without(Deletion("Metal3Data"), Log("patch Metal3Data")),
    may(PATCH, METAL3, "metal3datas/status", "provider/src/metal3data/status.rs", "conditions, errors")
        .without(Field("Metal3Data", "status.ready"), Log("patch Metal3Data/status")),
    // Neighbours.
    reads("metal3.io", "baremetalhosts"),
    may(
        PATCH,
        "metal3.io",
        "baremetalhosts",
        "provider/src/host_patch/mod.rs",
        "claim, provision, pause and release hosts",
    )
    .without(
        Field("BareMetalHost", "spec.consumerRef"),
        Condition("Metal3Machine", "AssociateBareMetalHost", "WriteRefused"),
    ),
    reads(CAPI, "clusters"),
    reads(CAPI, "machines"),
    may(
        PATCH,
        CAPI,
        "machines/status",
        "provider/src/metal3remediation/give_up.rs",
        "condition that asks the owner to replace a Machine",
    )
    .without(ConditionOf("Machine", "OwnerRemediated"), Log("patch Machine/status")),
    reads(CAPI, "machinesets"),
    reads(CAPI, "machinedeployments"),
    reads("controlplane.cluster.x-k8s.io", "kubeadmcontrolplanes"),
    reads("", "secrets"),
    may(&["get"], "", "secrets", "provider/src/workload.rs", "kubeconfig of a workload cluster").without(
        Field("Metal3Machine", "status.initialization.provisioned"),
        Condition("Metal3Machine", "AssociateMetal3MachineMetaData", "WorkloadClusterUnreachable"),
    ),
    may(CREATE, "", "secrets", "provider/src/metal3data/secrets.rs", "rendered metadata and network data")
        .without(Field("BareMetalHost", "spec.networkData"), Log("create Secret")),
    may(PATCH, "", "secrets", "provider/src/metal3machine/associate.rs", "cluster label of BMC credentials")
        .without(FieldOf("Secret", "bmc-credentials", "metadata.labels"), Says::Nothing),
    may(&["get"], "", "namespaces", "engine/src/absence.rs", "proof that an object is gone")
        .without(Deletion("Metal3Cluster"), Log("cannot get resource \"namespaces\"")),
    may(
        &["get"],
        DEFINITIONS,
        "customresourcedefinitions",
        "engine/src/absence.rs",
        "proof that an object is gone",
    )
    .without(Deletion("Metal3Cluster"), Log("cannot get resource \"customresourcedefinitions\"")),
    may(
        &["get"],
        DEFINITIONS,
        "customresourcedefinitions",
        "provider/src/host_crd.rs",
        "fields that hosts have",
    )
    .without(Fails::Nothing("hosts are taken to have every field"), Says::Nothing),
    may(
        &["get", "create", "patch"],
        "",
        "events",
        "engine/src/act.rs",
        "events on objects, counted up if repeated",
    )
    .without(Creation("Event"), Log("could not record an event")),
    // Addresses.
    reads(IPAM, "ippools"),
    reads(IPAM, "ipclaims"),
    may(CREATE, IPAM, "ipclaims", "provider/src/metal3data/claims.rs", "one claim per pool")
        .without(Creation("IPClaim"), Log("create IPClaim")),
    may(DELETE, IPAM, "ipclaims", "provider/src/metal3data/claims.rs", "claim of data that is deleted")
        .without(Deletion("IPClaim"), Log("delete IPClaim")),
    may(PATCH, IPAM, "ipclaims", "provider/src/metal3data/claims.rs", "finalizer of the data")
        .without(Deletion("IPClaim"), Log("patch IPClaim")),
    reads(IPAM, "ipaddresses"),
    reads(CAPI_IPAM, "ipaddressclaims"),
    may(CREATE, CAPI_IPAM, "ipaddressclaims", "provider/src/metal3data/claims.rs", "one claim per pool")
        .without(Creation("IPAddressClaim"), Log("create IPAddressClaim")),
    may(
        DELETE,
        CAPI_IPAM,
        "ipaddressclaims",
        "provider/src/metal3data/claims.rs",
        "claim of data that is deleted",
    )
    .without(Deletion("IPAddressClaim"), Log("delete IPAddressClaim")),
    may(PATCH, CAPI_IPAM, "ipaddressclaims", "provider/src/metal3data/claims.rs", "finalizer of the data")
        .without(Deletion("IPAddressClaim"), Log("patch IPAddressClaim")),
    reads(CAPI_IPAM, "ipaddresses"),
    // The built-in address manager.
    may(PATCH, IPAM, "ippools", "provider/src/ippool/decide.rs", "finalizer, owner Cluster")
        .without(Field("IPPool", "metadata.finalizers"), Log("patch IPPool"))
        .when(When::Ipam),
    may(PATCH, IPAM, "ippools/status", "provider/src/ippool/decide.rs", "addresses in use")
        .without(Field("IPPool", "status.indexes"), Log("patch IPPool/status"))
        .when(When::Ipam),
    may(PATCH, IPAM, "ipclaims/status", "provider/src/ippool/claim.rs", "answer to the claim")
        .without(Field("IPClaim", "status.address"), Log("patch IPClaim/status"))
        .when(When::Ipam),
    may(CREATE, IPAM, "ipaddresses", "provider/src/ippool/claim.rs", "one address per claim")
        .without(Creation("IPAddress"), Log("create IPAddress"))
        .when(When::Ipam),
    may(DELETE, IPAM, "ipaddresses", "provider/src/ippool/claim.rs", "address of a claim that is deleted")
        .without(Deletion("IPAddress"), Log("delete IPAddress"))
        .when(When::Ipam),
    may(PATCH, IPAM, "ipaddresses", "provider/src/ippool/claim.rs", "finalizer")
        .without(Deletion("IPAddress"), Log("patch IPAddress"))
        .when(When::Ipam),
    may(PATCH, CAPI_IPAM, "ipaddressclaims/status", "provider/src/ippool/claim.rs", "answer to the claim")
        .without(FieldOf("IPAddressClaim", "c1", "status.addressRef"), Log("patch IPAddressClaim/status"))
        .when(When::Ipam),
    may(CREATE, CAPI_IPAM, "ipaddresses", "provider/src/ippool/claim.rs", "one address per claim")
        .without(Creation("IPAddress of Cluster API"), Log("create IPAddress"))
        .when(When::Ipam),
    may(
        DELETE,
        CAPI_IPAM,
        "ipaddresses",
        "provider/src/ippool/claim.rs",
        "address of a claim that is deleted",
    )
    .without(Deletion("IPAddress"), Log("delete IPAddress"))
    .when(When::Ipam),
    may(PATCH, CAPI_IPAM, "ipaddresses", "provider/src/ippool/claim.rs", "finalizer")
        .without(Deletion("IPAddress"), Log("patch IPAddress"))
        .when(When::Ipam),
    // The manager itself.
    may(
        &["get", "create", "update"],
        "coordination.k8s.io",
        "leases",
        "engine/src/lease/elector.rs",
        "leader election",
    )
    .without(Fails::Leadership, Log("cannot acquire or renew the Lease; retries: "))
    .in_own_namespace(),
    may(CREATE, "", "events", "engine/src/lease/event.rs", "change of the leader")
        .without(Creation("Event of the Lease"), Log("could not record an event"))
        .in_own_namespace(),
    may(CREATE, "authentication.k8s.io", "tokenreviews", ACCESS, "who asks for diagnostics")
        .without(Fails::Diagnostics, Log("the API server does not say who may see diagnostics")),
    may(CREATE, "authorization.k8s.io", "subjectaccessreviews", ACCESS, "who may see diagnostics")
        .without(Fails::Diagnostics, Log("the API server does not say who may see diagnostics")),
    // The storage version migration, also of kinds that nothing else reads.
    migrates("metal3clusters", "Metal3Cluster", "storage version migration: cannot list Metal3Cluster"),
    migrates(
        "metal3clustertemplates",
        "Metal3ClusterTemplate",
        "storage version migration: cannot list Metal3ClusterTemplate",
    ),
    migrates("metal3machines", "Metal3Machine", "storage version migration: cannot list Metal3Machine"),
    migrates(
        "metal3machinetemplates",
        "Metal3MachineTemplate",
        "storage version migration: cannot list Metal3MachineTemplate",
    ),
    migrates(
        "metal3datatemplates",
        "Metal3DataTemplate",
        "storage version migration: cannot list Metal3DataTemplate",
    ),
    migrates("metal3dataclaims", "Metal3DataClaim", "storage version migration: cannot list Metal3DataClaim"),
    migrates("metal3datas", "Metal3Data", "storage version migration: cannot list Metal3Data"),
    migrates(
        "metal3remediations",
        "Metal3Remediation",
        "storage version migration: cannot list Metal3Remediation",
    ),
    migrates(
        "metal3remediationtemplates",
        "Metal3RemediationTemplate",
        "storage version migration: cannot list Metal3RemediationTemplate",
    ),
    may(PATCH, DEFINITIONS, "customresourcedefinitions", MIGRATION, "generation that is migrated")
        .without(
            FieldOf("CustomResourceDefinition", METAL3CLUSTERS, MIGRATED),
            Log("storage version migration: patch CustomResourceDefinition"),
        )
        .only(CONVERTED),
    may(PATCH, DEFINITIONS, "customresourcedefinitions/status", MIGRATION, "stored versions")
        .without(
            Migration("Metal3Cluster"),
            Log("storage version migration: patch CustomResourceDefinition/status"),
        )
        .only(CONVERTED),
    may(PATCH, DEFINITIONS, "customresourcedefinitions", SELF_MANAGED, "CA bundle of the conversion")
        .without(Fails::Trust, Log(OUTDATED))
        .only(CONVERTED)
        .when(When::SelfManagedCertificates),
    may(
        &["get", "patch"],
        ADMISSION,
        "mutatingwebhookconfigurations",
        SELF_MANAGED,
        "CA bundle of the webhooks",
    )
    .without(Fails::Trust, Log(OUTDATED))
    .only(&[crate::names::MUTATING])
    .when(When::SelfManagedCertificates),
    may(
        &["get", "patch"],
        ADMISSION,
        "validatingwebhookconfigurations",
        SELF_MANAGED,
        "CA bundle of the webhooks",
    )
    .without(Fails::Trust, Log(OUTDATED))
    .only(&[crate::names::VALIDATING])
    .when(When::SelfManagedCertificates),
    may(CREATE, "", "secrets", SELF_MANAGED, "certificate that all replicas share")
        .without(Fails::Certificate, Log(OUTDATED))
        .in_own_namespace()
        .when(When::SelfManagedCertificates),
    may(&["get", "update"], "", "secrets", SELF_MANAGED, "renewal of that certificate")
        .without(Fails::Certificate, Log(OUTDATED))
        .only(&[crate::names::SELF_MANAGED_SECRET])
        .in_own_namespace()
        .when(When::SelfManagedCertificates),
];

/// How the manager says that its certificates are not as they should be.
const OUTDATED: &str = "the certificates of the webhooks cannot be kept up to date";

/// Where a CRD says that its generation is migrated.
const MIGRATED: &str = "metadata.annotations.crd-migration.cluster.x-k8s.io/observed-generation";

/// Where the manager makes its certificate.
const SELF_MANAGED: &str = "capm3/src/manager/webhook/self_managed.rs";

/// Where it is asked who may see diagnostics.
const ACCESS: &str = "capm3/src/manager/diagnostics/access.rs";

/// Where stored objects are migrated.
const MIGRATION: &str = "provider/src/crd_migration/driver.rs";
