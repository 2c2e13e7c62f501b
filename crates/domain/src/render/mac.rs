//! MAC addresses of hosts and links.

use capm3_api::{metadata::MetadataExt, neighbours::BareMetalHost, v1beta2::MacAddress};

use super::{
    error::{Problem, RenderError},
    objects::Objects,
};

/// The MAC address of a host's interface, as the host reports it.
pub(super) fn of_interface<'a>(
    host: &'a BareMetalHost,
    name: &str,
    path: &str,
) -> Result<&'a str, RenderError> {
    let name_of_host = host.metadata.name_str();
    let Some(hardware) = &host.status.hardware else {
        return Err(RenderError::new(
            Problem::NoNics,
            path,
            format!("host {name_of_host} was not inspected"),
        ));
    };
    let name_of = |nic: &'a capm3_api::neighbours::HostNic| nic.name.as_deref().unwrap_or_default();
    if let Some(nic) = hardware.nics.iter().find(|nic| name_of(nic) == name) {
        return Ok(nic.mac.as_deref().unwrap_or_default());
    }
    let known: Vec<_> = hardware.nics.iter().map(name_of).collect();
    let detail = match known.as_slice() {
        [] => format!("host {name_of_host}: {}", Problem::NoNics),
        known => format!("host {name_of_host} has {}", known.join(", ")),
    };
    let problem = Problem::NoSuchNic { name: name.to_owned() };
    Err(RenderError::new(problem, path, detail))
}

/// The MAC address of a link: the first source that is given, checked.
pub(super) fn of_link(source: &MacAddress, objects: Objects<'_>, path: &str) -> Result<String, RenderError> {
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let (value, detail) = if let Some(value) = given(&source.string) {
        (value, String::new())
    } else if let Some(interface) = given(&source.from_host_interface) {
        let host = objects.host(path)?;
        let detail = format!("interface {interface} of host {}", host.metadata.name_str());
        (of_interface(host, &interface, path)?.to_owned(), detail)
    } else if let Some(from) = &source.from_annotation {
        let value = objects.annotation(&from.object, &from.annotation, path)?;
        let name = objects.metadata(&from.object, path)?.name_str();
        let detail = match value {
            "" => format!("{} {name} has no annotation {}", from.object, from.annotation),
            _ => format!("annotation {} of {} {name}", from.annotation, from.object),
        };
        (value.to_owned(), detail)
    } else {
        (String::new(), "no source is given".to_owned())
    };
    if is_mac(&value) {
        return Ok(value);
    }
    Err(RenderError::new(Problem::BadMac { value }, path, detail))
}

/// Six groups of two hexadecimal digits, each two groups apart by a colon or a dash.
pub(crate) fn is_mac(text: &str) -> bool {
    text.len() == 17
        && text.bytes().enumerate().all(|(index, byte)| match index % 3 {
            2 => byte == b':' || byte == b'-',
            _ => byte.is_ascii_hexdigit(),
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_interface_that_the_host_does_not_have_is_reported_with_those_it_has() {
        let host: BareMetalHost = serde_json::from_value(json!({
            "metadata": {"name": "rack2-host-3"},
            "status": {"hardware": {"nics": [{"name": "eno1", "mac": "02:00:00:00:00:0a"}, {"name": "eno2"}]}}
        }))
        .unwrap();
        let path = "spec.networkData.links.ethernets[1].macAddress";
        assert_eq!(of_interface(&host, "eno1", path).unwrap(), "02:00:00:00:00:0a");
        assert_eq!(
            of_interface(&host, "eth0", path).unwrap_err().to_string(),
            "NIC name not found eth0: spec.networkData.links.ethernets[1].macAddress, host rack2-host-3 has eno1, eno2"
        );
    }

    #[test]
    fn a_mac_address_keeps_its_spelling_and_nothing_else_passes() {
        for text in ["52:54:00:aa:bb:CC", "52-54-00-AA-bb-cc", "52:54-00:aa-bb:cc"] {
            assert!(is_mac(text), "{text}");
        }
        for text in [
            "",
            "52:54:00:aa:bb",
            "52:54:00:aa:bb:cc:dd",
            "5254.00aa.bbcc",
            "52:54:00:aa:bb:cg",
            "525:4:00:aa:bb:cc",
        ] {
            assert!(!is_mac(text), "{text}");
        }
    }
}
