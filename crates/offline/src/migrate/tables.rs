//! Members that older documents have and v1beta2 does not, as tables.

/// A member that has another name now.
pub(super) struct Renamed {
    /// Where the member stands; see `Path::ends_with`.
    pub at: &'static str,
    /// Its name in older documents; case does not count.
    pub old: &'static str,
    /// Its name in v1beta2.
    pub new: &'static str,
    /// Why it has another name.
    pub why: &'static str,
}

const fn renamed(at: &'static str, old: &'static str, new: &'static str, why: &'static str) -> Renamed {
    Renamed { at, old, new, why }
}

const POOLS: &str = "renamed in v1beta2; group ipam.metal3.io and kind IPPool where none was given";
const PREFIX: &str = "a mask is given as the length of its prefix";
const MISSPELT: &str = "misspelt";

/// Members that have another name now.
pub(super) const RENAMED: &[Renamed] = &[
    renamed("metaData", "ipAddesses", "ipAddresses", MISSPELT),
    renamed("metaData", "ipAddressesFromIPPool", "ipAddressesFromPool", POOLS),
    renamed("metaData", "prefixesFromIPPool", "prefixesFromPool", POOLS),
    renamed("metaData", "gatewaysFromIPPool", "gatewaysFromPool", POOLS),
    renamed("metaData", "dnsServersFromIPPool", "dnsServersFromPool", POOLS),
    renamed("networkData.networks.ipv4", "netmask", "prefix", PREFIX),
    renamed("networkData.networks.ipv6", "netmask", "prefix", PREFIX),
    renamed("networkData.networks.*.routes", "netmask", "prefix", PREFIX),
    renamed("image", "format", "diskFormat", "renamed in v1beta2"),
    renamed(".spec", "metal3Machine", "claim", "data belongs to a claim, which has the name of its machine"),
    renamed("strategy", "timeout", "timeoutSeconds", "a number of seconds in v1beta2"),
];

/// Members that v1beta2 has no place for and that say nothing that it needs.
pub(super) struct Dropped {
    /// Where they stand.
    pub at: &'static str,
    /// Their names; case does not count.
    pub members: &'static [&'static str],
    /// Why nothing is lost.
    pub why: &'static str,
}

const OF_REFERENCES: &[&str] = &["apiVersion", "kind", "fieldPath", "resourceVersion", "uid"];
const REFERENCE: &str = "a reference is a name, and a namespace where it is another one";

/// Members that are left out.
pub(super) const DROPPED: &[Dropped] = &[
    Dropped { at: "dataTemplate", members: OF_REFERENCES, why: REFERENCE },
    Dropped { at: ".spec.claim", members: OF_REFERENCES, why: REFERENCE },
    Dropped { at: ".spec.template", members: OF_REFERENCES, why: REFERENCE },
];
