//! What we have otherwise than the reference, and why.
//!
//! D3: schemas are the reference's, loosened only where older documents, missing conditions, repairs of its mistakes or the
//! golden cases marked as its defects ask for it, and where the scale targets cannot be met otherwise. D4: a data template for each failure domain. D15: fields of older
//! documents, in both versions.

/// A reason, and the differences (`*` stands for any text) that it permits.
pub type Permitted = (&'static str, &'static [&'static str]);

/// All of them.
#[rustfmt::skip]
pub const DIFFERENCES: &[Permitted] = &[
    ("Strategies of a remediation beyond the reference, and what it waits for", &[
        r"metal3remediation* v1beta2 *.strategy.powerOff: added string enum=*",
        r"metal3remediation* v1beta2 *.strategy.onExhausted: added string enum=*",
        r"metal3remediation* v1beta2 .status*.conditions: added array *",
        r"metal3remediation* v1beta2 .status*.conditions[]*: added *",
    ]),
    ("The contract of Cluster API has a place for it: where the machine really stands", &[
        r"metal3machines v1beta1 .status.failureDomain: added string",
        r"metal3machines v1beta2 .status.failureDomain: added string maxLength=256 minLength=1",
    ]),
    ("D3, golden w-machine-selector-dup: a range on one label needs two expressions", &[
        r"metal3machine* v1beta2 .spec*hostSelector.matchExpressions: list-map-keys ['key'] -> none",
        r"metal3machine* v1beta2 .spec*hostSelector.matchExpressions: list-type 'map' -> 'atomic'",
    ]),
    ("D4: a data template for each failure domain, in both versions", &[
        r"metal3machinetemplates v1beta* .spec.failureDomainDataTemplates: added array list-map-keys=['failureDomain'] list-type='map' maxItems=100",
        r"metal3machinetemplates v1beta* .spec.failureDomainDataTemplates[]: added object",
        r"metal3machinetemplates v1beta* .spec.failureDomainDataTemplates[].dataTemplate: added object required map-type='atomic'",
        r"metal3machinetemplates v1beta* .spec.failureDomainDataTemplates[].dataTemplate.name: added string required maxLength=253 minLength=1",
        r"metal3machinetemplates v1beta* .spec.failureDomainDataTemplates[].dataTemplate.namespace: added string maxLength=253 minLength=1",
        r"metal3machinetemplates v1beta* .spec.failureDomainDataTemplates[].failureDomain: added string required maxLength=256 minLength=1",
    ]),
    ("The contract of Cluster API has a place for it: what an autoscaler needs where there is no machine yet", &[
        r"metal3machinetemplates v1beta* itself: subresources [] -> ['status']",
        r"metal3machinetemplates v1beta* .status: added object",
        r"metal3machinetemplates v1beta* .status.capacity: added object",
        r"metal3machinetemplates v1beta* .status.capacity{}: added string pattern='^[0-9]+(\\.[0-9]+)?([KMGTPE]i|[numkMGTPE]|[eE][0-9]+)?$'",
        r"metal3machinetemplates v1beta* .status.nodeInfo: added object",
        r"metal3machinetemplates v1beta* .status.nodeInfo.architecture: added string maxLength=63 minLength=1",
        r"metal3machinetemplates v1beta* .status.nodeInfo.operatingSystem: added string maxLength=63 minLength=1",
    ]),
    ("D3: optional; a template without it is shown with an empty one", &[
        r"metal3datatemplates v1beta1 .spec.clusterName: minLength 1 -> none",
        r"metal3datatemplates v1beta1 .spec.clusterName: required yes -> none",
    ]),
    ("D3: group and kind of a pool have the defaults of v1beta2", &[
        r"metal3datatemplates v1beta1 .spec.metaData.*FromIPPool[].apiGroup: default none -> 'ipam.metal3.io'",
        r"metal3datatemplates v1beta1 .spec.metaData.*FromIPPool[].apiGroup: required yes -> none",
        r"metal3datatemplates v1beta1 .spec.metaData.*FromIPPool[].kind: default none -> 'IPPool'",
        r"metal3datatemplates v1beta1 .spec.metaData.*FromIPPool[].kind: required yes -> none",
    ]),
    ("Acceptance row S94: negative offsets and steps are refused in both versions; 0 still counts as 1", &[
        r"metal3datatemplates v1beta1 .spec.metaData.indexes[].offset: minimum none -> 0",
        r"metal3datatemplates v1beta1 .spec.metaData.indexes[].step: minimum none -> 0",
    ]),
    ("D15: addresses that follow the index, without a pool", &[
        r"metal3datatemplates v1beta1 .spec.metaData.ipAddresses: added array list-map-keys=['key'] list-type='map'",
        r"metal3datatemplates v1beta* .spec.metaData.ipAddresses[]: added object",
        r"metal3datatemplates v1beta* .spec.metaData.ipAddresses[].end: added string maxLength=64 minLength=1",
        r"metal3datatemplates v1beta* .spec.metaData.ipAddresses[].key: added string required maxLength=512 minLength=1",
        r"metal3datatemplates v1beta* .spec.metaData.ipAddresses[].start: added string maxLength=64 minLength=1",
        r"metal3datatemplates v1beta* .spec.metaData.ipAddresses[].step: added integer default=1 format='int32' minimum=1",
        r"metal3datatemplates v1beta* .spec.metaData.ipAddresses[].subnet: added string maxLength=64 minLength=1",
        r"metal3datatemplates v1beta* .spec.networkData.networks.ipv*[].ipAddress: added object",
        r"metal3datatemplates v1beta* .spec.networkData.networks.ipv*[].ipAddress.end: added string maxLength=64 minLength=1",
        r"metal3datatemplates v1beta* .spec.networkData.networks.ipv*[].ipAddress.start: added string maxLength=64 minLength=1",
        r"metal3datatemplates v1beta* .spec.networkData.networks.ipv*[].ipAddress.step: added integer default=1 format='int32' minimum=1",
        r"metal3datatemplates v1beta* .spec.networkData.networks.ipv*[].ipAddress.subnet: added string maxLength=64 minLength=1",
        r"metal3datatemplates v1beta1 .spec.networkData.networks.ipv4[].prefix: added integer maximum=32 minimum=0",
        r"metal3datatemplates v1beta1 .spec.networkData.networks.ipv6[].prefix: added integer maximum=128 minimum=0",
        r"metal3datatemplates v1beta2 .spec.metaData.ipAddresses: added array list-map-keys=['key'] list-type='map' maxItems=512 minItems=1",
        r"metal3datatemplates v1beta2 .spec.networkData.networks.ipv4[].prefix: added integer format='int32' maximum=32 minimum=0",
        r"metal3datatemplates v1beta2 .spec.networkData.networks.ipv6[].prefix: added integer format='int32' maximum=128 minimum=0",
    ]),
    ("D3: a link without a MAC address is rendered without it", &[
        r"metal3datatemplates v1beta* .spec.networkData.links.*[].macAddress: required yes -> none",
    ]),
    ("D3: older name of prefix, and never two different values", &[
        r"metal3datatemplates v1beta1 .spec.networkData.networks.ipv*[].routes[]: rule none -> !has(self.netmask) || !has(self.prefix) || self.netmask == self.prefix",
        r"metal3datatemplates v1beta1 .spec.networkData.networks.ipv4*[].routes[].netmask: added integer maximum=32 minimum=0",
        r"metal3datatemplates v1beta1 .spec.networkData.networks.ipv6*[].routes[].netmask: added integer maximum=128 minimum=0",
    ]),
    ("D15: an IPv6 network may have a range instead of a pool, as an IPv4 network may", &[
        r"metal3datatemplates v1beta1 .spec.networkData.networks.ipv6[].ipAddressFromIPPool: required yes -> none",
    ]),
    ("D15: key of an index space that templates share, 1 to 253 characters", &[
        r"metal3datatemplates v1beta1 .spec.templateReference: maxLength none -> 253",
        r"metal3datas v1beta1 .spec.templateReference: maxLength none -> 253",
        r"metal3datatemplates v1beta2 .spec.templateReference: added string maxLength=253 minLength=1",
        r"metal3datas v1beta2 .spec.templateReference: added string maxLength=253 minLength=1",
    ]),
    ("D3, golden w-datatemplate-empty-string: a value may be empty", &[
        r"metal3datatemplates v1beta2 .spec.metaData.strings[].value: minLength 1 -> none",
    ]),
    ("D3, golden w-datatemplate-bond-noparams, -bond-scalar: optional, and any value", &[
        r"metal3datatemplates v1beta2 .spec.networkData.links.bonds[].parameters: required yes -> none",
        r"metal3datatemplates v1beta2 .spec.networkData.links.bonds[].parameters[].value: type object -> -",
    ]),
    ("D3, golden w-datatemplate-vlan-dup: one VLAN on two links", &[
        r"metal3datatemplates v1beta2 .spec.networkData.links.vlans: list-map-keys ['vlanID'] -> ['id']",
    ]),
    ("D3, golden w-datatemplate-route-dup: two routes of one network, distinguished by the prefix", &[
        r"metal3datatemplates v1beta2 .spec.networkData.networks.ipv*[].routes: list-map-keys ['network'] -> none",
        r"metal3datatemplates v1beta2 .spec.networkData.networks.ipv*[].routes: list-type 'map' -> 'atomic'",
    ]),
    ("Scale targets: 1,000 claims of one template are served, and the list names each index in use. v1beta1 never had a bound, \
      so a status that an older release stored must still be taken", &[
        r"metal3datatemplates v1beta2 .status.indexes: maxItems 512 -> none",
    ]),
    ("D15: which data stands for the index", &[
        r"metal3datatemplates v1beta2 .status.indexes[].dataName: added string maxLength=253 minLength=1",
    ]),
    ("Columns: whoever lists claims and data sees whose they are and what is wrong, after the columns of the reference", &[
        r"metal3dataclaims v1beta* column 2: added 'Template' string .spec.template.name priority=0",
        r"metal3dataclaims v1beta* column 3: added 'Data' string .status.renderedData.name priority=0",
        r"metal3dataclaims v1beta* column 4: added 'Error' string .status.errorMessage priority=0",
        r"metal3datas v1beta* column 2: added 'Ready' boolean .status.ready priority=0",
        r"metal3datas v1beta* column 3: added 'Index' integer .spec.index priority=0",
        r"metal3datas v1beta* column 4: added 'Claim' string .spec.claim.name priority=0",
        r"metal3datas v1beta* column 5: added 'Template' string .spec.template.name priority=0",
        r"metal3datas v1beta* column 6: added 'Error' string .status.errorMessage priority=0",
        r"ipclaims v1alpha1 column 2: added 'Pool' string .spec.pool.name priority=0",
        r"ipclaims v1alpha1 column 3: added 'Address' string .status.address.name priority=0",
        r"ipclaims v1alpha1 column 4: added 'Error' string .status.errorMessage priority=0",
    ]),
    ("D3: condition Ready on claims and data, in both versions", &[
        r"metal3data* v1beta* .status.conditions: added array list-map-keys=['type'] list-type='map' maxItems=32",
        r"metal3data* v1beta* .status.conditions[]: added object",
        r"metal3data* v1beta* .status.conditions[].lastTransitionTime: added string required format='date-time'",
        r"metal3data* v1beta* .status.conditions[].message: added string required maxLength=32768",
        r"metal3data* v1beta* .status.conditions[].observedGeneration: added integer format='int64' minimum=0",
        r"metal3data* v1beta* .status.conditions[].reason: added string required maxLength=1024 minLength=1 pattern='^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$'",
        r"metal3data* v1beta* .status.conditions[].status: added string required enum=['True', 'False', 'Unknown']",
        r"metal3data* v1beta* .status.conditions[].type: added string required maxLength=316 pattern='^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$'",
    ]),
];
