//! A plan as a person reads it: a table of steps, a summary, and the reasons where it stops.

use capm3_offline::plan::{Event, Plan, Step, Stop, StuckMachine};

use crate::{
    columns,
    explain::text::one_line,
    paint::{Line, Paint},
};

/// So many possible hosts are named in a cell.
const NAMED: usize = 3;

/// What stands for something that depends on another machine.
const OPEN: &str = "?";

/// What stands above the cells of a step.
pub const HEAD: [&str; 8] =
    ["TIME", "STEP", "MACHINE", "HOST", "RACK", "DATA TEMPLATE", "INDEX", "ADDRESSES"];

/// The steps and the summary.
pub fn table(plan: &Plan, colour: bool) -> String {
    let mut lines: Vec<Line> = Vec::new();
    if !plan.steps.is_empty() {
        let mut rows = vec![HEAD.map(str::to_owned).to_vec()];
        rows.extend(plan.steps.iter().map(row));
        for (number, line) in columns::lines(&rows).into_iter().enumerate() {
            let step = number.checked_sub(1).and_then(|number| plan.steps.get(number));
            lines.push(Line::of(step.map_or(Paint::Bold, |step| paint(step.event)), line));
        }
        lines.push(Line::default());
    }
    lines.push(Line::of(Paint::Bold, summary(plan)));
    lines.iter().map(|line| format!("{}\n", line.text(colour))).collect()
}

fn paint(event: Event) -> Paint {
    match event {
        Event::MachineReady => Paint::Green,
        Event::MachineGoes | Event::HostFails => Paint::Yellow,
        Event::MachineGone | Event::HostReturns => Paint::Dim,
        Event::MachineComes | Event::MachineTakesHost | Event::MachineGetsData => Paint::Plain,
    }
}

/// The cells of a step.
pub fn row(step: &Step) -> Vec<String> {
    let tells_data =
        matches!(step.event, Event::MachineTakesHost | Event::MachineGetsData | Event::MachineGoes);
    let open = |cell: String| match cell.is_empty() && !step.data_templates.is_empty() {
        true => OPEN.to_owned(),
        false => dash(cell),
    };
    if !tells_data {
        // The rest stands where the machine takes its host.
        let is_certain = step.possible_hosts.len() < 2;
        let host = step.host.clone().filter(|_| is_certain).unwrap_or_default();
        let rack = if is_certain { one_of(step.racks.iter().cloned()) } else { String::new() };
        let machine = step.machine.clone().unwrap_or_default();
        let none = String::new;
        return vec![time(step.at), event(step), machine, host, rack, none(), none(), none()];
    }
    vec![
        time(step.at),
        event(step),
        dash(step.machine.clone().unwrap_or_default()),
        dash(host(step)),
        dash(one_of(step.racks.iter().cloned())),
        dash(one_of(step.data_templates.iter().cloned())),
        open(one_of(step.indexes.iter().map(ToString::to_string))),
        open(addresses(step)),
    ]
}

/// The step in a few words.
fn event(step: &Step) -> String {
    match step.event {
        Event::HostFails => "host fails".to_owned(),
        Event::MachineGoes => "machine goes".to_owned(),
        Event::MachineGone => "machine is gone".to_owned(),
        Event::HostReturns => match &step.kept_for {
            Some(kept_for) => format!("host returns, kept for {kept_for}"),
            None => "host returns".to_owned(),
        },
        Event::MachineComes => "machine comes, waits".to_owned(),
        Event::MachineTakesHost => "machine takes host".to_owned(),
        Event::MachineGetsData => "machine gets data".to_owned(),
        Event::MachineReady => "machine is ready".to_owned(),
    }
}

/// The host, or those among which a uid decides.
fn host(step: &Step) -> String {
    match step.possible_hosts.len() {
        0 | 1 => step.host.clone().unwrap_or_default(),
        _ => one_of(step.possible_hosts.iter().cloned()),
    }
}

/// Addresses that a machine has, or among which it gets some: with several machines of one moment these are more than it needs.
fn addresses(step: &Step) -> String {
    let is_shared = step.indexes.len() > 1;
    let all = step.addresses.iter().cloned();
    if is_shared { one_of(all) } else { all.collect::<Vec<_>>().join(",") }
}

/// One, or `one of a, b`.
fn one_of(all: impl Iterator<Item = String>) -> String {
    let all: Vec<String> = all.collect();
    match all.as_slice() {
        [] => String::new(),
        [one] => one.clone(),
        many => {
            let named: Vec<&str> = many.iter().take(NAMED).map(String::as_str).collect();
            let more = many.len().saturating_sub(NAMED);
            let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("one of {}{rest}", named.join(", "))
        }
    }
}

fn dash(cell: String) -> String {
    if cell.is_empty() { "-".to_owned() } else { cell }
}

/// Time from the start, in hours and minutes.
pub fn time(seconds: u64) -> String {
    let minutes = seconds / 60;
    format!("+{:02}:{:02}", minutes / 60, minutes % 60)
}

/// What happens in all, in one sentence.
pub fn summary(plan: &Plan) -> String {
    let ready = plan.machines.iter().filter(|machine| machine.is_ready).count();
    let all = plan.machines.len();
    let machines = format!("{ready} of {all} machines are ready");
    if plan.steps.is_empty() && plan.finishes {
        return format!("nothing to do: {machines}");
    }
    let count = |event: Event| plan.steps.iter().filter(|step| step.event == event).count();
    let happens = format!(
        "hosts taken: {}, machines gone: {}, hosts returned: {}",
        count(Event::MachineTakesHost),
        count(Event::MachineGone),
        count(Event::HostReturns)
    );
    match plan.finishes {
        true => format!("finishes after {}: {machines}; {happens}", duration(plan.seconds)),
        false => format!("stops after {}: {machines}; {happens}", duration(plan.seconds)),
    }
}

fn counted(number: usize, word: &str) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{number} {word}s") }
}

fn duration(seconds: u64) -> String {
    let minutes = seconds / 60;
    match (minutes / 60, minutes % 60) {
        (0, minutes) => format!("{minutes} min"),
        (hours, 0) => format!("{hours} h"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

/// What is taken for granted, and why it stops.
pub fn reasons(plan: &Plan) -> Vec<String> {
    let notes = plan.notes.iter().map(|note| format!("note: {note}"));
    notes.chain(plan.stops.iter().flat_map(stop)).collect()
}

fn stop(stop: &Stop) -> Vec<String> {
    let kind_and_name = stop.owner.replacen('/', &format!(" {}/", stop.namespace), 1);
    let mut lines = vec![
        String::new(),
        format!("{kind_and_name}: {} of {} machines are ready and up to date", stop.reached, stop.wanted),
    ];
    lines.extend(stop.why.iter().map(|why| format!("  {}", one_line(why))));
    lines.extend(stop.machines.iter().flat_map(machine));
    if stop.more > 0 {
        lines.push(format!("  and {} more", counted(stop.more, "machine")));
    }
    for (number, advice) in stop.what_to_do.iter().enumerate() {
        let label = if number == 0 && stop.machines.is_empty() { "what to do:" } else { "or:" };
        lines.push(format!("  {label:<11} {}", one_line(&advice.text)));
    }
    lines
}

fn machine(machine: &StuckMachine) -> Vec<String> {
    let code = machine.code.map(|code| format!(" ({})", code.as_str())).unwrap_or_default();
    let why = machine.why.as_deref().unwrap_or(&machine.stands);
    let mut lines = vec![format!("  machine {}{code}: {}", machine.machine, one_line(why))];
    for (number, advice) in machine.what_to_do.iter().enumerate() {
        let label = if number == 0 { "what to do:" } else { "or:" };
        lines.push(format!("    {label:<11} {}", one_line(&advice.text)));
        lines.extend(advice.command.iter().map(|command| format!("    {:<11}   {}", "", one_line(command))));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_durations_are_in_hours_and_minutes() {
        for (seconds, at, long) in [
            (0, "+00:00", "0 min"),
            (1200, "+00:20", "20 min"),
            (3600, "+01:00", "1 h"),
            (450_060, "+125:01", "125 h 1 min"),
        ] {
            assert_eq!((time(seconds).as_str(), duration(seconds).as_str()), (at, long));
        }
    }

    #[test]
    fn of_many_outcomes_a_few_are_named_and_the_rest_is_counted() {
        let names = |count: usize| (1..=count).map(|number| format!("h{number}"));
        assert_eq!(one_of(names(0)), "");
        assert_eq!(one_of(names(1)), "h1");
        assert_eq!(one_of(names(2)), "one of h1, h2");
        assert_eq!(one_of(names(7)), "one of h1, h2, h3 and 4 more");
    }
}
