//! Where the steps of a run go: held back, drawn on a terminal, or printed as plain lines on stderr.

use std::sync::{Mutex, MutexGuard, PoisonError};

use capm3_lab::Progress;

use super::live::{Live, Step};
use crate::exit;

/// Real time between two pictures when nothing happens, so that the clock moves.
const TICK: std::time::Duration = std::time::Duration::from_millis(200);

/// Receives the steps.
pub struct Feed {
    started: tokio::time::Instant,
    mode: Mutex<Mode>,
}

enum Mode {
    /// Until it is known whether they are wanted: what happens to wrong manifests is of no interest.
    Held(Vec<Step>),
    /// On a terminal.
    Drawn(Box<Live>),
    /// For logs, pipes and terminals that cannot show more.
    Printed,
}

impl Feed {
    /// Holds every step back.
    pub fn held() -> Self {
        Self { started: tokio::time::Instant::now(), mode: Mutex::new(Mode::Held(Vec::new())) }
    }

    /// Shows what was held back and everything from now on: on the terminal if there is one, else as lines. The
    /// terminal is given back when the answer is dropped; lines go on.
    pub fn show(&self, live: Option<Live>) -> Showing<'_> {
        let next = live.map_or(Mode::Printed, |live| Mode::Drawn(Box::new(live)));
        let before = std::mem::replace(&mut *self.mode(), next);
        if let Mode::Held(steps) = before {
            steps.into_iter().for_each(|step| self.tell(step));
        }
        Showing(self)
    }

    /// Draws from time to time, for ever.
    pub async fn keep_drawing(&self) {
        loop {
            tokio::time::sleep(TICK).await;
            if let Mode::Drawn(live) = &mut *self.mode() {
                live.draw_if_due(self.started.elapsed());
            }
        }
    }

    fn tell(&self, step: Step) {
        match &mut *self.mode() {
            Mode::Held(steps) => steps.push(step),
            Mode::Drawn(live) => {
                live.push(step);
                live.draw_if_due(self.started.elapsed());
            }
            Mode::Printed => exit::say(format_args!("{:>8.1}s  {}", step.at.as_secs_f64(), step.line)),
        }
    }

    fn mode(&self) -> MutexGuard<'_, Mode> {
        self.mode.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress for Feed {
    fn step(&self, line: &str) {
        self.tell(Step { at: self.started.elapsed(), line: line.to_owned() });
    }
}

/// As long as this lives the terminal may be ours.
pub struct Showing<'a>(&'a Feed);

impl Drop for Showing<'_> {
    fn drop(&mut self) {
        *self.0.mode() = Mode::Printed;
    }
}
