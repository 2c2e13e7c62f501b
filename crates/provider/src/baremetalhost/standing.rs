//! Whether an owner that a host names is there, asked of the server itself.

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{Cluster, MachineDeployment},
    v1beta2::Metal3Machine,
};
use capm3_domain::host::{deployment_label, deployment_of_label};
use capm3_engine::{ApiError, Detail, ObjectKey, ResourceKind};
use kube::core::ObjectMeta;
use serde::Deserialize;
use serde_json::Value;

use super::{Absent, observe::ControlPlane};
use crate::{context::Context, host_crd::definitions};

/// What the server says of an owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is there.
    Stays,
    /// Its kind is not installed, or may not be read: whoever cannot look must not take anything away.
    Unknown,
    /// It is being deleted and makes no machine any more.
    Goes,
    /// It is not there.
    Gone,
}

/// Asks the server for an owner.
pub(super) async fn standing(context: &Context, absent: &Absent) -> Result<Standing, ApiError> {
    let found = match absent {
        Absent::Machine(machine) => context.read_live::<Metal3Machine>(machine).await?,
        Absent::Cluster(cluster) => context.read_live::<Cluster>(cluster).await?,
        Absent::ControlPlane(control_plane) => {
            return match of_control_plane(context, control_plane).await {
                Err(ApiError::Refused { code: 403, .. }) => Ok(Standing::Unknown),
                answer => answer,
            };
        }
        Absent::Deployment(booking) => return of_deployment(context, booking).await,
    };
    Ok(if found.is_some() { Standing::Stays } else { Standing::Gone })
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct OnlyMetadata {
    metadata: ObjectMeta,
}

/// A control plane of any kind. Its definition says where it is served; a version that is not served would answer "not
/// found" for an object that is there.
async fn of_control_plane(context: &Context, wanted: &ControlPlane) -> Result<Standing, ApiError> {
    let plural = format!("{}s", wanted.kind.to_lowercase());
    let definition = ObjectKey::new("", format!("{plural}.{}", wanted.group));
    let crd = context.client.get::<Value>(&definitions(), &definition).await?;
    let Some(version) = crd.as_ref().and_then(served_version) else { return Ok(Standing::Unknown) };
    let kind = ResourceKind {
        group: wanted.group.clone(),
        version: version.to_owned(),
        kind: wanted.kind.clone(),
        plural,
    };
    Ok(match context.client.get::<OnlyMetadata>(&kind, &wanted.key).await? {
        None => Standing::Gone,
        Some(found) if found.metadata.is_deleting() => Standing::Goes,
        Some(_) => Standing::Stays,
    })
}

/// The MachineDeployment that books hosts with a label: by its name, or by all names where the label has only a part of it.
async fn of_deployment(context: &Context, booking: &ObjectKey) -> Result<Standing, ApiError> {
    let standing = |is_there: bool| if is_there { Standing::Stays } else { Standing::Gone };
    if let Some(name) = deployment_of_label(&booking.name) {
        let key = ObjectKey::new(&booking.namespace, name);
        return Ok(standing(context.read_live::<MachineDeployment>(&key).await?.is_some()));
    }
    let kind = ResourceKind::of::<MachineDeployment>();
    let mut token: Option<String> = None;
    loop {
        let page = context.client.list_page::<OnlyMetadata>(
            &kind,
            &booking.namespace,
            Detail::Metadata,
            token.as_deref(),
        );
        let page = page.await?;
        if page.items.iter().any(|found| deployment_label(found.metadata.name_str()) == booking.name) {
            return Ok(Standing::Stays);
        }
        token = page.metadata.continue_.filter(|token| !token.is_empty());
        if token.is_none() {
            return Ok(Standing::Gone);
        }
    }
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
