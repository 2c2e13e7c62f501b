//! What a host shows of its release.

use capm3_api::{metadata::MetadataExt, neighbours::BareMetalHost, vocabulary::annotation};
use capm3_domain::host::Consumer;
use capm3_engine::ObjectKey;
use capm3_offline::explain::{Progress, progress};
use capm3_provider::baremetalhost::consumer_machine;

/// What is seen of a host whose release is requested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    /// The host itself is gone.
    Gone,
    /// It is released; who has taken it since.
    Released(Option<String>),
    /// The request is off, but the host still names the machine.
    Refused,
    /// The request stands.
    Stands(Progress, String),
}

/// What is seen of a host whose release for this machine is requested.
pub fn seen(host: Option<&BareMetalHost>, machine: &ObjectKey) -> Seen {
    let Some(host) = host else { return Seen::Gone };
    if consumer_machine(host).as_ref() != Some(machine) {
        let taken_by = host.spec.consumer_ref.as_ref().map(|consumer| Consumer::from(consumer).to_string());
        return Seen::Released(taken_by);
    }
    if host.metadata.annotation(annotation::RELEASE_HOST) != Some(machine.to_string().as_str()) {
        return Seen::Refused;
    }
    let (step, text, _) = progress(host, machine);
    if step == Progress::Clear && host.metadata.annotation(annotation::HOST_PAUSED).is_some() {
        return Seen::Stands(
            Progress::Paused,
            "the host is paused; the release waits for its end".to_owned(),
        );
    }
    Seen::Stands(step, text)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn host(consumer: Value, request: Value, image: Value, state: &str) -> BareMetalHost {
        serde_json::from_value(json!({
            "metadata": {"name": "h", "namespace": "ns", "annotations": {annotation::RELEASE_HOST: request}},
            "spec": {"consumerRef": consumer, "image": image, "online": !image.is_null()},
            "status": {"provisioning": {"state": state}}
        }))
        .unwrap()
    }

    #[test]
    fn a_release_is_followed_from_the_request_to_the_free_host() {
        let machine = ObjectKey::new("ns", "m");
        let named = |name: &str| {
            json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2", "kind": "Metal3Machine",
                "name": name, "namespace": "ns"})
        };
        let (image, none, ours) = (json!({"url": "x"}), Value::Null, json!("ns/m"));
        let step = |host: BareMetalHost| match seen(Some(&host), &machine) {
            Seen::Stands(step, _) => step,
            other => panic!("{other:?}"),
        };
        assert_eq!(step(host(named("m"), ours.clone(), image.clone(), "provisioned")), Progress::Clear);
        assert_eq!(step(host(named("m"), ours.clone(), none.clone(), "deprovisioning")), Progress::Wait);
        assert_eq!(step(host(named("m"), ours.clone(), none.clone(), "available")), Progress::Release);
        let mut paused = host(named("m"), ours, image, "provisioned");
        paused
            .metadata
            .annotations
            .get_or_insert_default()
            .insert(annotation::HOST_PAUSED.into(), String::new());
        assert_eq!(step(paused), Progress::Paused);
        let judged = |consumer: Value, request: &str| {
            seen(Some(&host(consumer, json!(request), none.clone(), "available")), &machine)
        };
        assert_eq!(judged(none.clone(), ""), Seen::Released(None));
        assert_eq!(judged(named("next"), ""), Seen::Released(Some("Metal3Machine ns/next".into())));
        assert_eq!(judged(named("m"), ""), Seen::Refused);
        assert_eq!(seen(None, &machine), Seen::Gone);
    }
}
