//! The explanation of a host as a person reads it.

use capm3_offline::explain::{HostExplanation, HostFacts};
use jiff::Timestamp;

use super::text::{Facts, facts, labelled, one_line, since};
use crate::paint::{Line, Paint};

/// The summary and the facts of the objects. `now` is given where the objects are those of this moment.
pub fn render_text(explanation: &HostExplanation, now: Option<Timestamp>, colour: bool) -> String {
    let HostExplanation { namespace, host, stands, .. } = explanation;
    let name = Line::of(Paint::Bold, format!("BareMetalHost {namespace}/{host}"));
    let since = since(explanation.since.as_deref(), now);
    let mut lines = vec![name.and(Paint::Plain, format!(" {stands}{since}")), Line::default()];
    lines.extend(facts(&Facts {
        why: explanation.why.as_deref(),
        code: None,
        who: explanation.who,
        or_who: None,
        what_to_do: &explanation.what_to_do,
        remarks: &explanation.remarks,
    }));
    lines.push(Line::default());
    let mut rows = rows(&explanation.facts);
    let release = explanation.release.as_ref();
    let release = release.map(|release| format!("for {}: {}", release.requested_for, release.message));
    rows.extend([
        ("Reserved for:", explanation.reservation.clone().unwrap_or_else(|| "nobody".to_owned())),
        ("Release:", release.unwrap_or_else(|| "not requested".to_owned())),
        ("Free:", if explanation.is_free { "yes" } else { "no" }.to_owned()),
    ]);
    lines.extend(painted(rows));
    lines.iter().map(|line| format!("{}\n", line.text(colour))).collect()
}

/// What the objects say, by label.
pub fn rows(facts: &HostFacts) -> Vec<(&'static str, String)> {
    let power = match facts.powered_on {
        Some(is_on) if is_on == facts.online => String::new(),
        _ => format!(", spec.online is {}", facts.online),
    };
    let is_on = facts.powered_on.map_or("unknown", |is_on| if is_on { "on" } else { "off" });
    let or = |text: &Option<String>, none: &str| text.clone().unwrap_or_else(|| none.to_owned());
    let state = Some(facts.state.clone()).filter(|state| !state.is_empty());
    vec![
        ("State:", or(&state, "none yet")),
        ("Power:", format!("{is_on}{power}")),
        ("Failure domain:", or(&facts.failure_domain, "none")),
        ("Image:", or(&facts.image, "none")),
        ("Consumer:", or(&facts.consumer, "none")),
    ]
}

/// Rows under each other.
pub fn painted(rows: Vec<(&'static str, String)>) -> Vec<Line> {
    let line = |(label, text): (&'static str, String)| (label, Line::of(Paint::Plain, one_line(&text)));
    labelled(rows.into_iter().map(line).collect())
}
