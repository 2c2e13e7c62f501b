//! The rows.

use super::{Right, Scope, When};

const METAL3: &str = "infrastructure.cluster.x-k8s.io";
const CAPI: &str = "cluster.x-k8s.io";
const CAPI_IPAM: &str = "ipam.cluster.x-k8s.io";
const IPAM: &str = "ipam.metal3.io";
const DEFINITIONS: &str = "apiextensions.k8s.io";
const ADMISSION: &str = "admissionregistration.k8s.io";

const READ: &[&str] = &["get", "list", "watch"];
const PATCH: &[&str] = &["patch"];
const CREATE_DELETE: &[&str] = &["create", "delete"];

/// CRDs whose conversion the manager serves.
pub(super) const CONVERTED: &[&str] = &[
    "metal3clusters.infrastructure.cluster.x-k8s.io",
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
    Right { group, resource, verbs, names: &[], scope: Scope::Cluster, when: When::Always, by, why }
}

/// The informers read everything that the controllers look at, and a write that was refused as outdated is followed by a GET.
const fn reads(group: &'static str, resource: &'static str) -> Right {
    may(READ, group, resource, "provider/src/kinds.rs", "informer; read again after a conflict")
}

const fn migrates(resource: &'static str) -> Right {
    may(&["list", "patch"], METAL3, resource, MIGRATION, "storage version migration")
}

impl Right {
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
    may(PATCH, METAL3, "metal3clusters", "provider/src/metal3cluster/decide.rs", "finalizer"),
    may(
        PATCH,
        METAL3,
        "metal3clusters/status",
        "provider/src/metal3cluster/decide.rs",
        "conditions, failure domains",
    ),
    reads(METAL3, "metal3machines"),
    may(
        PATCH,
        METAL3,
        "metal3machines",
        "provider/src/metal3machine/decide.rs",
        "finalizer, provider ID, record of the host",
    ),
    may(
        PATCH,
        METAL3,
        "metal3machines/status",
        "provider/src/metal3machine/status.rs",
        "conditions, references",
    ),
    reads(METAL3, "metal3machinetemplates"),
    may(
        PATCH,
        METAL3,
        "metal3machinetemplates/status",
        "provider/src/metal3machinetemplate/capacity.rs",
        "capacity for scaling from zero",
    ),
    reads(METAL3, "metal3datatemplates"),
    may(
        PATCH,
        METAL3,
        "metal3datatemplates",
        "provider/src/metal3datatemplate/decide.rs",
        "finalizer, owner Cluster",
    ),
    may(
        PATCH,
        METAL3,
        "metal3datatemplates/status",
        "provider/src/metal3datatemplate/status.rs",
        "indexes in use",
    ),
    reads(METAL3, "metal3dataclaims"),
    may(
        CREATE_DELETE,
        METAL3,
        "metal3dataclaims",
        "provider/src/metal3machine/data.rs",
        "claim of a machine",
    ),
    may(PATCH, METAL3, "metal3dataclaims", "provider/src/metal3datatemplate/claim.rs", "finalizers"),
    may(
        PATCH,
        METAL3,
        "metal3dataclaims/status",
        "provider/src/metal3datatemplate/claim.rs",
        "answer to the claim",
    ),
    reads(METAL3, "metal3datas"),
    may(
        CREATE_DELETE,
        METAL3,
        "metal3datas",
        "provider/src/metal3datatemplate/claim.rs",
        "one data per claim",
    ),
    may(PATCH, METAL3, "metal3datas", "provider/src/metal3data/decide.rs", "finalizers, names of Secrets"),
    may(PATCH, METAL3, "metal3datas/status", "provider/src/metal3data/status.rs", "conditions, errors"),
    // Neighbours.
    reads("metal3.io", "baremetalhosts"),
    may(
        PATCH,
        "metal3.io",
        "baremetalhosts",
        "provider/src/host_patch/mod.rs",
        "claim, provision, pause and release hosts",
    ),
    reads(CAPI, "clusters"),
    reads(CAPI, "machines"),
    reads(CAPI, "machinesets"),
    reads(CAPI, "machinedeployments"),
    reads("controlplane.cluster.x-k8s.io", "kubeadmcontrolplanes"),
    reads("", "secrets"),
    may(&["get"], "", "secrets", "provider/src/workload.rs", "kubeconfig of a workload cluster"),
    may(
        &["create"],
        "",
        "secrets",
        "provider/src/metal3data/secrets.rs",
        "rendered metadata and network data",
    ),
    may(PATCH, "", "secrets", "provider/src/metal3machine/associate.rs", "cluster label of BMC credentials"),
    may(&["get"], "", "namespaces", "engine/src/absence.rs", "proof that an object is gone"),
    may(
        &["get"],
        DEFINITIONS,
        "customresourcedefinitions",
        "engine/src/absence.rs",
        "proof that an object is gone",
    ),
    may(
        &["get"],
        DEFINITIONS,
        "customresourcedefinitions",
        "provider/src/host_crd.rs",
        "fields that hosts have",
    ),
    may(
        &["get", "create", "patch"],
        "",
        "events",
        "engine/src/act.rs",
        "events on objects, counted up if repeated",
    ),
    // Addresses.
    reads(IPAM, "ippools"),
    reads(IPAM, "ipclaims"),
    may(CREATE_DELETE, IPAM, "ipclaims", "provider/src/metal3data/claims.rs", "one claim per pool"),
    may(PATCH, IPAM, "ipclaims", "provider/src/metal3data/claims.rs", "finalizer of the data"),
    reads(IPAM, "ipaddresses"),
    reads(CAPI_IPAM, "ipaddressclaims"),
    may(
        CREATE_DELETE,
        CAPI_IPAM,
        "ipaddressclaims",
        "provider/src/metal3data/claims.rs",
        "one claim per pool",
    ),
    may(PATCH, CAPI_IPAM, "ipaddressclaims", "provider/src/metal3data/claims.rs", "finalizer of the data"),
    reads(CAPI_IPAM, "ipaddresses"),
    // The built-in address manager.
    may(PATCH, IPAM, "ippools", "provider/src/ippool/decide.rs", "finalizer, owner Cluster").when(When::Ipam),
    may(PATCH, IPAM, "ippools/status", "provider/src/ippool/decide.rs", "addresses in use").when(When::Ipam),
    may(PATCH, IPAM, "ipclaims/status", "provider/src/ippool/claim.rs", "answer to the claim")
        .when(When::Ipam),
    may(CREATE_DELETE, IPAM, "ipaddresses", "provider/src/ippool/claim.rs", "one address per claim")
        .when(When::Ipam),
    may(PATCH, IPAM, "ipaddresses", "provider/src/ippool/claim.rs", "finalizer").when(When::Ipam),
    may(PATCH, CAPI_IPAM, "ipaddressclaims/status", "provider/src/ippool/claim.rs", "answer to the claim")
        .when(When::Ipam),
    may(CREATE_DELETE, CAPI_IPAM, "ipaddresses", "provider/src/ippool/claim.rs", "one address per claim")
        .when(When::Ipam),
    may(PATCH, CAPI_IPAM, "ipaddresses", "provider/src/ippool/claim.rs", "finalizer").when(When::Ipam),
    // The manager itself.
    may(
        &["get", "create", "update"],
        "coordination.k8s.io",
        "leases",
        "engine/src/lease/elector.rs",
        "leader election",
    )
    .in_own_namespace(),
    may(&["create"], "", "events", "engine/src/lease/event.rs", "change of the leader").in_own_namespace(),
    // The storage version migration, also of kinds that nothing else reads.
    migrates("metal3clusters"),
    migrates("metal3clustertemplates"),
    migrates("metal3machines"),
    migrates("metal3machinetemplates"),
    migrates("metal3datatemplates"),
    migrates("metal3dataclaims"),
    migrates("metal3datas"),
    migrates("metal3remediations"),
    migrates("metal3remediationtemplates"),
    may(PATCH, DEFINITIONS, "customresourcedefinitions", MIGRATION, "generation that is migrated")
        .only(CONVERTED),
    may(PATCH, DEFINITIONS, "customresourcedefinitions/status", MIGRATION, "stored versions").only(CONVERTED),
    may(PATCH, DEFINITIONS, "customresourcedefinitions", SELF_MANAGED, "CA bundle of the conversion")
        .only(CONVERTED)
        .when(When::SelfManagedCertificates),
    may(
        &["get", "patch"],
        ADMISSION,
        "mutatingwebhookconfigurations",
        SELF_MANAGED,
        "CA bundle of the webhooks",
    )
    .only(&[crate::names::MUTATING])
    .when(When::SelfManagedCertificates),
    may(
        &["get", "patch"],
        ADMISSION,
        "validatingwebhookconfigurations",
        SELF_MANAGED,
        "CA bundle of the webhooks",
    )
    .only(&[crate::names::VALIDATING])
    .when(When::SelfManagedCertificates),
    may(&["create"], "", "secrets", SELF_MANAGED, "certificate that all replicas share")
        .in_own_namespace()
        .when(When::SelfManagedCertificates),
    may(&["get", "update"], "", "secrets", SELF_MANAGED, "renewal of that certificate")
        .only(&[crate::names::SELF_MANAGED_SECRET])
        .in_own_namespace()
        .when(When::SelfManagedCertificates),
];

/// Where the manager makes its certificate.
const SELF_MANAGED: &str = "capm3/src/manager/webhook/self_managed.rs";

/// Where stored objects are migrated.
const MIGRATION: &str = "provider/src/crd_migration/driver.rs";
