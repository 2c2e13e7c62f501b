//! Steps as plain lines on stderr, for logs, pipes and terminals that cannot show more.

use std::sync::{Mutex, PoisonError};

use capm3_lab::Progress;

/// Prints steps with the time that has passed, simulated or real.
pub struct Lines {
    started: tokio::time::Instant,
    /// Steps that wait until it is known that they are wanted.
    held: Mutex<Option<Vec<String>>>,
}

impl Lines {
    /// Holds every line back until it is let go: what happens to manifests that turn out to be wrong is of no interest.
    pub fn held() -> Self {
        Self { started: tokio::time::Instant::now(), held: Mutex::new(Some(Vec::new())) }
    }

    /// Prints what was held back, and everything from now on at once.
    pub fn let_go(&self) {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner).take();
        for line in held.into_iter().flatten() {
            eprintln!("{line}");
        }
    }
}

impl Progress for Lines {
    fn step(&self, line: &str) {
        let line = format!("{:>8.1}s  {line}", self.started.elapsed().as_secs_f64());
        match self.held.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
            Some(held) => held.push(line),
            None => eprintln!("{line}"),
        }
    }
}
