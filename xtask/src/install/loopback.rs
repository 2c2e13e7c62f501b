//! Webhooks that a real API server calls on this machine: where they are, and the certificate by which it knows them.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use crate::real::pki::{Authority, Pair};

/// A port of this machine and a certificate for it.
pub struct Loopback {
    port: u16,
    authority: String,
    pair: Pair,
}

impl Loopback {
    /// Webhooks at this port, with a certificate of an authority of their own.
    pub fn at(port: u16) -> Result<Self> {
        let authority = Authority::create()?;
        Ok(Self { port, pair: authority.server()?, authority: authority.certificate() })
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn pair(&self) -> &Pair {
        &self.pair
    }

    /// Puts certificate and key into a folder, where `--webhook-cert-dir` finds them.
    pub fn write_pair(&self, folder: &Path) -> Result<()> {
        fs::create_dir_all(folder).with_context(|| format!("creating {}", folder.display()))?;
        for (file, text) in [("tls.crt", &self.pair.certificate), ("tls.key", &self.pair.key)] {
            let path = folder.join(file);
            fs::write(&path, text).with_context(|| format!("writing {}", path.display()))?;
        }
        Ok(())
    }

    /// Replaces the way to the webhooks of an object: at this port instead of through a Service. Nothing else is changed.
    pub fn lead_here(&self, object: &mut Value) {
        let configured = object.get_mut("webhooks").and_then(Value::as_array_mut);
        let of_webhooks = configured.into_iter().flatten().filter_map(|it| it.get_mut("clientConfig"));
        of_webhooks.for_each(|config| self.lead(config));
        if let Some(config) = object.pointer_mut("/spec/conversion/webhook/clientConfig") {
            self.lead(config);
        }
    }

    fn lead(&self, config: &mut Value) {
        let path = config.pointer("/service/path").and_then(Value::as_str).unwrap_or("/");
        *config = json!({
            "url": format!("https://127.0.0.1:{}{path}", self.port),
            "caBundle": BASE64_STANDARD.encode(&self.authority),
        });
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use capm3_install::Install;

    use super::*;

    /// Where two objects differ, as pointers to the highest members that do.
    fn differing(a: &Value, b: &Value, path: &str, found: &mut BTreeSet<String>) {
        match (a, b) {
            (Value::Object(a), Value::Object(b)) if a.keys().eq(b.keys()) => {
                a.iter()
                    .for_each(|(name, value)| differing(value, &b[name], &format!("{path}/{name}"), found));
            }
            (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
                a.iter().zip(b).for_each(|(a, b)| differing(a, b, &format!("{path}/*"), found));
            }
            _ if a == b => {}
            _ => {
                found.insert(path.to_owned());
            }
        }
    }

    #[test]
    fn only_the_way_to_each_webhook_is_replaced() {
        let here = Loopback::at(4711).unwrap();
        let (mut found, mut urls) = (BTreeSet::new(), Vec::new());
        for object in (Install { ipam: true, ..Install::default() }).objects() {
            let mut led = object.clone();
            here.lead_here(&mut led);
            differing(&object, &led, "", &mut found);
            let text = led.to_string();
            urls.extend(
                text.split("\"url\":\"").skip(1).filter_map(|it| Some(it.split_once('"')?.0.to_owned())),
            );
            assert!(!text.contains("\"clientConfig\":{\"service\""), "{text}");
        }
        let expected = ["/spec/conversion/webhook/clientConfig/service", "/webhooks/*/clientConfig/service"];
        let expected = expected.map(|it| it.trim_end_matches("/service").to_owned());
        assert_eq!(found, BTreeSet::from(expected));
        // Nine CRDs, nine validators and two defaulters of the provider, three validators of addresses.
        assert_eq!(urls.len(), 23, "{urls:?}");
        assert!(urls.iter().all(|url| url.starts_with("https://127.0.0.1:4711/")), "{urls:?}");
        assert!(urls.contains(&"https://127.0.0.1:4711/convert".to_owned()));
    }
}
