//! What a Metal3Data waits for of its pools.

use std::fmt;

/// Pools that have not answered yet. Prints as one line, in the alternate form with the counts of free addresses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AddressWaits(pub Vec<AddressWait>);

/// A pool that has not answered yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddressWait {
    /// The pool was asked.
    Pool {
        /// Kind of the pool.
        kind: String,
        /// Name of the pool.
        pool: String,
        /// How many addresses are free, if that is known.
        free: Option<FreeAddresses>,
    },
    /// The pool does not exist.
    MissingPool {
        /// Kind of the pool.
        kind: String,
        /// Name of the pool.
        pool: String,
    },
    /// A claim of the name that is needed belongs to others.
    OtherClaim {
        /// Kind of the claim.
        kind: String,
        /// Its name.
        claim: String,
    },
}

/// How many addresses of a pool are free.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreeAddresses {
    /// Those that are free.
    pub free: u128,
    /// All of them.
    pub capacity: u128,
}

impl fmt::Display for FreeAddresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of {} addresses are free", self.free, self.capacity)
    }
}

impl fmt::Display for AddressWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Pool { kind, pool, .. } => write!(f, "an address of {kind} {pool}"),
            Self::MissingPool { kind, pool } => {
                write!(f, "an address of {kind} {pool}, which does not exist")
            }
            Self::OtherClaim { kind, claim } => {
                write!(f, "{kind} {claim} of another owner to be deleted")
            }
        }
    }
}

impl fmt::Display for AddressWaits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&parts.join(", "))?;
        if !f.alternate() {
            return Ok(());
        }
        let count = |wait: &AddressWait| match wait {
            AddressWait::Pool { pool, free, .. } => free.map(|free| format!("{pool}: {free}")),
            _ => None,
        };
        let counts: Vec<String> = self.0.iter().filter_map(count).collect();
        if counts.is_empty() { Ok(()) } else { write!(f, " ({})", counts.join("; ")) }
    }
}
