//! A plan as one page for a browser: what each host does when, the steps, and the reasons where it stops. It loads nothing.

use std::fmt::Write;

use capm3_offline::plan::{HostLane, Plan, Span};

use super::text;

/// Width of the drawing without the names of hosts.
const WIDTH: u64 = 1000;
/// Width of the names of hosts.
const NAMES: u64 = 220;
/// Height of a host.
const LANE: u64 = 26;

const STYLE: &str = "body{font:14px/1.5 system-ui,sans-serif;margin:2rem;color:#1b1f24;background:#fff}\
h1{font-size:1.3rem}h2{font-size:1.05rem;margin-top:2rem}svg{max-width:100%;height:auto}\
table{border-collapse:collapse}td:first-child,td:nth-child(2),td:nth-child(3){white-space:nowrap}td,th{padding:.25rem .9rem .25rem 0;text-align:left;border-bottom:1px solid #d8dee4;vertical-align:top}\
.stop{color:#a40e26}pre{background:#f6f8fa;padding:1rem;white-space:pre-wrap}.key span{margin-right:1.2rem}\
.key i{display:inline-block;width:.9em;height:.9em;margin-right:.35em;vertical-align:-.1em}";

/// States of a host with their colours, and what they are called in the key.
const STATES: [(&str, &str, &str); 4] = [
    ("provisioning", "#d4a72c", "image is written"),
    ("provisioned", "#2da44e", "runs a machine"),
    ("deprovisioning", "#8250df", "is cleaned"),
    ("available", "#d0d7de", "is free"),
];
const OTHER: &str = "#afb8c1";

/// The page.
pub fn page(plan: &Plan) -> String {
    let summary = escaped(&text::summary(plan));
    let class = if plan.finishes { "ok" } else { "stop" };
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>capm3 plan</title>\
         <style>{STYLE}</style></head><body>\n<h1>capm3 plan</h1>\n<p class=\"{class}\">{summary}</p>\n"
    );
    if !plan.hosts.is_empty() {
        page.push_str("<h2>Hosts</h2>\n");
        page.push_str(&key());
        page.push_str(&timeline(plan));
        if plan.steps.iter().any(|step| step.possible_hosts.len() > 1) {
            page.push_str("<p>Where the uid of a new machine decides among several hosts, the timeline shows one of them.</p>\n");
        }
    }
    if !plan.steps.is_empty() {
        page.push_str("<h2>Steps</h2>\n");
        page.push_str(&steps(plan));
    }
    let reasons = text::reasons(plan);
    if !reasons.is_empty() {
        let _ =
            write!(page, "<h2>Reasons and notes</h2>\n<pre>{}</pre>\n", escaped(reasons.join("\n").trim()));
    }
    page.push_str("</body></html>\n");
    page
}

fn key() -> String {
    let entry = |(_, colour, words): &(&str, &str, &str)| {
        format!("<span><i style=\"background:{colour}\"></i>{words}</span>")
    };
    format!("<p class=\"key\">{}</p>\n", STATES.iter().map(entry).collect::<String>())
}

fn timeline(plan: &Plan) -> String {
    let end = plan.seconds.max(60);
    let height = LANE * u64::try_from(plan.hosts.len()).unwrap_or(0) + 40;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{height}\" viewBox=\"0 0 {w} {height}\" \
         font-family=\"system-ui,sans-serif\" font-size=\"12\" role=\"img\" aria-label=\"timeline of the hosts\">\n",
        w = NAMES + WIDTH + 60
    );
    for at in ticks(end) {
        let x = NAMES + at * WIDTH / end;
        let _ = writeln!(
            svg,
            "<line x1=\"{x}\" x2=\"{x}\" y1=\"22\" y2=\"{height}\" stroke=\"#d8dee4\"/>\
             <text x=\"{x}\" y=\"14\" fill=\"#57606a\" text-anchor=\"middle\">{}</text>",
            text::time(at)
        );
    }
    for (row, lane) in (0_u64..).zip(&plan.hosts) {
        svg.push_str(&host(lane, row, end));
    }
    svg.push_str("</svg>\n");
    svg
}

/// At most a dozen times that people like to read.
fn ticks(end: u64) -> impl Iterator<Item = u64> {
    let steps = [10, 20, 30, 60, 120, 240, 480, 1440, 2880, 10_080, 43_200].map(|minutes| minutes * 60);
    let step = steps.into_iter().find(|step| end / step <= 12).unwrap_or(end);
    (0..=end / step).map(move |number| number * step)
}

fn host(lane: &HostLane, row: u64, end: u64) -> String {
    let y = 26 + row * LANE;
    let rack = lane.rack.as_ref().map(|rack| format!(" ({rack})")).unwrap_or_default();
    let name = escaped(&format!("{}{rack}", lane.host));
    let mut drawn = format!("<text x=\"0\" y=\"{}\" fill=\"#1b1f24\">{name}</text>\n", y + 15);
    for span in &lane.spans {
        drawn.push_str(&bar(lane, span, y, end));
    }
    drawn
}

fn bar(lane: &HostLane, span: &Span, y: u64, end: u64) -> String {
    let (from, to) = (NAMES + span.from * WIDTH / end, NAMES + span.to * WIDTH / end);
    let known = STATES.iter().find(|(state, ..)| *state == span.state);
    let (colour, words) = known.map_or((OTHER, span.state.as_str()), |(_, colour, words)| (colour, words));
    let machine = span.machine.as_deref().unwrap_or_default();
    let title =
        format!("{} {words} {machine} {} to {}", lane.host, text::time(span.from), text::time(span.to));
    let width = to.saturating_sub(from).max(1);
    // A letter is about seven wide; a name that does not fit is in the title.
    let fits = u64::try_from(machine.chars().count()).unwrap_or(u64::MAX).saturating_mul(7) + 8 < width;
    let light = matches!(span.state.as_str(), "available" | "provisioning");
    let label = match fits && !machine.is_empty() {
        true => format!(
            "<text x=\"{}\" y=\"{}\" fill=\"{}\">{}</text>",
            from + 5,
            y + 15,
            if light { "#1b1f24" } else { "#ffffff" },
            escaped(machine)
        ),
        false => String::new(),
    };
    format!(
        "<g><title>{}</title><rect x=\"{from}\" y=\"{y}\" width=\"{width}\" height=\"20\" rx=\"3\" fill=\"{colour}\"/>{label}</g>\n",
        escaped(&title)
    )
}

fn steps(plan: &Plan) -> String {
    let mut table = String::from("<table><tr>");
    for head in text::HEAD {
        let _ = write!(table, "<th>{}</th>", escaped(&head.to_lowercase()));
    }
    table.push_str("</tr>\n");
    for step in &plan.steps {
        table.push_str("<tr>");
        for cell in text::row(step) {
            let _ = write!(table, "<td>{}</td>", escaped(&cell));
        }
        table.push_str("</tr>\n");
    }
    table.push_str("</table>\n");
    table
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_is_text_and_no_markup() {
        assert_eq!(escaped("<b a=\"1\">&"), "&lt;b a=&quot;1&quot;&gt;&amp;");
    }

    #[test]
    fn there_are_a_dozen_times_at_most_and_the_first_is_the_start() {
        for minutes in [1, 20, 300, 5_000, 100_000] {
            let ticks: Vec<u64> = ticks(minutes * 60).collect();
            assert_eq!(ticks.first(), Some(&0));
            assert!(ticks.len() <= 13, "{minutes}: {ticks:?}");
        }
    }
}
