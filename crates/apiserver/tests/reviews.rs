//! What callers ask about themselves.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

mod common;

use common::*;
use serde_json::{Value, json};

const AUTHORIZATION: &str = "/apis/authorization.k8s.io/v1";
const AUTHENTICATION: &str = "/apis/authentication.k8s.io/v1";

#[tokio::test]
async fn everybody_is_the_one_user_who_may_do_everything() {
    let server = server();
    let who = ok(&server, "POST", &format!("{AUTHENTICATION}/selfsubjectreviews"), Some(json!({}))).await;
    assert_eq!(who["kind"], "SelfSubjectReview");
    assert_eq!(
        who["status"]["userInfo"],
        json!({"username": "capm3-admin", "groups": ["system:masters", "system:authenticated"]})
    );
    let spec = json!({"resourceAttributes": {"namespace": "default", "verb": "get", "resource": "pods"}});
    let path = format!("{AUTHORIZATION}/selfsubjectaccessreviews");
    let may = ok(&server, "POST", &path, Some(json!({"spec": spec}))).await;
    assert_eq!((&may["spec"], &may["status"]), (&spec, &json!({"allowed": true})));
    let rules = format!("{AUTHORIZATION}/selfsubjectrulesreviews");
    let rules = ok(&server, "POST", &rules, Some(json!({"spec": {"namespace": "default"}}))).await;
    assert_eq!(rules["status"]["resourceRules"][0]["verbs"], json!(["*"]));
    assert!(server.objects(None).iter().all(|it| it["kind"] == "Namespace"), "nothing is kept");
}

#[tokio::test]
async fn a_token_is_the_users_only_if_a_listener_gave_it_out() {
    let server = server();
    let listener = capm3_apiserver::https::serve(server.clone(), Default::default()).unwrap();
    let kubeconfig = listener.kubeconfig();
    let token = kubeconfig.lines().find_map(|line| line.trim().strip_prefix("token: ")).unwrap();
    let path = format!("{AUTHENTICATION}/tokenreviews");
    let ask = async |token: &str| {
        ok(&server, "POST", &path, Some(json!({"spec": {"token": token}}))).await["status"].clone()
    };
    let user = json!({"username": "capm3-admin", "groups": ["system:masters", "system:authenticated"]});
    assert_eq!(ask(token).await, json!({"authenticated": true, "user": user}));
    let unknown = ask(&token[1..]).await;
    assert_eq!((&unknown["authenticated"], &unknown["user"]), (&Value::Null, &json!({})));
    assert_eq!(call(&server, "POST", &path, Some(json!({"spec": {}}))).await.0, 400);
}

#[tokio::test]
async fn only_the_group_of_the_one_user_may_do_something() {
    let server = server();
    let path = format!("{AUTHORIZATION}/subjectaccessreviews");
    let attributes = json!({"path": "/metrics", "verb": "get"});
    for (groups, expected) in [(json!(["system:masters"]), true), (json!(["others"]), false)] {
        let spec = json!({"user": "u", "groups": groups, "nonResourceAttributes": attributes});
        let may = ok(&server, "POST", &path, Some(json!({"spec": spec}))).await;
        assert_eq!((&may["spec"], &may["status"]), (&spec, &json!({"allowed": expected})));
    }
    for spec in [json!({"user": "u"}), json!({"nonResourceAttributes": attributes})] {
        assert_eq!(call(&server, "POST", &path, Some(json!({"spec": spec}))).await.0, 422, "{spec}");
    }
}

#[tokio::test]
async fn a_question_about_nothing_is_refused() {
    let server = server();
    let path = format!("{AUTHORIZATION}/selfsubjectaccessreviews");
    for spec in [json!({}), json!({"resourceAttributes": {}, "nonResourceAttributes": {}})] {
        let (code, status) = call(&server, "POST", &path, Some(json!({"spec": spec}))).await;
        assert_eq!((code, &status["details"]["group"]), (422, &json!("authorization.k8s.io")), "{status}");
    }
    let other = json!({"apiVersion": "v1", "kind": "Pod"});
    assert_eq!(call(&server, "POST", &path, Some(other)).await.0, 400);
}

#[tokio::test]
async fn questions_can_be_asked_and_nothing_else() {
    let server = server();
    let resources = ok(&server, "GET", AUTHORIZATION, None).await;
    let listed: Vec<(&Value, &Value)> =
        resources["resources"].as_array().unwrap().iter().map(|it| (&it["name"], &it["verbs"])).collect();
    let verbs = json!(["create"]);
    assert_eq!(
        listed,
        [
            (&json!("selfsubjectaccessreviews"), &verbs),
            (&json!("selfsubjectrulesreviews"), &verbs),
            (&json!("subjectaccessreviews"), &verbs),
        ]
    );
    let document = ok(&server, "GET", &format!("/openapi/v3{AUTHENTICATION}"), None).await;
    let paths = &document["paths"];
    assert_eq!(paths.as_object().unwrap().len(), 2);
    assert!(paths[format!("{AUTHENTICATION}/selfsubjectreviews")]["post"].is_object());
    let path = format!("{AUTHORIZATION}/selfsubjectaccessreviews");
    for (method, path, code) in [
        ("GET", path.clone(), 405),
        ("DELETE", path.clone(), 405),
        ("GET", format!("{path}/x"), 404),
        ("PUT", format!("{path}/x"), 404),
    ] {
        assert_eq!(call(&server, method, &path, None).await.0, code, "{method} {path}");
    }
}
