//! Where the steps of a run go: held back, drawn on a terminal, or printed as plain lines on stderr.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use capm3_lab::Progress;

use super::{
    live::{Live, Step},
    naming::Naming,
};
use crate::exit;

/// Real time between two pictures when nothing happens, so that the clock moves.
const TICK: Duration = Duration::from_millis(200);

/// Receives the steps.
pub struct Feed {
    started: tokio::time::Instant,
    state: Mutex<State>,
}

struct State {
    mode: Mode,
    naming: Naming,
}

enum Mode {
    /// Until it is known whether they are wanted: what happens to wrong manifests is of no interest.
    Held(Vec<(Duration, capm3_lab::ProgressStep)>),
    /// On a terminal.
    Drawn(Box<Live>),
    /// For logs, pipes and terminals that cannot show more.
    Printed,
}

impl Feed {
    /// Holds every step back; `naming` knows the namespaces that are there from the start.
    pub fn held(naming: Naming) -> Self {
        let state = State { mode: Mode::Held(Vec::new()), naming };
        Self { started: tokio::time::Instant::now(), state: Mutex::new(state) }
    }

    /// Shows what was held back and everything from now on: on the terminal if there is one, else as lines. The
    /// terminal is given back when the answer is dropped; lines go on.
    pub fn show(&self, live: Option<Live>) -> Showing<'_> {
        let next = live.map_or(Mode::Printed, |live| Mode::Drawn(Box::new(live)));
        let before = std::mem::replace(&mut self.state().mode, next);
        if let Mode::Held(steps) = before {
            steps.into_iter().for_each(|(at, step)| self.record(at, step));
        }
        Showing(self)
    }

    /// Draws from time to time, for ever.
    pub async fn keep_drawing(&self) {
        loop {
            tokio::time::sleep(TICK).await;
            if let Mode::Drawn(live) = &mut self.state().mode {
                live.draw_if_due(self.started.elapsed());
            }
        }
    }

    fn record(&self, at: Duration, step: capm3_lab::ProgressStep) {
        let State { mode, naming } = &mut *self.state();
        naming.add(&step.key.namespace);
        let line = format!("{} {} {}", step.kind, naming.name(&step.key), step.what);
        match mode {
            Mode::Held(steps) => steps.push((at, step)),
            Mode::Drawn(live) => {
                live.push(Step { at, line });
                live.draw_if_due(self.started.elapsed());
            }
            Mode::Printed => exit::say(format_args!("{:>8.1}s  {line}", at.as_secs_f64())),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Progress for Feed {
    fn step(&self, step: capm3_lab::ProgressStep) {
        self.record(self.started.elapsed(), step);
    }
}

/// As long as this lives the terminal may be ours.
pub struct Showing<'a>(&'a Feed);

impl Drop for Showing<'_> {
    fn drop(&mut self) {
        self.0.state().mode = Mode::Printed;
    }
}
