//! The kubeconfig with which one user reaches a cluster.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::json;

use super::pki::Pair;

/// A self-contained kubeconfig. JSON is YAML, so every client reads it.
pub fn text(server: &str, authority: &str, user: &str, client: &Pair) -> String {
    let config = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "real",
        "clusters": [{"name": "real", "cluster": {
            "server": server,
            "certificate-authority-data": STANDARD.encode(authority),
        }}],
        "users": [{"name": user, "user": {
            "client-certificate-data": STANDARD.encode(&client.certificate),
            "client-key-data": STANDARD.encode(&client.key),
        }}],
        "contexts": [{"name": "real", "context": {"cluster": "real", "user": user}}],
    });
    format!("{config:#}\n")
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn the_current_context_leads_to_the_server_and_the_client_certificate() {
        let client = Pair { certificate: "cert".to_owned(), key: "key".to_owned() };
        let config: Value = serde_json::from_str(&text("https://127.0.0.1:1", "ca", "me", &client)).unwrap();
        assert_eq!(config["current-context"], config["contexts"][0]["name"]);
        assert_eq!(config["contexts"][0]["context"]["user"], config["users"][0]["name"]);
        assert_eq!(config["clusters"][0]["cluster"]["server"], "https://127.0.0.1:1");
        assert_eq!(config["users"][0]["user"]["client-certificate-data"], STANDARD.encode("cert"));
    }
}
