//! What `kubectl` relies on: discovery in one document, tables, OpenAPI, scale, field validation, dry runs.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

mod common;

use capm3_apiserver::ApiServer;
use common::*;
use http::Request;
use http_body_util::Full;
use serde_json::{Value, json};

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
const SETS: &str = "/apis/test.io/v1/namespaces/default/sets";
const EVENTS: &str = "/api/v1/namespaces/default/events";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A server with a kind that has columns and can be scaled.
async fn set_server() -> ApiServer {
    let server = server();
    let schema = json!({"type": "object", "description": "A set.", "properties": {
        "spec": {"type": "object", "properties": {"replicas": {"type": "integer", "description": "How many."}}},
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}});
    let scale = json!({"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
        "labelSelectorPath": ".status.selector"});
    let columns = json!([
        {"name": "Wanted", "type": "integer", "jsonPath": ".spec.replicas"},
        {"name": "Owner", "type": "string", "jsonPath": ".metadata.labels.x\\.io/owner", "priority": 1}]);
    let version = json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
        "subresources": {"status": {}, "scale": scale}, "additionalPrinterColumns": columns});
    let names = json!({"plural": "sets", "kind": "Set", "shortNames": ["st"], "categories": ["tests"]});
    let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "sets.test.io"},
        "spec": {"group": "test.io", "scope": "Namespaced", "names": names, "versions": [version]}});
    ok(&server, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", Some(crd)).await;
    ok(&server, "POST", SETS, Some(set("a", 2))).await;
    server
}

fn set(name: &str, replicas: i64) -> Value {
    json!({"apiVersion": "test.io/v1", "kind": "Set", "metadata": {"name": name, "labels": {"x.io/owner": "me"}},
        "spec": {"replicas": replicas}})
}

async fn accept(server: &ApiServer, path: &str, media_type: &str) -> Value {
    let (code, body) = raw(server, "GET", path, &[("accept", media_type)], Vec::new()).await;
    assert_eq!(code, 200, "{path}: {body}");
    body
}

#[tokio::test(start_paused = true)]
async fn aggregated_discovery_lists_everything_at_once() {
    let server = set_server().await;
    let wanted = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    let core = accept(&server, "/api", wanted).await;
    assert_eq!(core["kind"], "APIGroupDiscoveryList");
    assert_eq!(core["items"][0]["versions"][0]["version"], "v1");
    let groups = accept(&server, "/apis", wanted).await;
    let group =
        groups["items"].as_array().unwrap().iter().find(|it| it["metadata"]["name"] == "test.io").unwrap();
    let resource = &group["versions"][0]["resources"][0];
    assert_eq!(
        (&resource["resource"], &resource["scope"], &resource["shortNames"], &resource["categories"]),
        (&json!("sets"), &json!("Namespaced"), &json!(["st"]), &json!(["tests"]))
    );
    let subresources: Vec<&str> = resource["subresources"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it["subresource"].as_str())
        .collect();
    assert_eq!(subresources, ["scale", "status"]);
    assert_eq!(accept(&server, "/apis", "application/json").await["kind"], "APIGroupList");
}

#[tokio::test(start_paused = true)]
async fn objects_and_lists_are_shown_as_tables() {
    let server = set_server().await;
    let table = accept(&server, SETS, TABLE).await;
    let names: Vec<&str> =
        table["columnDefinitions"].as_array().unwrap().iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!((table["kind"].as_str(), names), (Some("Table"), vec!["Name", "Wanted", "Owner"]));
    assert_eq!(table["columnDefinitions"][2]["priority"], 1);
    assert_eq!(table["rows"][0]["cells"], json!(["a", 2, "me"]));
    assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
    assert_eq!(table["rows"][0]["object"]["metadata"]["labels"], json!({"x.io/owner": "me"}));
    let whole = accept(&server, &format!("{SETS}/a?includeObject=Object"), TABLE).await;
    assert_eq!(whole["rows"][0]["object"]["kind"], "Set");
    let none = accept(&server, &format!("{SETS}?includeObject=None"), TABLE).await;
    assert_eq!(none["rows"][0]["object"], Value::Null);
    let namespaces = accept(&server, "/api/v1/namespaces", TABLE).await;
    assert_eq!(namespaces["rows"][0]["cells"], json!(["default", "Active", "0s"]));
}

#[tokio::test(start_paused = true)]
async fn a_watch_of_tables_names_its_columns_once() {
    let server = set_server().await;
    let request =
        Request::get(format!("{SETS}?watch=1")).header("accept", TABLE).body(Full::default()).unwrap();
    let mut stream = Stream::of(send(&server, request).await);
    let first = stream.next().await.unwrap();
    assert_eq!(first["object"]["columnDefinitions"].as_array().unwrap().len(), 3);
    ok(&server, "POST", SETS, Some(set("b", 1))).await;
    let second = stream.next().await.unwrap();
    assert_eq!((&second["type"], &second["object"]["columnDefinitions"]), (&json!("ADDED"), &json!([])));
    assert_eq!(second["object"]["rows"][0]["cells"], json!(["b", 1, "me"]));
}

#[tokio::test(start_paused = true)]
async fn openapi_describes_custom_and_built_in_kinds() {
    let server = set_server().await;
    let index = ok(&server, "GET", "/openapi/v3", None).await;
    for (path, component, kind) in [
        ("apis/test.io/v1", "io.test.v1.Set", json!({"group": "test.io", "version": "v1", "kind": "Set"})),
        ("api/v1", "io.k8s.api.core.v1.Secret", json!({"group": "", "version": "v1", "kind": "Secret"})),
    ] {
        let url = index["paths"][path]["serverRelativeURL"].as_str().unwrap();
        let document = ok(&server, "GET", url, None).await;
        let schema = &document["components"]["schemas"][component];
        assert_eq!(schema["x-kubernetes-group-version-kind"], json!([kind]));
        let patch = document["paths"]
            .as_object()
            .unwrap()
            .values()
            .find(|it| it["patch"]["x-kubernetes-group-version-kind"] == kind);
        let parameters = patch.unwrap()["patch"]["parameters"].as_array().unwrap().clone();
        for wanted in ["fieldValidation", "dryRun"] {
            assert!(parameters.iter().any(|it| it["name"] == wanted), "{path}: {wanted}");
        }
        assert_references_resolve(&document, &document);
    }
    assert_eq!(get(&server, "/openapi/v3/apis/none/v1").await.0, 404);
    assert_eq!(ok(&server, "GET", "/openapi/v2", None).await["swagger"], "2.0");
    let binary = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";
    let document = accept(&server, "/openapi/v2", binary).await;
    assert!(document.as_str().unwrap().contains("Kubernetes"));
}

#[tokio::test(start_paused = true)]
async fn what_people_look_up_is_explained_in_the_words_of_kubernetes() {
    let server = set_server().await;
    let custom = ok(&server, "GET", "/openapi/v3/apis/test.io/v1", None).await;
    let core = ok(&server, "GET", "/openapi/v3/api/v1", None).await;
    let custom = &custom["components"]["schemas"]["io.test.v1.Set"];
    let map = &core["components"]["schemas"]["io.k8s.api.core.v1.ConfigMap"];
    for (described, beginning) in [
        (
            &custom["properties"]["apiVersion"],
            "APIVersion defines the versioned schema of this representation",
        ),
        (&custom["properties"]["kind"], "Kind is a string value representing the REST resource"),
        (&custom["properties"]["metadata"], "Standard object's metadata. More info: https://git.k8s.io/"),
        (map, "ConfigMap holds configuration data for pods to consume."),
        (&map["properties"]["data"], "Data contains the configuration data."),
    ] {
        let description = described["description"].as_str().unwrap();
        assert!(description.starts_with(beginning), "{description}");
        assert!(!description.contains("  "), "{description}");
    }
}

fn assert_references_resolve(document: &Value, value: &Value) {
    match value {
        Value::Object(fields) => {
            if let Some(reference) = fields.get("$ref").and_then(Value::as_str) {
                let name = reference.strip_prefix("#/components/schemas/").unwrap();
                assert!(document["components"]["schemas"].get(name).is_some(), "{reference}");
            }
            fields.values().for_each(|it| assert_references_resolve(document, it));
        }
        Value::Array(items) => items.iter().for_each(|it| assert_references_resolve(document, it)),
        _ => {}
    }
}

#[tokio::test(start_paused = true)]
async fn scaling_changes_replicas_and_nothing_else() {
    let server = set_server().await;
    let path = format!("{SETS}/a/scale");
    merge_patch(&server, &format!("{SETS}/a/status"), json!({"status": {"replicas": 1, "selector": "x=y"}}))
        .await;
    let scale = ok(&server, "GET", &path, None).await;
    assert_eq!(
        (&scale["kind"], &scale["spec"], &scale["status"]),
        (&json!("Scale"), &json!({"replicas": 2}), &json!({"replicas": 1, "selector": "x=y"}))
    );
    let mut wanted = scale.clone();
    wanted["spec"]["replicas"] = json!(5);
    assert_eq!(ok(&server, "PUT", &path, Some(wanted.clone())).await["spec"]["replicas"], 5);
    assert_eq!(call(&server, "PUT", &path, Some(wanted)).await.0, 409, "the version is old now");
    let (code, patched) = merge_patch(&server, &path, json!({"spec": {"replicas": 7}})).await;
    assert_eq!((code, &patched["spec"]["replicas"]), (200, &json!(7)));
    let object = ok(&server, "GET", &format!("{SETS}/a"), None).await;
    assert_eq!((&object["spec"]["replicas"], &object["metadata"]["generation"]), (&json!(7), &json!(3)));
    assert_eq!(merge_patch(&server, &path, json!({"spec": {"replicas": -1}})).await.0, 422);
    assert_eq!(call(&server, "PUT", &path, Some(set("a", 1))).await.0, 400);
}

#[tokio::test(start_paused = true)]
async fn a_scale_is_shown_as_a_table_of_replicas() {
    let server = set_server().await;
    merge_patch(&server, &format!("{SETS}/a/status"), json!({"status": {"replicas": 1}})).await;
    let table = accept(&server, &format!("{SETS}/a/scale"), TABLE).await;
    let names: Vec<&str> =
        table["columnDefinitions"].as_array().unwrap().iter().filter_map(|it| it["name"].as_str()).collect();
    assert_eq!(names, ["Name", "Desired", "Available", "Age"]);
    assert_eq!(table["rows"][0]["cells"], json!(["a", 2, 1, "0s"]));
}

#[tokio::test(start_paused = true)]
async fn a_subresource_that_a_kind_lacks_is_not_found_by_name_if_the_kind_is_custom() {
    let server = set_server().await;
    let definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/sets.test.io";
    let plain = json!([{"op": "remove", "path": "/spec/versions/0/subresources"}]);
    let headers = [("content-type", "application/json-patch+json")];
    assert_eq!(raw(&server, "PATCH", definition, &headers, plain.to_string().into_bytes()).await.0, 200);
    for subresource in ["scale", "status"] {
        let (code, status) = get(&server, &format!("{SETS}/a/{subresource}")).await;
        assert_eq!((code, &status["message"]), (404, &json!("sets.test.io \"a\" not found")));
    }
    ok(&server, "POST", MAPS, Some(json!({"metadata": {"name": "m"}}))).await;
    let (code, status) = get(&server, &format!("{MAPS}/m/scale")).await;
    let message = json!("the server could not find the requested resource");
    assert_eq!((code, &status["message"]), (404, &message));
}

#[tokio::test(start_paused = true)]
async fn verbs_are_listed_in_the_order_of_kubernetes() {
    let server = set_server().await;
    let verbs = |list: Value| list["resources"][0]["verbs"].as_array().unwrap()[0].clone();
    assert_eq!(verbs(ok(&server, "GET", "/apis/test.io/v1", None).await), "delete");
    assert_eq!(verbs(ok(&server, "GET", "/api/v1", None).await), "create");
}

#[tokio::test(start_paused = true)]
async fn unknown_and_duplicate_fields_are_refused_warned_about_or_ignored() {
    let server = set_server().await;
    let body = br#"{"apiVersion":"test.io/v1","kind":"Set","metadata":{"name":"b","nam":"x"},
        "spec":{"replicas":1,"replicas":2,"other":3}}"#;
    let create = |validation: &'static str| {
        let path = format!("{SETS}?dryRun=All&fieldValidation={validation}");
        let server = server.clone();
        async move {
            let request = Request::post(path).header("content-type", "application/json");
            send(&server, request.body(Full::from(body.to_vec())).unwrap()).await
        }
    };
    assert_eq!(create("Strict").await.status(), 400);
    let warned = create("Warn").await;
    let warnings: Vec<&str> =
        warned.headers().get_all("warning").iter().map(|value| value.to_str().unwrap()).collect();
    assert_eq!(
        (warned.status().as_u16(), warnings),
        (
            201,
            vec![
                r#"299 - "duplicate field \"spec.replicas\"""#,
                r#"299 - "unknown field \"metadata.nam\"""#,
                r#"299 - "unknown field \"spec.other\"""#
            ]
        )
    );
    let ignored = create("Ignore").await;
    assert_eq!((ignored.status().as_u16(), ignored.headers().get("warning")), (201, None));
    assert_eq!(create("Sometimes").await.status(), 422);
    let (code, status) = call(
        &server,
        "POST",
        &format!("{MAPS}?fieldValidation=Strict"),
        Some(json!({"metadata": {"name": "m"}, "datum": {}})),
    )
    .await;
    let message = "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: \
        unknown field \"datum\"";
    assert_eq!((code, status["message"].as_str()), (400, Some(message)));
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_answers_but_stores_nothing() {
    let server = set_server().await;
    let before = server.objects(None);
    let dry = |path: &str| format!("{path}?dryRun=All");
    let one = format!("{SETS}/a");
    ok(&server, "POST", &dry(SETS), Some(set("b", 1))).await;
    assert_eq!(
        merge_patch(&server, &dry(&one), json!({"spec": {"replicas": 9}})).await.1["spec"]["replicas"],
        9
    );
    merge_patch(&server, &dry(&format!("{one}/scale")), json!({"spec": {"replicas": 9}})).await;
    ok(&server, "DELETE", &dry(&one), None).await;
    ok(&server, "DELETE", &dry(SETS), None).await;
    assert_eq!(server.objects(None), before);
}

#[tokio::test(start_paused = true)]
async fn yaml_is_read_and_written() {
    let server = server();
    let body =
        b"apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: in-yaml\ndata:\n  answer: \"42\"\n".to_vec();
    let headers = [("content-type", "application/yaml"), ("accept", "application/yaml")];
    let (code, text) = raw(&server, "POST", MAPS, &headers, body).await;
    let shown: Value = serde_saphyr::from_str(text.as_str().unwrap()).unwrap();
    assert_eq!((code, &shown["data"]), (201, &json!({"answer": "42"})), "{text}");
    let (code, _) = raw(&server, "GET", &format!("{MAPS}?watch=1"), &headers, Vec::new()).await;
    assert_eq!(code, 406);
}

#[tokio::test(start_paused = true)]
async fn an_event_is_seen_in_both_groups() {
    let server = server();
    let event = json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "message": "hello", "reason": "R",
        "type": "Normal", "involvedObject": {"kind": "Machine", "name": "m"}});
    ok(&server, "POST", EVENTS, Some(event)).await;
    let new = "/apis/events.k8s.io/v1/namespaces/default/events";
    let seen = ok(&server, "GET", &format!("{new}/e"), None).await;
    assert_eq!((&seen["apiVersion"], &seen["note"]), (&json!("events.k8s.io/v1"), &json!("hello")));
    let other = json!({"apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "f"}, "note": "again",
        "regarding": {"kind": "Machine", "name": "m"}});
    ok(&server, "POST", new, Some(other)).await;
    assert_eq!(names(&server, EVENTS).await, ["e", "f"]);
    let selected = format!("{EVENTS}?fieldSelector=involvedObject.name=m");
    let list = ok(&server, "GET", &selected, None).await;
    assert_eq!(list["items"][1]["message"], "again");
    assert_eq!(accept(&server, new, TABLE).await["rows"][1]["cells"][3], "machine/m");
}

#[tokio::test(start_paused = true)]
async fn a_strategic_patch_merges_lists_by_key() {
    let server = server();
    let node = json!({"metadata": {"name": "n"}, "status": {"conditions": [
        {"type": "Ready", "status": "False"}, {"type": "Disk", "status": "True"}]}});
    ok(&server, "POST", "/api/v1/nodes", Some(node)).await;
    let patch = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
    let headers = [("content-type", "application/strategic-merge-patch+json")];
    let (code, patched) =
        raw(&server, "PATCH", "/api/v1/nodes/n/status", &headers, patch.to_string().into_bytes()).await;
    assert_eq!(code, 200, "{patched}");
    assert_eq!(
        patched["status"]["conditions"],
        json!([{"type": "Ready", "status": "True"}, {"type": "Disk", "status": "True"}])
    );
}
