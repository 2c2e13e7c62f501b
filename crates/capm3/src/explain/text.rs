//! An explanation as a person reads it.

use capm3_domain::wait::Code;
use capm3_offline::explain::{Actor, Advice, Explanation, HostLine, PoolLine, StepLine, StepState, Taken};
use jiff::Timestamp;

use crate::{
    columns,
    paint::{Line, Paint},
};

/// The summary, the steps and the tables. `now` is given where the objects are those of this moment.
pub fn render_text(explanation: &Explanation, now: Option<Timestamp>, colour: bool) -> String {
    let mut lines = head(explanation, now);
    lines.push(Line::default());
    lines.extend(facts(&Facts {
        why: explanation.why.as_deref(),
        code: explanation.code,
        who: explanation.who,
        or_who: explanation.or_who,
        what_to_do: &explanation.what_to_do,
        remarks: &explanation.remarks,
    }));
    lines.push(Line::default());
    lines.extend(steps(&explanation.steps));
    if !explanation.pools.is_empty() {
        lines.push(Line::default());
        lines.extend(pools(&explanation.pools));
    }
    lines.push(Line::default());
    lines.extend(hosts(explanation));
    lines.iter().map(|line| format!("{}\n", line.text(colour))).collect()
}

fn head(explanation: &Explanation, now: Option<Timestamp>) -> Vec<Line> {
    let Explanation { namespace, metal3_machine, stands, .. } = explanation;
    let since = since(explanation.since.as_deref(), now);
    let name = Line::of(Paint::Bold, format!("Metal3Machine {namespace}/{metal3_machine}"));
    let mut lines = vec![name.and(Paint::Plain, format!(" {stands}{since}"))];
    let owners = [("Machine", &explanation.machine), ("Cluster", &explanation.cluster)];
    let domain = [("failure domain", &explanation.failure_domain.assigned)];
    let owners: Vec<String> = owners
        .into_iter()
        .chain(domain)
        .filter_map(|(kind, name)| Some(format!("{kind} {}", name.as_ref()?)))
        .collect();
    if !owners.is_empty() {
        lines.push(Line::of(Paint::Dim, owners.join(", ")));
    }
    lines
}

/// Since when something is so, to be put behind it; empty where that is not known.
pub fn since(since: Option<&str>, now: Option<Timestamp>) -> String {
    let Some(since) = since else { return String::new() };
    let age = now.and_then(|now| age(since, now)).map(|age| format!(" ({age} ago)")).unwrap_or_default();
    format!(", since {since}{age}")
}

/// What is waited for, who must act, what to do.
pub struct Facts<'a> {
    pub why: Option<&'a str>,
    pub code: Option<Code>,
    pub who: Actor,
    pub or_who: Option<Actor>,
    pub what_to_do: &'a [Advice],
    pub remarks: &'a [String],
}

/// The same, one per line.
pub fn facts(of: &Facts<'_>) -> Vec<Line> {
    let mut facts: Vec<(&str, Line)> = Vec::new();
    let plain = |text: &str| Line::of(Paint::Plain, one_line(text));
    facts.extend(of.why.map(|why| ("Why:", plain(why))));
    facts.extend(of.code.map(|code| ("Code:", plain(code.as_str()))));
    let sooner = of.or_who.map(|who| format!("; {who} can act to speed it up")).unwrap_or_default();
    facts.push(("Who must act:", plain(&format!("{}{sooner}", of.who))));
    for (number, advice) in of.what_to_do.iter().enumerate() {
        facts.push((if number == 0 { "What to do:" } else { "or:" }, plain(&advice.text)));
        let command = advice.command.as_deref().map(one_line);
        facts.extend(command.map(|command| ("", Line::of(Paint::Bold, format!("  {command}")))));
    }
    facts.extend(of.remarks.iter().map(|remark| ("Mind:", plain(remark))));
    labelled(facts)
}

/// Labels and texts under each other.
pub fn labelled(facts: Vec<(&str, Line)>) -> Vec<Line> {
    let width = facts.iter().map(|(label, _)| label.len()).max().unwrap_or(0) + 1;
    let line = |(label, text): (&str, Line)| Line::of(Paint::Cyan, format!("  {label:<width$}")).beside(text);
    facts.into_iter().map(line).collect()
}

fn steps(steps: &[StepLine]) -> Vec<Line> {
    let width = steps.iter().map(|step| step.name.len()).max().unwrap_or(0) + 2;
    let line = |step: &StepLine| {
        let (mark, paint) = match step.state {
            StepState::Done => ("[x]", Paint::Green),
            StepState::Here => ("[>]", Paint::Yellow),
            StepState::Later => ("[ ]", Paint::Dim),
        };
        let fact = step.fact.as_deref().map(one_line).unwrap_or_default();
        Line::of(paint, format!("  {mark} {:<width$}", step.name)).and(Paint::Plain, fact)
    };
    steps.iter().map(line).collect()
}

fn pools(pools: &[PoolLine]) -> Vec<Line> {
    let mut rows = vec![["POOL", "FREE", "ADDRESS", "PROBLEM"].map(str::to_owned).to_vec()];
    rows.extend(pools.iter().map(|pool| {
        let free = pool.stock.map(|stock| format!("{} of {}", stock.free, stock.capacity));
        vec![
            format!("{} {}", pool.kind, pool.name),
            or_dash(free.as_deref()),
            or_dash(pool.address.as_deref()),
            pool.problem.as_deref().map(one_line).unwrap_or_default(),
        ]
    }));
    if pools.iter().all(|pool| pool.problem.is_none()) {
        rows.iter_mut().for_each(|row| row.truncate(3));
    }
    table(&rows, |_| Paint::Plain)
}

fn hosts(explanation: &Explanation) -> Vec<Line> {
    let hosts = &explanation.hosts;
    if hosts.is_empty() {
        let none = format!("no BareMetalHosts in namespace {}", explanation.namespace);
        return vec![Line::of(Paint::Plain, none)];
    }
    let has_domains = hosts.iter().any(|host| host.failure_domain.is_some());
    let mut rows = vec![["HOST", "FAILURE DOMAIN", "STATE", "TAKEN", "REASON"].map(str::to_owned).to_vec()];
    rows.extend(hosts.iter().map(cells));
    if !has_domains {
        rows.iter_mut().for_each(|row| drop(row.remove(1)));
    }
    let paint = |row: usize| match hosts.get(row).map(|host| host.taken) {
        Some(Taken::Yes | Taken::Next) => Paint::Green,
        _ => Paint::Plain,
    };
    table(&rows, paint)
}

fn cells(host: &HostLine) -> Vec<String> {
    let taken = match host.taken {
        Taken::Yes => "yes",
        Taken::Next => "next",
        Taken::No => "no",
    };
    vec![
        host.name.clone(),
        or_dash(host.failure_domain.as_deref()),
        or_dash(Some(host.state.as_str()).filter(|state| !state.is_empty())),
        taken.to_owned(),
        one_line(&host.message),
    ]
}

/// Rows under a bold head; `paint` says how each of them looks.
fn table(rows: &[Vec<String>], paint: impl Fn(usize) -> Paint) -> Vec<Line> {
    let lines = columns::lines(rows).into_iter().enumerate();
    let painted = lines.map(|(number, line)| match number.checked_sub(1) {
        None => Line::of(Paint::Bold, line),
        Some(row) => Line::of(paint(row), line),
    });
    painted.collect()
}

fn or_dash(text: Option<&str>) -> String {
    text.map_or("-".to_owned(), one_line)
}

/// Messages of others may have lines and worse; a terminal gets letters only.
pub fn one_line(text: &str) -> String {
    let letters: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    letters.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// How long ago that was, in its largest unit.
fn age(since: &str, now: Timestamp) -> Option<String> {
    let since: Timestamp = since.parse().ok()?;
    let seconds = now.duration_since(since).as_secs();
    let (count, unit) = match seconds {
        ..0 => return None,
        0..60 => (seconds, "second"),
        60..3_600 => (seconds / 60, "minute"),
        3_600..86_400 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    Some(if count == 1 { format!("1 {unit}") } else { format!("{count} {unit}s") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_age_is_printed_in_its_largest_unit() {
        let now: Timestamp = "2026-01-02T00:00:00Z".parse().unwrap();
        for (since, expected) in [
            ("2026-01-02T00:00:00Z", Some("0 seconds")),
            ("2026-01-01T23:59:00Z", Some("1 minute")),
            ("2026-01-01T22:00:01Z", Some("1 hour")),
            ("2025-12-30T00:00:00Z", Some("3 days")),
            ("2026-01-02T00:00:01Z", None),
            ("yesterday", None),
        ] {
            assert_eq!(age(since, now).as_deref(), expected, "{since}");
        }
    }

    #[test]
    fn what_others_wrote_cannot_break_a_line_or_paint_the_terminal() {
        assert_eq!(one_line("a\nb\t\u{1b}[31mc  d"), "a b [31mc d");
    }
}
