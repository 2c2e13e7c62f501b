//! Whatever image a machine names, the answer follows from few facts.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

use proptest::prelude::*;
use serde_json::{Value, json};

const VERSION: &str = "infrastructure.cluster.x-k8s.io/v1beta2";

fn cases() -> u32 {
    let asked = std::env::var("CAPM3_PROPERTY_CASES").ok();
    asked.and_then(|text| text.parse().ok()).unwrap_or(2_000)
}

/// URLs that are well formed, nearly so, and not at all.
fn url() -> impl Strategy<Value = String> {
    let start = prop::sample::select(vec![
        "http://", "https://", "oci://", "OCI://", "oci:/", "file:///", "/", "", "http://[",
    ]);
    let rest = prop_oneof![Just(String::new()), "[a-z]{1,8}(:[0-9]{1,5})?/[a-z.]{0,8}", "[ -~é\t]{0,12}"];
    (start, rest).prop_map(|(start, rest)| format!("{start}{rest}"))
}

fn image() -> impl Strategy<Value = Value> {
    let word = |words: &'static [&'static str]| prop::option::of(prop::sample::select(words));
    let checksum = prop::option::of(prop_oneof![url(), Just("ab12".to_owned())]);
    let format = word(&["raw", "qcow2", "live-iso", "LIVE-ISO"]);
    (prop::option::of(url()), checksum, word(&["", "sha256"]), format).prop_map(
        |(url, checksum, kind, format)| {
            let mut image =
                json!({"url": url, "checksum": checksum, "checksumType": kind, "diskFormat": format});
            image.as_object_mut().unwrap().retain(|_, value| !value.is_null());
            image
        },
    )
}

fn is_accepted(kind: &str, spec: Value) -> bool {
    let object = json!({"apiVersion": VERSION, "kind": kind, "metadata": {"name": "m", "namespace": "n"}, "spec": spec});
    let denial = capm3_admission::judge(None, &object).denial;
    if let Some(denial) = &denial {
        assert!(denial.message.contains("Image"), "{}", denial.message);
    }
    denial.is_none()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: cases(), failure_persistence: None, ..ProptestConfig::default() })]

    /// Arbitrary images are judged without a crash. One that is accepted has a URL without tabs, and without blanks in its
    /// host (the Go provider accepts blanks in a path); an OCI image has no checksum, and any other has one unless it is a live
    /// ISO. A template is judged like its machines, and a deploy step needs no image.
    #[test]
    fn to150_an_arbitrary_image_is_accepted_only_with_what_it_needs(image in image()) {
        let accepted = is_accepted("Metal3Machine", json!({"image": image}));
        let template = json!({"template": {"spec": {"image": image}}});
        prop_assert_eq!(accepted, is_accepted("Metal3MachineTemplate", template));
        let step = json!({"image": image, "customDeploy": {"method": "install"}});
        prop_assert!(is_accepted("Metal3Machine", step));
        if accepted {
            let text = |member: &str| image[member].as_str().unwrap_or_default();
            prop_assert!(!text("url").is_empty() && !text("url").contains('\t'));
            let host = text("url").split_once("://").map(|(_, rest)| rest.split(['/', '?']).next());
            prop_assert!(!host.flatten().unwrap_or_default().contains(' '), "{}", text("url"));
            if text("url").to_lowercase().starts_with("oci://") {
                prop_assert_eq!((text("checksum"), text("checksumType")), ("", ""));
            } else if text("diskFormat") != "live-iso" {
                prop_assert!(!text("checksum").is_empty());
            }
        }
    }
}
