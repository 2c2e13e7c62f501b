//! What is read of a workload cluster for one decision and not kept.

use std::sync::Arc;

use capm3_engine::{ApiError, Object, ObjectKey};

use super::Workloads;

impl Workloads {
    /// Reads an object. A cluster that does not answer in time counts as unreachable from then on.
    pub(crate) async fn read<K: Object>(
        self: &Arc<Self>,
        cluster: &ObjectKey,
        key: &ObjectKey,
    ) -> Result<Option<K>, ApiError> {
        let (_, client) = self.connected(cluster)?;
        self.in_time(cluster, client.get_object::<K>(key)).await
    }

    /// Reads the major and minor version of a cluster; none if they are no numbers.
    pub(crate) async fn version(
        self: &Arc<Self>,
        cluster: &ObjectKey,
    ) -> Result<Option<(u32, u32)>, ApiError> {
        let (_, client) = self.connected(cluster)?;
        Ok(self.in_time(cluster, client.server_version()).await?.numbers())
    }
}
