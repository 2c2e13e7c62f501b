//! Whether the owner of a reservation is gone, asked of the server itself.

use capm3_api::neighbours::{Cluster, MachineDeployment};
use capm3_domain::host::{deployment_label, deployment_of_label};
use capm3_engine::{
    ApiError, ObjectKey, ResourceKind,
    absence::{Doubt, Verdict, prove_none},
};
use kube::core::ObjectMeta;
use serde::Deserialize;
use serde_json::Value;

use capm3_api::metadata::MetadataExt;

use super::{Absent, observe::ControlPlane};
use crate::context::Context;

/// What the server says of the owner of a reservation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Owner {
    /// It is there.
    Present,
    /// It cannot be known: nothing may be taken away.
    Unknown(Doubt),
    /// It is being deleted and makes no machine any more.
    Deleting,
    /// It is gone, which is proven.
    Gone,
}

impl From<Verdict> for Owner {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Gone => Self::Gone,
            Verdict::Present => Self::Present,
            Verdict::Unknown(doubt) => Self::Unknown(doubt),
        }
    }
}

/// Asks the server for the owner of a reservation.
pub(super) async fn find(context: &Context, absent: &Absent) -> Result<Owner, ApiError> {
    match absent {
        Absent::Cluster(cluster) => Ok(context.prove_absent::<Cluster>(cluster).await?.into()),
        Absent::ControlPlane(control_plane) => match find_control_plane(context, control_plane).await {
            Err(ApiError::Refused { code: 403, .. }) => Ok(Owner::Unknown(Doubt::NotServed)),
            answer => answer,
        },
        Absent::Deployment(reservation) => Ok(find_deployment(context, reservation).await?.into()),
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OnlyMetadata {
    metadata: ObjectMeta,
}

/// A control plane of any kind. Its definition says where it is served; a version that is not served would answer "not
/// found" for an object that is there.
async fn find_control_plane(context: &Context, wanted: &ControlPlane) -> Result<Owner, ApiError> {
    let plural = format!("{}s", wanted.kind.to_lowercase());
    let mut kind = ResourceKind {
        group: wanted.group.clone(),
        version: String::new(),
        kind: wanted.kind.clone(),
        plural,
    };
    let definition =
        context.client.get::<Value>(&ResourceKind::definitions(), &kind.definition_key()).await?;
    let Some(version) = definition.as_ref().and_then(served_version) else {
        return Ok(Owner::Unknown(Doubt::NotServed));
    };
    version.clone_into(&mut kind.version);
    match context.client.get::<OnlyMetadata>(&kind, &wanted.key).await? {
        Some(found) if found.metadata.is_deleting() => Ok(Owner::Deleting),
        Some(_) => Ok(Owner::Present),
        None => Ok(context.prove_absent_of(&kind, &wanted.key).await?.into()),
    }
}

/// The MachineDeployment that books hosts with a label: by its name, or by all names where the label has only a part of it.
async fn find_deployment(context: &Context, reservation: &ObjectKey) -> Result<Verdict, ApiError> {
    if let Some(name) = deployment_of_label(&reservation.name) {
        return context
            .prove_absent::<MachineDeployment>(&ObjectKey::new(&reservation.namespace, name))
            .await;
    }
    let kind = ResourceKind::of::<MachineDeployment>();
    let is_reserved_for = |deployment: &Value| {
        let name = deployment.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        deployment_label(name) == reservation.name
    };
    prove_none(&context.client, &context.caches, &kind, &reservation.namespace, is_reserved_for).await
}

/// A version under which the objects of a definition are served.
fn served_version(crd: &Value) -> Option<&str> {
    let versions = crd.pointer("/spec/versions")?.as_array()?;
    let served = versions.iter().find(|version| version.pointer("/served").is_some_and(|s| s == true))?;
    served.pointer("/name")?.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_version_that_is_not_served_is_never_asked() {
        let crd = |versions: Value| json!({"spec": {"versions": versions}});
        let table = [
            (crd(json!([{"name": "v1", "served": false}, {"name": "v2", "served": true}])), Some("v2")),
            (crd(json!([{"name": "v1", "served": false}])), None),
            (json!({}), None),
        ];
        for (crd, expected) in table {
            assert_eq!(served_version(&crd), expected, "{crd}");
        }
    }
}
