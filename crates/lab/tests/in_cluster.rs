//! A client as a pod has it, over HTTPS to the embedded API server: address, authority and token from a service account.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

use std::{fs, net::SocketAddr, path::Path, sync::Arc};

use base64::{Engine, prelude::BASE64_STANDARD};
use capm3_apiserver::{
    ApiServer,
    https::{ListenOptions, Listener, serve},
};
use capm3_engine::{
    ApiClient, ApiError, Clock, ObjectKey, ResourceKind,
    client::{ServiceAccount, server_of_pod},
};
use serde_json::Value;

/// A listener, and what its kubeconfig holds: authority and token.
fn listen(address: &str) -> (Listener, String, String) {
    let clock = Clock::system();
    let server = ApiServer::new(capm3_apiserver::Options::new(Arc::new(move || clock.now()), 1));
    let options = ListenOptions { address: address.parse().unwrap(), ..ListenOptions::default() };
    let listener = serve(server, options).unwrap();
    let kubeconfig: Value = serde_saphyr::from_str(&listener.kubeconfig()).unwrap();
    let authority = kubeconfig["clusters"][0]["cluster"]["certificate-authority-data"].as_str().unwrap();
    let authority = String::from_utf8(BASE64_STANDARD.decode(authority).unwrap()).unwrap();
    let token = kubeconfig["users"][1]["user"]["token"].as_str().unwrap().to_owned();
    (listener, authority, token)
}

fn write(folder: &Path, authority: &str, token: &str) {
    for (name, text) in [("ca.crt", authority), ("token", token), ("namespace", "capm3-system")] {
        fs::write(folder.join(name), text).unwrap();
    }
}

fn connect(folder: &Path, at: SocketAddr) -> ApiClient {
    let variable = |name: &str| match name {
        "KUBERNETES_SERVICE_HOST" => Some(at.ip().to_string()),
        "KUBERNETES_SERVICE_PORT" => Some(at.port().to_string()),
        _ => None,
    };
    let server = server_of_pod(variable).unwrap();
    ServiceAccount::at(folder).connect(server, "test").unwrap()
}

async fn get(client: &ApiClient) -> Result<Option<Value>, ApiError> {
    client.get(&ResourceKind::namespaces(), &ObjectKey::new("", "default")).await
}

#[tokio::test]
async fn a_pod_reaches_its_server_in_either_family() {
    // Not every machine has the second one.
    let (all, mut tried) = (["127.0.0.1:0", "[::1]:0"], 0);
    for address in all.into_iter().filter(|address| std::net::TcpListener::bind(address).is_ok()) {
        tried += 1;
        let (listener, authority, token) = listen(address);
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &authority, &token);
        let client = connect(folder.path(), listener.local_addr());
        assert!(get(&client).await.unwrap().is_some(), "{address}");
        assert_eq!(client.default_namespace(), "capm3-system");
    }
    assert!(tried > 0);
}

#[tokio::test]
async fn a_token_that_was_refused_is_read_again_for_the_next_request() {
    let (listener, authority, token) = listen("127.0.0.1:0");
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &authority, "expired");
    let client = connect(folder.path(), listener.local_addr());
    let refused = get(&client).await;
    assert!(matches!(refused, Err(ApiError::Refused { code: 401, .. })), "{refused:?}");
    write(folder.path(), &authority, &token);
    assert!(get(&client).await.unwrap().is_some());
}

#[tokio::test]
async fn a_server_that_another_authority_vouches_for_gets_no_token() {
    let (listener, _, token) = listen("127.0.0.1:0");
    let (_other, authority, _) = listen("127.0.0.1:0");
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), &authority, &token);
    let client = connect(folder.path(), listener.local_addr());
    let printed = get(&client).await.unwrap_err().with_causes();
    assert!(printed.contains("certificate"), "{printed}");
}
