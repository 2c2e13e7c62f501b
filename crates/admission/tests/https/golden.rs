//! What is answered over HTTPS is what the handlers answer; that these answer as the reference does is shown elsewhere.

use capm3_admission::{
    https::Limits,
    review::{self, Route},
};
use capm3_api::{ipam, v1beta1, v1beta2};
use serde_json::{Value, json};

use crate::{
    client::{Client, Webhooks},
    support,
};

/// Reviews that an API server would send for every golden case of a family.
fn reviews(family: &str) -> Vec<(String, String)> {
    let path = format!("{}/../../tests/golden/{family}.yaml", env!("CARGO_MANIFEST_DIR"));
    let file = support::parse_yaml(&std::fs::read_to_string(path).unwrap()).unwrap();
    let cases = file["cases"].as_array().unwrap();
    cases.iter().flat_map(|case| review(family, &case["input"])).collect()
}

fn review(family: &str, input: &Value) -> Vec<(String, String)> {
    let object = &input["object"];
    let (api_version, kind) = (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap());
    if family == "convert" {
        let there =
            if api_version == v1beta1::API_VERSION { v1beta2::API_VERSION } else { v1beta1::API_VERSION };
        let request = json!({"uid": "u", "desiredAPIVersion": there, "objects": [object, object]});
        let review =
            json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request});
        return vec![("/convert".to_owned(), review.to_string())];
    }
    let (group, _) = api_version.split_once('/').unwrap();
    let version = if group == ipam::GROUP { ipam::VERSION } else { v1beta2::VERSION };
    let request = json!({
        "uid": "u", "operation": input["operation"], "object": object, "oldObject": input["oldObject"],
    });
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
    let path = |task| format!("/{task}-{}-{version}-{}", group.replace('.', "-"), kind.to_lowercase());
    ["mutate", "validate"].map(|task| (path(task), review.to_string())).into()
}

#[tokio::test]
async fn golden_vectors_are_answered_over_both_protocols_as_by_the_handlers() {
    let webhooks = Webhooks::start(Limits::default()).await;
    for protocol in ["http/1.1", "h2"] {
        let mut client = Client::over(webhooks.connect(protocol).await).await;
        for family in ["webhook", "convert"] {
            let reviews = reviews(family);
            assert!(reviews.len() > 50, "{family}: {}", reviews.len());
            for (path, review) in &reviews {
                let expected = review::answer(Route::of(path).unwrap(), review.as_bytes());
                let (code, body) = client.post(path, review.clone()).await;
                assert_eq!((code, body.as_bytes()), (expected.code, expected.body.as_slice()), "{review}");
                assert_eq!(code, 200, "{body}");
            }
            println!("{family} over {protocol}: {} reviews", reviews.len());
        }
    }
}

/// A list of an API server without pages, in one review.
#[tokio::test]
async fn many_objects_are_converted_by_one_review() {
    let webhooks = Webhooks::start(Limits::default()).await;
    let object = |index: usize| {
        json!({
            "apiVersion": v1beta2::API_VERSION, "kind": "Metal3Machine",
            "metadata": {"name": format!("m{index}"), "namespace": "ns1"},
            "spec": {"image": {"url": "http://h/i", "checksum": "http://h/c"}, "providerID": "x".repeat(900)},
        })
    };
    let objects: Vec<Value> = (0..1000).map(object).collect();
    let request = json!({"uid": "u", "desiredAPIVersion": v1beta1::API_VERSION, "objects": objects});
    let review =
        json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": request});
    let review = review.to_string();
    assert!(review.len() > 1024 * 1024, "more than one piece: {}", review.len());
    for protocol in ["http/1.1", "h2"] {
        let mut client = Client::over(webhooks.connect(protocol).await).await;
        let (code, body) = client.post("/convert", review.clone()).await;
        let answer: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((code, &answer["response"]["result"]["status"]), (200, &json!("Success")));
        let converted = answer["response"]["convertedObjects"].as_array().unwrap();
        assert_eq!(converted.len(), 1000);
        assert_eq!(converted[999]["metadata"]["name"], "m999");
    }
}
