//! Names, columns and versions of each kind.

use schemars::JsonSchema;

use super::{
    column::{
        AGE, CLUSTER, Column, DATA, DATA_CLAIM, ENDPOINT, ERROR, ERROR_V1BETA1, IP_CLAIM, MACHINE_PHASE,
        PROVIDER_ID, PROVISIONED, READY, REMEDIATION,
    },
    definition::{Definition, Version},
};
use crate::{ApiKind, ipam, schema::structural_schema, v1beta1, v1beta2};

/// Labels of the definition of a kind whose objects `clusterctl move` takes along although no owner leads it to them.
const MOVED_BY_KIND: &[(&str, &str)] = &[("clusterctl.cluster.x-k8s.io/move", "")];

/// The nine kinds of the provider and the three address kinds.
pub(super) fn all() -> Vec<Definition> {
    let mut kinds = vec![cluster(), cluster_template(), machine(), machine_template()];
    kinds.extend([data_template(), data_claim(), data(), remediation(), remediation_template()]);
    kinds.extend([ip_pool(), ip_claim(), ip_address()]);
    kinds
}

fn metal3(
    api: ApiKind,
    about: &'static str,
    short_names: &'static [&'static str],
    versions: [Version; 2],
) -> Definition {
    let versions = versions.into();
    Definition { api, about, short_names, category: "cluster-api", versions, labels: &[], annotations: &[] }
}

fn version<Spec: JsonSchema>(name: &'static str) -> Version {
    let spec = structural_schema::<Spec>();
    Version { name, spec, spec_required: false, status: None, columns: Vec::new() }
}

impl Version {
    fn status<Status: JsonSchema>(mut self) -> Self {
        self.status = Some(structural_schema::<Status>());
        self
    }

    fn columns(mut self, columns: impl IntoIterator<Item = Column>) -> Self {
        self.columns = columns.into_iter().collect();
        self
    }

    fn needs_spec(mut self) -> Self {
        self.spec_required = true;
        self
    }
}

fn cluster() -> Definition {
    metal3(
        v1beta2::Metal3Cluster::API,
        "Metal3Cluster is the bare-metal side of a Cluster: the endpoint of its API and the failure domains, such as \
         racks, into which its machines are spread.",
        &["m3c", "m3cluster", "m3clusters", "metal3c", "metal3cluster"],
        [
            version::<v1beta2::Metal3ClusterSpec>(v1beta2::VERSION)
                .status::<v1beta2::Metal3ClusterStatus>()
                .columns([AGE, PROVISIONED, ERROR, CLUSTER, ENDPOINT]),
            version::<v1beta1::Metal3ClusterSpec>(v1beta1::VERSION)
                .status::<v1beta1::Metal3ClusterStatus>()
                .columns([AGE, READY, ERROR_V1BETA1, CLUSTER, ENDPOINT]),
        ],
    )
}

fn cluster_template() -> Definition {
    metal3(
        v1beta2::Metal3ClusterTemplate::API,
        "Metal3ClusterTemplate is what the Metal3Clusters of a ClusterClass are copied from.",
        &["m3ct"],
        [
            version::<v1beta2::Metal3ClusterTemplateSpec>(v1beta2::VERSION).needs_spec(),
            version::<v1beta1::Metal3ClusterTemplateSpec>(v1beta1::VERSION),
        ],
    )
}

fn machine() -> Definition {
    metal3(
        v1beta2::Metal3Machine::API,
        "Metal3Machine is the bare-metal side of a Machine: the BareMetalHost that was taken for it, the image that is \
         written to it, and the metadata and network data that its node boots with.",
        &["m3m", "m3machine", "m3machines", "metal3m", "metal3machine"],
        [
            version::<v1beta2::Metal3MachineSpec>(v1beta2::VERSION)
                .status::<v1beta2::Metal3MachineStatus>()
                .columns([AGE, PROVIDER_ID, PROVISIONED, CLUSTER]),
            version::<v1beta1::Metal3MachineSpec>(v1beta1::VERSION)
                .status::<v1beta1::Metal3MachineStatus>()
                .columns([AGE, PROVIDER_ID, READY, CLUSTER, MACHINE_PHASE]),
        ],
    )
}

fn machine_template() -> Definition {
    metal3(
        v1beta2::Metal3MachineTemplate::API,
        "Metal3MachineTemplate is what the Metal3Machines of a control plane or a MachineDeployment are copied from.",
        &["m3mt", "m3machinetemplate", "m3machinetemplates", "metal3mt", "metal3machinetemplate"],
        [
            version::<v1beta2::Metal3MachineTemplateSpec>(v1beta2::VERSION)
                .status::<v1beta2::Metal3MachineTemplateStatus>()
                .columns([AGE])
                .needs_spec(),
            version::<v1beta1::Metal3MachineTemplateSpec>(v1beta1::VERSION)
                .status::<v1beta2::Metal3MachineTemplateStatus>()
                .columns([AGE]),
        ],
    )
}

fn data_template() -> Definition {
    let mut definition = metal3(
        v1beta2::Metal3DataTemplate::API,
        "Metal3DataTemplate says how the metadata and the network data of machines are rendered: each machine gets an \
         index, and names, addresses, VLANs and bonds follow from it.",
        &["m3dt", "m3datatemplate", "m3datatemplates", "metal3dt", "metal3datatemplate"],
        [
            version::<v1beta2::Metal3DataTemplateSpec>(v1beta2::VERSION)
                .status::<v1beta2::Metal3DataTemplateStatus>()
                .columns([CLUSTER, AGE]),
            version::<v1beta1::Metal3DataTemplateSpec>(v1beta1::VERSION)
                .status::<v1beta1::Metal3DataTemplateStatus>()
                .columns([CLUSTER, AGE]),
        ],
    );
    // A template has no owner that leads to a Cluster, so `clusterctl move` needs the label.
    definition.labels = MOVED_BY_KIND;
    definition
}

fn data_claim() -> Definition {
    metal3(
        v1beta2::Metal3DataClaim::API,
        "Metal3DataClaim is a machine's request for an index and rendered data of a Metal3DataTemplate. The provider makes \
         it.",
        &["m3dc", "m3dataclaim", "m3dataclaims", "metal3dc", "metal3dataclaim"],
        [
            version::<v1beta2::Metal3DataClaimSpec>(v1beta2::VERSION)
                .status::<v1beta2::Metal3DataClaimStatus>()
                .columns(DATA_CLAIM),
            version::<v1beta1::Metal3DataClaimSpec>(v1beta1::VERSION)
                .status::<v1beta1::Metal3DataClaimStatus>()
                .columns(DATA_CLAIM),
        ],
    )
}

fn data() -> Definition {
    let mut definition = metal3(
        v1beta2::Metal3Data::API,
        "Metal3Data is one index of a Metal3DataTemplate, given to one Metal3DataClaim, and the Secrets that were \
         rendered for it. The provider makes it.",
        &["m3d", "m3data", "m3datas", "metal3d", "metal3data"],
        [
            version::<v1beta2::Metal3DataSpec>(v1beta2::VERSION)
                .status::<v1beta2::Metal3DataStatus>()
                .columns(DATA),
            version::<v1beta1::Metal3DataSpec>(v1beta1::VERSION)
                .status::<v1beta1::Metal3DataStatus>()
                .columns(DATA),
        ],
    );
    // `clusterctl` would look for `metal3data`, the plural by its own rule.
    definition.annotations = &[("clusterctl.cluster.x-k8s.io/skip-crd-name-preflight-check", "")];
    definition
}

fn remediation() -> Definition {
    metal3(
        v1beta2::Metal3Remediation::API,
        "Metal3Remediation is the attempt to bring an unhealthy Machine back by restarting its host. A \
         MachineHealthCheck makes it and deletes it when the Machine is healthy.",
        &["m3r", "m3remediation"],
        [
            version::<v1beta2::Metal3RemediationSpec>(v1beta2::VERSION)
                .status::<v1beta2::Metal3RemediationStatus>()
                .columns(REMEDIATION),
            version::<v1beta1::Metal3RemediationSpec>(v1beta1::VERSION)
                .status::<v1beta1::Metal3RemediationStatus>()
                .columns(REMEDIATION),
        ],
    )
}

fn remediation_template() -> Definition {
    let mut definition = metal3(
        v1beta2::Metal3RemediationTemplate::API,
        "Metal3RemediationTemplate is what a MachineHealthCheck copies Metal3Remediations from.",
        &["m3rt", "m3remediationtemplate", "m3remediationtemplates", "metal3rt", "metal3remediationtemplate"],
        [
            version::<v1beta2::Metal3RemediationTemplateSpec>(v1beta2::VERSION)
                .status::<v1beta2::Metal3RemediationTemplateStatus>(),
            version::<v1beta1::Metal3RemediationTemplateSpec>(v1beta1::VERSION)
                .status::<v1beta1::Metal3RemediationTemplateStatus>(),
        ],
    );
    // Only a MachineHealthCheck names it, which owns nothing.
    definition.labels = MOVED_BY_KIND;
    definition
}

fn ipam(
    api: ApiKind,
    about: &'static str,
    short_names: &'static [&'static str],
    version: Version,
) -> Definition {
    let versions = vec![version];
    Definition { api, about, short_names, category: "cluster-api", versions, labels: &[], annotations: &[] }
}

fn ip_pool() -> Definition {
    ipam(
        ipam::IpPool::API,
        "IPPool holds ranges of addresses and what belongs to them: prefix length, gateway and DNS servers.",
        &["ipp", "ippool", "m3ipp", "m3ippool", "m3ippools", "metal3ipp", "metal3ippool", "metal3ippools"],
        version::<ipam::IpPoolSpec>(ipam::VERSION).status::<ipam::IpPoolStatus>().columns([CLUSTER, AGE]),
    )
}

fn ip_claim() -> Definition {
    ipam(
        ipam::IpClaim::API,
        "IPClaim is a request for one address of an IPPool.",
        &[
            "ipc",
            "ipclaim",
            "m3ipc",
            "m3ipclaim",
            "m3ipclaims",
            "metal3ipc",
            "metal3ipclaim",
            "metal3ipclaims",
        ],
        version::<ipam::IpClaimSpec>(ipam::VERSION).status::<ipam::IpClaimStatus>().columns(IP_CLAIM),
    )
}

fn ip_address() -> Definition {
    let mut definition = ipam(
        ipam::IpAddress::API,
        "IPAddress is an address of an IPPool that was given to an IPClaim.",
        &[
            "ipa",
            "ipaddress",
            "m3ipa",
            "m3ipaddress",
            "m3ipaddresses",
            "metal3ipa",
            "metal3ipaddress",
            "metal3ipaddresses",
        ],
        version::<ipam::IpAddressSpec>(ipam::VERSION).columns([AGE]),
    );
    definition.category = "metal3";
    definition
}
