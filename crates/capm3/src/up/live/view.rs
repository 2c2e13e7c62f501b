//! Lines of a picture from a scene: a pure function. Chooses the richest layout that fits the terminal.

use super::scene::{Host, Rack, Scene, Step};
use crate::paint::{Line, Paint, Style};

/// Columns and rows of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    pub width: usize,
    pub height: usize,
}

/// Racks narrower than this would show no names.
const NARROWEST_RACK: usize = 22;

/// Wider ones would only show blanks.
const WIDEST_RACK: usize = 44;

const GAP: usize = 2;

/// Columns of a mark, blanks and a state such as `deprovisioning`.
const LONGEST_STATE: usize = 18;

/// Steps that are shown at least, if there is any room.
const FEWEST_STEPS: usize = 3;

/// The picture: at most `height` lines of at most `width` columns.
pub fn view(scene: &Scene, size: Size, style: Style) -> Vec<String> {
    let picture = Picture { scene, width: size.width, style };
    let head = vec![picture.title(), picture.bar()];
    let foot =
        if scene.hint.is_empty() { Vec::new() } else { vec![Line::of(Paint::Dim, scene.hint.clone())] };
    let blanks = if size.height >= 16 { 1 } else { 0 };
    let room = size.height.saturating_sub(head.len() + foot.len() + 3 * blanks);
    let body = picture.body(room.saturating_sub(FEWEST_STEPS.min(scene.steps.len())));
    let steps = picture.steps(room.saturating_sub(body.len()));
    let gap = || std::iter::repeat_n(Line::default(), blanks);
    let lines = head.into_iter().chain(gap()).chain(body).chain(gap()).chain(steps).chain(gap()).chain(foot);
    lines.take(size.height).map(|line| line.cut(size.width).text(style.colour)).collect()
}

struct Picture<'a> {
    scene: &'a Scene,
    width: usize,
    style: Style,
}

impl Picture<'_> {
    fn title(&self) -> Line {
        let seconds = self.scene.elapsed.as_secs();
        let time = format!("{}:{:02}", seconds / 60, seconds % 60);
        let name = Line::of(Paint::Bold, "capm3 up");
        let left = self.width.saturating_sub(time.len());
        name.exactly(left).and(Paint::Bold, time)
    }

    fn bar(&self) -> Line {
        let Scene { ready, wanted, way, .. } = *self.scene;
        let count = format!("  {ready} of {wanted} machines ready");
        let length = self.width.saturating_sub(count.len()).min(60);
        let full = (length * way.min(1000)) / 1000;
        let (done, open) = if self.style.unicode { ("█", "░") } else { ("#", ".") };
        let paint = if ready == wanted && wanted > 0 { Paint::Green } else { Paint::Cyan };
        Line::of(paint, done.repeat(full))
            .and(Paint::Dim, open.repeat(length - full))
            .and(Paint::Plain, count)
    }

    /// The richest of the layouts that fits; the last one always does.
    fn body(&self, height: usize) -> Vec<Line> {
        let full = |name: &str, host: &Host, width| self.card(name, host, width);
        let short = |name: &str, host: &Host, width| vec![self.row(name, host, width)];
        let layouts = [self.columns(full), self.columns(short), Some(self.stacked()), Some(self.summary())];
        let fits = layouts.into_iter().flatten().find(|lines| lines.len() <= height);
        fits.unwrap_or_else(|| shortened(self.summary(), height))
    }

    /// Racks beside each other, in as many bands as it takes; `None` when not even two have room.
    fn columns(&self, cells: impl Fn(&str, &Host, usize) -> Vec<Line>) -> Option<Vec<Line>> {
        let racks = &self.scene.racks;
        let most = (self.width + GAP) / (NARROWEST_RACK + GAP);
        let count = most.min(racks.len());
        if count < 2 {
            return None;
        }
        let width = ((self.width + GAP) / count).saturating_sub(GAP).min(WIDEST_RACK);
        let mut lines = Vec::new();
        for band in racks.chunks(count) {
            if !lines.is_empty() {
                lines.push(Line::default());
            }
            let columns: Vec<Vec<Line>> = band.iter().map(|rack| self.column(rack, width, &cells)).collect();
            let tallest = columns.iter().map(Vec::len).max().unwrap_or_default();
            for row in 0..tallest {
                let cells = columns.iter().map(|column| column.get(row).cloned().unwrap_or_default());
                lines.push(cells.fold(Line::default(), |line, cell| line.beside(cell.exactly(width + GAP))));
            }
        }
        Some(lines)
    }

    fn column(
        &self,
        rack: &Rack,
        width: usize,
        cells: impl Fn(&str, &Host, usize) -> Vec<Line>,
    ) -> Vec<Line> {
        // The heading names the rack already, so where there is little room its hosts need not.
        let hosts = self.scene.racks.iter().flat_map(|rack| &rack.hosts);
        let is_tight = hosts.map(|host| host.name.len()).max().unwrap_or_default() + LONGEST_STATE > width;
        let short = |host: &'_ Host| {
            let rest = host.name.strip_prefix(&rack.name).and_then(|rest| rest.strip_prefix('-'));
            rest.filter(|rest| is_tight && !rest.is_empty()).unwrap_or(&host.name).to_owned()
        };
        let mut lines = vec![self.heading(rack)];
        lines.extend(
            rack.hosts.iter().flat_map(|host| cells(&short(host), host, width)).map(|line| line.cut(width)),
        );
        lines
    }

    fn heading(&self, rack: &Rack) -> Line {
        let used = rack.hosts.iter().filter(|host| host.machine.is_some()).count();
        Line::of(Paint::Bold, title(rack)).and(Paint::Dim, format!("  {used} of {} used", rack.hosts.len()))
    }

    /// A host with its state, and below it its machine and address, on one line if they fit.
    fn card(&self, name: &str, host: &Host, width: usize) -> Vec<Line> {
        let first = self.mark(host).and(Paint::Plain, format!(" {name}"));
        let mut lines = vec![first.and(paint(host), format!("  {}", host.state))];
        if let Some(machine) = &host.machine {
            let second = Line::of(Paint::Plain, format!("  {machine}"));
            match &host.address {
                Some(address) if second.width() + 1 + address.len() <= width => {
                    lines.push(second.and(Paint::Cyan, format!(" {address}")));
                }
                address => {
                    lines.push(second);
                    lines.extend(address.iter().map(|address| Line::of(Paint::Cyan, format!("  {address}"))));
                }
            }
        }
        lines
    }

    /// A host on one line: with its machine if there is room for both, else with its state.
    fn row(&self, name: &str, host: &Host, width: usize) -> Line {
        let line = self.mark(host).and(Paint::Plain, format!(" {name}"));
        match &host.machine {
            Some(machine) if line.width() + 1 + machine.len() <= width => {
                line.and(Paint::Dim, format!(" {machine}"))
            }
            _ => line.and(paint(host), format!("  {}", host.state)),
        }
    }

    /// Racks below each other, everything about a host on one line.
    fn stacked(&self) -> Vec<Line> {
        let hosts = || self.scene.racks.iter().flat_map(|rack| &rack.hosts);
        let longest =
            |text: fn(&Host) -> &str| hosts().map(|host| text(host).len()).max().unwrap_or_default();
        let (name, state) = (longest(|host| &host.name), longest(|host| &host.state));
        let line = |host: &Host| {
            let line = self.mark(host).and(Paint::Plain, format!(" {:<name$}", host.name));
            let line = line.and(paint(host), format!("  {:<state$}", host.state));
            let line =
                line.and(Paint::Cyan, host.address.iter().map(|a| format!("  {a}")).collect::<String>());
            line.and(Paint::Plain, host.machine.iter().map(|m| format!("  {m}")).collect::<String>())
        };
        let rack = |rack: &Rack| {
            std::iter::once(self.heading(rack)).chain(rack.hosts.iter().map(line)).collect::<Vec<_>>()
        };
        self.scene.racks.iter().flat_map(rack).collect()
    }

    /// One line per rack: a mark for each host.
    fn summary(&self) -> Vec<Line> {
        let longest = self.scene.racks.iter().map(|rack| title(rack).len()).max().unwrap_or_default();
        let line = |rack: &Rack| {
            let line = Line::of(Paint::Bold, format!("{:<longest$}  ", title(rack)));
            let line = rack.hosts.iter().fold(line, |line, host| line.beside(self.mark(host)));
            let used = rack.hosts.iter().filter(|host| host.machine.is_some()).count();
            line.and(Paint::Dim, format!("  {used} of {} used", rack.hosts.len()))
        };
        self.scene.racks.iter().map(line).collect()
    }

    fn mark(&self, host: &Host) -> Line {
        let (unicode, ascii) = match host.state.as_str() {
            "provisioned" | "externally provisioned" => ("●", "#"),
            "available" | "ready" => ("○", "o"),
            _ => ("◐", "+"),
        };
        Line::of(paint(host), if self.style.unicode { unicode } else { ascii })
    }

    /// The last steps that have room.
    fn steps(&self, height: usize) -> Vec<Line> {
        let steps = &self.scene.steps;
        let line = |step: &Step| {
            Line::of(Paint::Dim, format!("{:>7.1}s  ", step.at.as_secs_f64()))
                .and(Paint::Plain, step.line.clone())
        };
        steps.iter().skip(steps.len().saturating_sub(height)).map(line).collect()
    }
}

/// The name of a rack, with its namespace where there are several.
fn title(rack: &Rack) -> String {
    match &rack.namespace {
        Some(namespace) => format!("{namespace}/{}", rack.name),
        None => rack.name.clone(),
    }
}

fn paint(host: &Host) -> Paint {
    match host.state.as_str() {
        "provisioned" | "externally provisioned" => Paint::Green,
        "available" | "ready" => Paint::Dim,
        _ => Paint::Yellow,
    }
}

/// The first lines, and how many more there are.
fn shortened(mut lines: Vec<Line>, height: usize) -> Vec<Line> {
    let more = lines.len().saturating_sub(height.saturating_sub(1));
    lines.truncate(height.saturating_sub(1));
    if height > 0 {
        lines.push(Line::of(Paint::Dim, format!("and {more} more racks")));
    }
    lines
}

#[cfg(test)]
#[path = "view_tests.rs"]
mod tests;
