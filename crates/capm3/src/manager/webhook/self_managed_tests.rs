//! Certificates on the embedded API server, in virtual time.

use std::sync::Arc;

use capm3_apiserver::ApiServer;
use jiff::Timestamp;

use super::*;

fn service() -> Service {
    Service { namespace: "capm3-system".to_owned(), name: "capm3-webhook-service".to_owned() }
}

fn key() -> ObjectKey {
    ObjectKey::new("capm3-system", SECRET)
}

struct Cluster {
    server: ApiServer,
    clock: Clock,
}

impl Cluster {
    /// With the CRDs of the provider and a webhook configuration.
    async fn start() -> Self {
        let clock = Clock::starting_at(Timestamp::from_second(1_800_000_000).unwrap());
        let server = ApiServer::new(capm3_apiserver::Options::new(Arc::new(move || clock.now()), 1));
        let cluster = Self { server, clock };
        let namespace = json!({"metadata": {"name": "capm3-system"}});
        cluster.client().create(&ResourceKind::namespaces(), "", namespace).await.unwrap();
        for crd in capm3_api::crd::all() {
            cluster.client().create(&ResourceKind::definitions(), "", crd).await.unwrap();
        }
        cluster
    }

    fn client(&self) -> ApiClient {
        ApiClient::new(kube::Client::new(self.server.clone(), "default"), "test")
    }

    fn replica(&self) -> SelfManaged {
        SelfManaged::new(self.client(), self.clock, service(), Served::default())
    }

    async fn secret(&self) -> Value {
        self.client().get(&secrets(), &key()).await.unwrap().unwrap()
    }

    /// `caBundle` of every CRD that is converted, without repetitions.
    fn bundles(&self) -> Vec<Value> {
        let definitions = self.server.objects_of(&["CustomResourceDefinition"]);
        let conversions =
            definitions.iter().filter_map(|it| it.pointer("/spec/conversion/webhook/clientConfig"));
        let mut bundles: Vec<Value> = conversions.map(|config| config["caBundle"].clone()).collect();
        assert!(bundles.len() >= 8, "{}", bundles.len());
        bundles.dedup();
        bundles
    }

    fn revision(&self) -> Vec<Value> {
        let kinds = ["Secret", "CustomResourceDefinition"];
        self.server.objects_of(&kinds).iter().map(|it| it["metadata"]["resourceVersion"].clone()).collect()
    }
}

#[tokio::test(start_paused = true)]
async fn replicas_share_one_secret_and_crds_trust_its_authority() {
    let cluster = Cluster::start().await;
    let (mut first, mut second) = (cluster.replica(), cluster.replica());
    let (one, other) = tokio::join!(first.check(), second.check());
    one.unwrap();
    other.unwrap();
    assert!(first.served.has_certificate() && second.served.has_certificate());
    assert_eq!(first.certificate, second.certificate, "who came second read what the first one wrote");
    let secret = cluster.secret().await;
    assert_eq!(secret["type"], Material::SECRET_TYPE);
    assert_eq!(cluster.bundles(), [secret["data"]["ca.crt"].clone()]);
    let before = cluster.revision();
    for _ in 0..3 {
        first.check().await.unwrap();
        second.check().await.unwrap();
    }
    assert_eq!(cluster.revision(), before, "nothing is written when nothing is due");
}

/// The embedded server knows webhook configurations as little as any other kind, until they are defined.
async fn define_configurations(cluster: &Cluster) {
    for self_managed::Configuration { kind, plural, name } in self_managed::configurations() {
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let version =
            json!({"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}});
        let definition = json!({
            "metadata": {
                "name": format!("{plural}.admissionregistration.k8s.io"),
                "annotations": {"api-approved.kubernetes.io": "unapproved, for a test"},
            },
            "spec": {
                "group": "admissionregistration.k8s.io", "scope": "Cluster", "versions": [version],
                "names": {"kind": kind, "plural": plural, "singular": kind.to_lowercase(), "listKind": format!("{kind}List")},
            },
        });
        cluster.client().create(&ResourceKind::definitions(), "", definition).await.unwrap();
        let webhook = |namespace: &str| json!({"name": namespace, "clientConfig": {"service": {"namespace": namespace, "name": "capm3-webhook-service"}}});
        for name in [name, "of-somebody-else"] {
            let object =
                json!({"metadata": {"name": name}, "webhooks": [webhook("capm3-system"), webhook("x")]});
            cluster.client().create(&configuration_kind(kind, plural), "", object).await.unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn only_the_webhook_configurations_of_the_product_get_the_authority() {
    let cluster = Cluster::start().await;
    define_configurations(&cluster).await;
    cluster.replica().check().await.unwrap();
    let bundle = cluster.secret().await["data"]["ca.crt"].clone();
    let kinds = ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];
    let found = cluster.server.objects_of(&kinds);
    assert_eq!(found.len(), 4);
    for object in found {
        let reported: Vec<Value> =
            [0, 1].map(|index| object["webhooks"][index]["clientConfig"]["caBundle"].clone()).into();
        let is_ours = object["metadata"]["name"].as_str().unwrap().starts_with("capm3-");
        let expected = if is_ours { bundle.clone() } else { Value::Null };
        assert_eq!(reported, [expected, Value::Null], "{}", object["metadata"]["name"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_rotation_reaches_every_replica_and_the_crds() {
    let cluster = Cluster::start().await;
    let (mut first, mut second) = (cluster.replica(), cluster.replica());
    first.check().await.unwrap();
    second.check().await.unwrap();
    let (certificate, bundle) = (first.certificate.clone(), first.bundle.clone());
    tokio::time::advance(Duration::from_secs(61 * 24 * 3600)).await;
    second.check().await.unwrap();
    first.check().await.unwrap();
    assert_ne!(first.certificate, certificate, "after two thirds of its life");
    assert_eq!((&first.certificate, &first.bundle), (&second.certificate, &bundle));
    tokio::time::advance(Duration::from_secs(600 * 24 * 3600)).await;
    // The certificate is overdue and comes first, then the authority.
    for _ in 0..2 {
        first.check().await.unwrap();
    }
    assert_ne!(first.bundle, bundle);
    assert!(first.bundle.ends_with(&bundle), "the old authority is still trusted");
    assert_eq!(cluster.bundles(), [cluster.secret().await["data"]["ca.crt"].clone()]);
    for _ in 0..2 {
        tokio::time::advance(Duration::from_secs(3600)).await;
        second.check().await.unwrap();
    }
    assert!(!second.bundle.contains(&bundle), "the old authority is forgotten");
    first.check().await.unwrap();
    assert_eq!((&first.certificate, &first.bundle), (&second.certificate, &second.bundle));
    assert_eq!(cluster.bundles(), [cluster.secret().await["data"]["ca.crt"].clone()]);
}

#[tokio::test(start_paused = true)]
async fn a_bundle_that_somebody_removes_is_written_again() {
    let cluster = Cluster::start().await;
    let mut replica = cluster.replica();
    replica.check().await.unwrap();
    replica.check().await.unwrap();
    let right = cluster.bundles();
    let crd = ObjectKey::new("", "metal3machines.infrastructure.cluster.x-k8s.io");
    let patch = json!({"spec": {"conversion": {"webhook": {"clientConfig": {"caBundle": null}}}}});
    cluster.client().merge_patch(&ResourceKind::definitions(), &crd, None, &patch).await.unwrap();
    assert_ne!(cluster.bundles(), right);
    replica.check().await.unwrap();
    assert_eq!(cluster.bundles(), right);
}

#[tokio::test(start_paused = true)]
async fn a_damaged_secret_is_replaced_and_one_of_somebody_else_is_left_alone() {
    let cluster = Cluster::start().await;
    let mut replica = cluster.replica();
    replica.check().await.unwrap();
    let certificate = replica.certificate.clone();
    let patch = json!({"data": {"ca.key": null}});
    cluster.client().merge_patch(&secrets(), &key(), None, &patch).await.unwrap();
    replica.check().await.unwrap();
    assert_ne!(replica.certificate, certificate);
    assert_eq!(cluster.bundles(), [cluster.secret().await["data"]["ca.crt"].clone()]);
    cluster.client().delete(&secrets(), &key(), None).await.unwrap();
    let foreign = json!({"metadata": {"name": SECRET}, "type": "Opaque", "data": {"tls.crt": "AAAA"}});
    let stored = cluster.client().create(&secrets(), "capm3-system", foreign).await.unwrap();
    let printed = replica.check().await.unwrap_err().to_string();
    let start = "Secret capm3-system/capm3-webhook-self-managed-cert exists and is of another type";
    assert!(printed.starts_with(start), "{printed}");
    assert_eq!(cluster.secret().await["metadata"], stored["metadata"]);
}
