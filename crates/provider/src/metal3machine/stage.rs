//! How far a pass over a machine came.

/// The step at which a pass ended, in the order in which a machine goes through them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum Stage {
    /// The Machine that owns it must be there.
    #[default]
    Owner,
    /// The Cluster must be there.
    Cluster,
    /// Neither machine nor Cluster may be paused.
    Pause,
    /// The infrastructure of the Cluster must be ready, and the Metal3Cluster there.
    Infrastructure,
    /// The Machine must have its user data.
    Bootstrap,
    /// A host must be taken, and stay the machine's own.
    Host,
    /// Metadata and network data must be there.
    Data,
    /// The image must be on the disk.
    Provisioning,
    /// The Node must have joined.
    Node,
    /// Nothing is left to do.
    Ready,
    /// The machine is going: its host must be given back first.
    Deletion,
}
