//! Who must act before a wait ends.

use std::fmt;

use serde::Serialize;

/// Who must act before a wait ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Actor {
    /// Nobody: the controllers are at work, or all is done.
    Nobody,
    /// Whoever looks after the management cluster, its hosts and its pools.
    PlatformEngineer,
    /// Whoever writes clusters and templates.
    ClusterAuthor,
    /// The controllers of Cluster API.
    ClusterApi,
    /// The controller of the bootstrap provider.
    BootstrapProvider,
    /// The Baremetal Operator.
    HostOperator,
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nobody => "nobody",
            Self::PlatformEngineer => "the platform engineer",
            Self::ClusterAuthor => "the cluster author",
            Self::ClusterApi => "the controllers of Cluster API, by themselves",
            Self::BootstrapProvider => "the controller of the bootstrap provider, by itself",
            Self::HostOperator => "the Baremetal Operator, by itself",
        })
    }
}
