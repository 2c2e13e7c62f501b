//! The webhooks that clusterctl has installed, led to processes of this machine. Nothing else of them is changed.

use anyhow::{Context, Result, ensure};
use capm3_engine::{ApiClient, Detail, ObjectKey, ResourceKind};
use serde_json::{Value, json};

use crate::{e2e::text, install::Loopback};

const PROVIDER: &str = "/metadata/labels/cluster.x-k8s.io~1provider";

/// Leads every webhook of a provider to a port of this machine; how many objects name one.
pub async fn lead(client: &ApiClient, provider: &str, here: &Loopback) -> Result<usize> {
    let mut led = 0;
    for kind in [configurations("Mutating"), configurations("Validating"), ResourceKind::definitions()] {
        let page = client.list_page::<Value>(&kind, "", Detail::Whole, None).await?;
        for mut object in page.items.into_iter().filter(|it| text(it, PROVIDER) == provider) {
            here.lead_here(&mut object);
            let patch = if kind == ResourceKind::definitions() {
                let Some(config) = object.pointer("/spec/conversion/webhook/clientConfig") else { continue };
                // A merge keeps what is not named.
                let mut config = config.clone();
                config.as_object_mut().context("a clientConfig")?.insert("service".to_owned(), Value::Null);
                json!({"spec": {"conversion": {"webhook": {"clientConfig": config}}}})
            } else {
                json!({"webhooks": object.get("webhooks")})
            };
            let key = ObjectKey::new("", text(&object, "/metadata/name"));
            client.merge_patch(&kind, &key, None, &patch).await.with_context(|| format!("{kind} {key}"))?;
            led += 1;
        }
    }
    ensure!(led > 2, "{led} objects of {provider} name webhooks");
    Ok(led)
}

fn configurations(word: &str) -> ResourceKind {
    ResourceKind {
        group: "admissionregistration.k8s.io".to_owned(),
        version: "v1".to_owned(),
        kind: format!("{word}WebhookConfiguration"),
        plural: format!("{}webhookconfigurations", word.to_lowercase()),
    }
}
