//! Work on every core.

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, bail};

/// Does the work for each item, in order, on every core; the first error ends it.
pub(super) fn each<T: Sync>(items: &[T], work: impl Fn(&T) -> Result<()> + Sync) -> Result<()> {
    let next = AtomicUsize::new(0);
    let worker = || -> Result<()> {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed)) {
            work(item)?;
        }
        Ok(())
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..cores.min(items.len())).map(|_| scope.spawn(worker)).collect();
        for worker in workers {
            match worker.join() {
                Ok(result) => result?,
                Err(_) => bail!("a run panicked"),
            }
        }
        Ok(())
    })
}
