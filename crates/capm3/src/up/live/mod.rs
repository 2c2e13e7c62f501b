//! The live view of `up` on a terminal: [`scene`] is what there is to show, [`view`] makes lines of it and is pure,
//! [`screen`] puts them onto the terminal. [`Live`] ties the three together and decides when to draw.
//!
//! There is no terminal library: no keys are read, and five escape sequences are enough. It draws on stderr, and only if stdout
//! and stderr are both terminals, so piped output never contains an escape.

mod scene;
mod screen;
mod view;

use std::{collections::VecDeque, time::Duration};

use capm3_apiserver::ApiServer;
use capm3_engine::clock::Stopwatch;

use self::{scene::Scene, screen::Screen};
pub use self::{scene::Step, screen::width_of_stdout};
use crate::paint::Style;

/// Real time between two pictures at least.
const BETWEEN: Duration = Duration::from_millis(50);

/// Runs that end sooner than this show no picture: it would only flash.
const FIRST_PICTURE_AFTER: Duration = Duration::from_millis(250);

/// Steps that are remembered; more fit on no terminal.
const STEPS: usize = 100;

/// A picture that is kept up to date.
pub struct Live {
    server: ApiServer,
    style: Style,
    hint: String,
    steps: VecDeque<Step>,
    age: Stopwatch,
    last: Option<Stopwatch>,
    screen: Option<Screen>,
}

impl Live {
    /// A picture of what the server holds, if there is a terminal to show it on; `hint` stands at its foot.
    pub fn if_terminal(server: &ApiServer, hint: String) -> Option<Self> {
        let style = Style::of_terminal()?;
        Some(Self {
            server: server.clone(),
            style,
            hint,
            steps: VecDeque::new(),
            age: Stopwatch::start(),
            last: None,
            screen: None,
        })
    }

    /// Remembers a step.
    pub fn push(&mut self, step: Step) {
        self.steps.push_back(step);
        if self.steps.len() > STEPS {
            self.steps.pop_front();
        }
    }

    /// Draws if it is time to.
    pub fn draw_if_due(&mut self, elapsed: Duration) {
        let is_recent = self.last.is_some_and(|last| last.elapsed() < BETWEEN);
        if is_recent || self.age.elapsed() < FIRST_PICTURE_AFTER {
            return;
        }
        let scene = Scene::of(&self.server.objects(None), self.steps.make_contiguous(), elapsed, &self.hint);
        let screen = self.screen.get_or_insert_with(Screen::enter);
        screen.draw(&view::view(&scene, screen::size(), self.style));
        self.last = Some(Stopwatch::start());
    }
}
