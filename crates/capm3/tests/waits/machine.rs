//! Machines that wait for what concerns them as a whole.

use capm3_engine::ResourceKind;
use capm3_lab::faults::{Fault, Refusal};
use capm3_offline::planner::Controller;
use serde_json::json;

use crate::{
    scene::{OneFault, Scene, delete, lab, lab_against, patch, rest},
    site::Site,
};

pub async fn paused() -> Scene {
    let lab = lab(&Site::whole()).await;
    rest(&lab).await;
    patch(&lab, "Cluster", "c", json!({"spec": {"paused": true}})).await;
    Scene::machine(lab)
}

pub async fn refused() -> Scene {
    let fault = OneFault::new("PATCH", "/baremetalhosts/", Fault::Refused(Refusal::Forbidden));
    Scene::machine(lab_against(&Site::whole(), &fault).await)
}

/// The kind of hosts is not watched for long enough to prove that no host names the machine.
pub async fn unproven() -> Scene {
    let lab = lab(&Site::whole().without("BareMetalHost", "h")).await;
    rest(&lab).await;
    patch(
        &lab,
        "Metal3Machine",
        "m",
        json!({"metadata": {"finalizers": ["metal3machine.infrastructure.cluster.x-k8s.io"]}}),
    )
    .await;
    delete(&lab, "Metal3Machine", "m").await;
    Scene::machine(lab)
}

pub async fn without_owner() -> Scene {
    Scene::machine(lab(&Site::whole().without("Machine", "m")).await)
}

/// In a lab the garbage collector removes such a machine.
pub async fn whose_owner_is_gone() -> Scene {
    Scene::planned(&Site::grown().without("Machine", "m"), Controller::Machine, "m")
}

pub async fn without_bootstrap() -> Scene {
    let nothing = json!({"spec": {"bootstrap": {"dataSecretName": null}}});
    Scene::machine(lab(&Site::whole().with("Machine", "m", &nothing)).await)
}

pub async fn whose_definition_is_deleted() -> Scene {
    let lab = lab(&Site::whole()).await;
    rest(&lab).await;
    let definition = ResourceKind::of::<capm3_api::v1beta2::Metal3Machine>().definition_key();
    lab.client().delete(&ResourceKind::definitions(), &definition, None).await.unwrap();
    Scene::machine(lab)
}
