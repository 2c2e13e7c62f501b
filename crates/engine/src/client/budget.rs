//! What servers have in memory together: bytes that are counted while somebody holds them.
//!
//! Takes the limits of a pool; gives [`Hold`]s that grow as far as the pool admits and give everything back when they are
//! dropped. Nobody who holds something ever loses it: the one who wants more is refused.

use std::sync::Arc;

use parking_lot::Mutex;

use super::limits::{LimitExceeded, Limits, PoolLimits, admit};

/// The budget of all workload clusters.
#[derive(Debug)]
pub struct Budget {
    limits: Limits,
    received: Arc<Pool>,
    kept: Arc<Pool>,
}

impl Default for Budget {
    fn default() -> Self {
        Self::new(Limits::WORKLOAD)
    }
}

impl Budget {
    /// A budget for servers of which each has these limits.
    pub fn new(limits: Limits) -> Self {
        Self {
            limits,
            received: Pool::new("the bytes that are being received", PoolLimits::RECEIVED),
            kept: Pool::new("the objects that are kept", PoolLimits::KEPT),
        }
    }

    /// How many bytes are being received and how many are kept, for all.
    pub fn used(&self) -> (usize, usize) {
        (*self.received.used.lock(), *self.kept.used.lock())
    }

    pub(crate) fn guard(&self) -> Guard {
        Guard { limits: self.limits, pools: Some((Arc::clone(&self.received), Arc::clone(&self.kept))) }
    }
}

/// What a client may take in: limits, and for a workload cluster its part of the budget.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    pub(crate) limits: Limits,
    pools: Option<(Arc<Pool>, Arc<Pool>)>,
}

impl Guard {
    /// For the server that whoever started us chose.
    pub(crate) const OWN: Self = Self { limits: Limits::OWN, pools: None };

    /// Whether the server is somebody else's.
    pub(crate) fn is_foreign(&self) -> bool {
        self.pools.is_some()
    }

    /// A hold on bytes that are being received.
    pub(crate) fn receiving(&self) -> Hold {
        Hold { pool: self.pools.as_ref().map(|(received, _)| Arc::clone(received)), held: 0 }
    }

    /// A hold on objects that are kept.
    pub(crate) fn keeping(&self) -> Hold {
        Hold { pool: self.pools.as_ref().map(|(_, kept)| Arc::clone(kept)), held: 0 }
    }
}

/// Bytes that are shared.
#[derive(Debug)]
struct Pool {
    what: &'static str,
    limits: PoolLimits,
    used: Mutex<usize>,
}

impl Pool {
    fn new(what: &'static str, limits: PoolLimits) -> Arc<Self> {
        Arc::new(Self { what, limits, used: Mutex::default() })
    }
}

/// Some bytes of a pool; without a pool, any number of them.
#[derive(Debug)]
pub(crate) struct Hold {
    pool: Option<Arc<Pool>>,
    held: usize,
}

impl Hold {
    /// Holds so many bytes from now on; if the pool does not admit that, as many as before.
    pub(crate) fn resize(&mut self, wanted: usize) -> Result<(), LimitExceeded> {
        let Some(pool) = &self.pool else { return Ok(()) };
        if wanted == self.held {
            return Ok(());
        }
        let mut used = pool.used.lock();
        admit(pool.limits, self.held, wanted, *used).map_err(|share| LimitExceeded::Share {
            what: pool.what,
            share,
            total: pool.limits.total,
        })?;
        *used = used.saturating_sub(self.held).saturating_add(wanted);
        self.held = wanted;
        Ok(())
    }

    /// How many bytes are held.
    pub(crate) fn held(&self) -> usize {
        self.held
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        if let Some(pool) = &self.pool {
            let mut used = pool.used.lock();
            *used = used.saturating_sub(self.held);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_held_is_counted_and_given_back() {
        let budget = Budget::default();
        let (one, two) = (budget.guard(), budget.guard());
        let (mut a, mut b) = (one.keeping(), two.keeping());
        a.resize(1000).unwrap();
        b.resize(500).unwrap();
        one.receiving().resize(7).unwrap();
        assert_eq!(budget.used(), (0, 1500));
        assert!(b.resize(usize::MAX).is_err());
        assert_eq!((b.held(), budget.used()), (500, (0, 1500)), "refused: as before");
        a.resize(10).unwrap();
        drop(b);
        assert_eq!(budget.used(), (0, 10));
        drop(a);
        assert_eq!(budget.used(), (0, 0));
    }

    #[test]
    fn the_own_server_needs_no_budget() {
        assert!(Guard::OWN.keeping().resize(usize::MAX).is_ok());
        assert!(!Guard::OWN.is_foreign() && Budget::default().guard().is_foreign());
    }
}
