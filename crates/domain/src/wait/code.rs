//! Codes that stay the same from release to release.

use std::fmt;

use serde::{Serialize, Serializer};

/// A code such as `CAPM3-W012`: `W` for a wait, `D` for data that cannot be rendered, `A` for a rule of admission,
/// `L` for a rule of lint. Those of lint have an entry in `docs/lint.md`, the others in `docs/troubleshooting.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Code(&'static str);

impl Code {
    /// The workload cluster cannot be reached.
    pub const WORKLOAD_CLUSTER: Self = Self("CAPM3-W051");
    /// The Node cannot be distinguished from others.
    pub const AMBIGUOUS_NODE: Self = Self("CAPM3-W053");
    /// The Node of the host is another machine's, or carries another ID.
    pub const NODE_CONFLICT: Self = Self("CAPM3-W054");

    pub(crate) const fn new(code: &'static str) -> Self {
        Self(code)
    }

    /// The code itself. It is made for programs.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0)
    }
}
