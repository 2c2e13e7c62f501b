//! What inspection finds: the details that an annotation supplies, else what is known, else a plausible machine with
//! one interface.

use capm3_api::metadata::MetadataExt;
use serde_json::{Value, json};

use crate::{kinds::BareMetalHost, pace::digest};

/// Annotation with hardware details as JSON.
pub(super) const DETAILS: &str = "inspect.metal3.io/hardwaredetails";

/// The hardware of a host; the error is a sentence for its status.
pub(super) fn inspect(host: &BareMetalHost) -> Result<Value, String> {
    if let Some(text) = host.metadata.annotation(DETAILS) {
        return match serde_json::from_str(text) {
            Ok(Value::Object(details)) => Ok(Value::Object(details)),
            _ => Err(format!("the annotation {DETAILS} is not a JSON object")),
        };
    }
    let known = host.status.as_ref().and_then(|s| s.hardware.clone());
    Ok(known.unwrap_or_else(|| plausible(host)))
}

fn plausible(host: &BareMetalHost) -> Value {
    let name = host.metadata.name_str();
    let number = digest(name);
    let [_, _, _, a, b, c, d, e] = number.to_be_bytes();
    let mac = host.spec.boot_mac_address.clone();
    let mac = mac.unwrap_or_else(|| format!("52:{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}"));
    json!({
        "hostname": name,
        "systemVendor": {"manufacturer": "capm3", "productName": "simulated host",
            "serialNumber": format!("{number:016x}")},
        "firmware": {"bios": {"vendor": "capm3", "version": "1.0", "date": "01/01/2026"}},
        "ramMebibytes": 131_072,
        "cpu": {"arch": "x86_64", "model": "simulated", "clockMegahertz": 2400, "count": 32, "flags": []},
        "nics": [{"name": "enp1s0", "mac": mac, "ip": format!("172.22.{d}.{}", e.clamp(1, 254)),
            "model": "0x8086 0x1572", "speedGbps": 10, "vlanId": 0, "pxe": true}],
        "storage": [{"name": "/dev/disk/by-path/pci-0000:00:1f.2-ata-1", "type": "SSD", "rotational": false,
            "sizeBytes": 480_103_981_056_u64, "serialNumber": format!("{number:016x}")}],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(annotation: Option<&str>) -> BareMetalHost {
        let mut host: BareMetalHost = serde_json::from_value(json!({
            "metadata": {"namespace": "metal3", "name": "host-1"}, "spec": {"bootMACAddress": "00:11:22:33:44:55"}}))
        .unwrap();
        host.metadata.annotations = annotation.map(|a| [(DETAILS.to_owned(), a.to_owned())].into());
        host
    }

    #[test]
    fn without_details_a_host_has_one_interface_with_the_boot_mac() {
        let hardware = inspect(&host(None)).unwrap();
        assert_eq!(hardware["hostname"], "host-1");
        assert_eq!(hardware["nics"].as_array().unwrap().len(), 1);
        assert_eq!(hardware["nics"][0]["mac"], "00:11:22:33:44:55");
    }

    #[test]
    fn details_given_by_annotation_win_and_bad_ones_are_refused() {
        let given = r#"{"hostname": "h", "nics": [{"name": "eth0", "mac": "aa:bb:cc:dd:ee:ff"}]}"#;
        assert_eq!(inspect(&host(Some(given))).unwrap()["nics"][0]["name"], "eth0");
        assert!(inspect(&host(Some("[1]"))).unwrap_err().contains(DETAILS));
    }

    #[test]
    fn a_second_inspection_keeps_what_is_known() {
        let mut host = host(None);
        host.status = Some(crate::kinds::HostStatus {
            hardware: Some(json!({"hostname": "kept"})),
            ..Default::default()
        });
        assert_eq!(inspect(&host).unwrap(), json!({"hostname": "kept"}));
    }
}
