//! Objects of a workload cluster that are read for one decision and not kept.

use std::sync::Arc;

use capm3_engine::{ApiError, Object, ObjectKey};

use super::{Workload, Workloads, writer::TIMEOUT};

impl Workloads {
    /// Reads an object. A cluster that does not answer in time counts as unreachable from then on.
    pub(crate) async fn read<K: Object>(
        self: &Arc<Self>,
        cluster: &ObjectKey,
        key: &ObjectKey,
    ) -> Result<Option<K>, ApiError> {
        let Workload::Synced(_, client) = self.get(cluster) else {
            let cause = format!("workload cluster {cluster} is not connected");
            return Err(ApiError::NoAnswer { source: cause.into() });
        };
        let answer = tokio::time::timeout(TIMEOUT, client.get_object::<K>(key)).await;
        let answer = answer.map_err(|late| ApiError::NoAnswer { source: late.into() }).flatten();
        if let Err(error @ (ApiError::NoAnswer { .. } | ApiError::LimitExceeded(_))) = &answer {
            self.suspect(cluster, &error.to_string());
        }
        answer
    }
}
