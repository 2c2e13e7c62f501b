//! Metal3Remediation as the one who makes and deletes it sees it: its spec is copied and never read.

use capm3_api::{
    metadata::without_managed_fields,
    v1beta2::{GROUP, VERSION},
};
use kube::core::ObjectMeta;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A Metal3Remediation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Metal3Remediation {
    #[serde(deserialize_with = "without_managed_fields")]
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: Map<String, Value>,
}

capm3_api::resource!(Metal3Remediation, GROUP, VERSION, "Metal3Remediation", "metal3remediations");
