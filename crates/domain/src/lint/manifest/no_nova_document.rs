//! User network data in a form that agents do not read.

use crate::{
    lint::{Check, Draft, Example, Manifests, ObjectId, Rule, Severity, UserNetworkData, is_nmstate},
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L014"),
    title: "network data in a Secret of the user is no Nova document",
    severity: Severity::Error,
    why: "The text goes to the config drive as it is, where cloud-init, glean and Talos expect a \
          network_data document of OpenStack Nova: an object with the lists links, networks and \
          services. Of anything else they configure nothing, or end with an error. nmstate is recognised \
          and not judged: images that read it bring their own tool.",
    mend: "write links, networks and services, or give the network in the user data in the form that the \
          image reads",
    example: Example {
        wrong: r#"kind: Secret
stringData:
  networkData: |
    version: 2
    ethernets: {eno1: {dhcp4: true}}"#,
        right: r#"kind: Secret
stringData:
  networkData: |
    links: [{id: eno1, type: phy, ethernet_mac_address: "52:54:00:00:00:01"}]
    networks: [{id: n, type: ipv4_dhcp, link: eno1}]
    services: []"#,
    },
    check: Check::Manifests(check),
};

fn check(manifests: &Manifests<'_>) -> Vec<(ObjectId, Draft)> {
    let given = manifests.user_network_data.iter();
    given.flat_map(|given| judge(given).into_iter().map(|draft| (given.id, draft))).collect()
}

fn judge(given: &UserNetworkData) -> Vec<Draft> {
    let wrong = |message: String| Draft::new(given.field.as_str(), message);
    let document = match &given.document {
        Ok(document) => document,
        Err(error) => return vec![wrong(format!("the text is no YAML: {error}"))],
    };
    let Some(members) = document.as_object() else {
        return vec![wrong("the text is no object with links, networks and services".to_owned())];
    };
    if is_nmstate(document) {
        return Vec::new();
    }
    let has = |key: &str| members.contains_key(key);
    if !["links", "networks", "services"].iter().any(|key| has(key)) {
        let form = match () {
            () if has("network") || has("ethernets") => "the text has the form of netplan",
            () if has("config") => "the text has the form of cloud-init's network config",
            () => "the text has none of links, networks and services",
        };
        return vec![wrong(form.to_owned())];
    }
    let lists = ["links", "networks", "services"].into_iter();
    let no_list = lists.filter(|key| members.get(*key).is_some_and(|value| !value.is_array()));
    no_list.map(|key| wrong(format!("{key} is no list"))).collect()
}
