//! MAC addresses of hosts and links.

use capm3_api::{
    metadata::MetadataExt,
    neighbours::BareMetalHost,
    v1beta2::{FromAnnotation, MacAddress},
};

use super::{
    error::{Problem, RenderError},
    objects::{Objects, kind_of},
    remedy::Remedy,
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
    let (value, detail, remedy) = if let Some(value) = given(&source.string) {
        (value, String::new(), Remedy::template("write six pairs of hexadecimal digits"))
    } else if let Some(interface) = given(&source.from_host_interface) {
        let host = objects.host(path)?;
        let detail = format!("interface {interface} of host {}", host.metadata.name_str());
        let remedy = Remedy::beside("inspect the host again, for what it reports is no MAC address");
        (of_interface(host, &interface, path)?.to_owned(), detail, remedy)
    } else if let Some(from) = &source.from_annotation {
        of_annotation(from, objects, path)?
    } else {
        (String::new(), "no source is given".to_owned(), Remedy::template("give macAddress a source"))
    };
    if is_mac(&value) {
        return Ok(value);
    }
    Err(RenderError::new(Problem::BadMac { value }, path, detail).remedied(remedy))
}

/// What the annotation says, and what to say if that is no MAC address.
fn of_annotation(
    from: &FromAnnotation,
    objects: Objects<'_>,
    path: &str,
) -> Result<(String, String, Remedy), RenderError> {
    let FromAnnotation { object, annotation } = from;
    let value = objects.annotation(object, annotation, path)?;
    let (kind, name) = (kind_of(object), objects.metadata(object, path)?.name_str());
    let (detail, remedy) = match value {
        "" => (
            format!("{object} {name} has no annotation {annotation}"),
            Remedy::annotation(annotation, kind, name),
        ),
        _ => (
            format!("annotation {annotation} of {object} {name}"),
            Remedy::beside(format!(
                "write six pairs of hexadecimal digits into annotation {annotation} of {kind} {name}"
            )),
        ),
    };
    Ok((value.to_owned(), detail, remedy))
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
