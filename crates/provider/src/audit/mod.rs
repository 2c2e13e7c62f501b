//! Leaks and contradictions between hosts, machines, claims, data, addresses and Secrets.
//!
//! Takes the objects of a cluster or of files and a time; gives findings: what contradicts what, the facts that show it, and
//! how it is repaired. It reads no cluster and writes nothing. A rule is data: one file in `rules`, one line of [`RULES`].
//!
//! Controllers make contradictions that last a moment, and end them: a host is taken before its machine records it. So a
//! finding counts only if no object that it rests on changed for a while ([`Options::grace`]), and an absence counts only for a
//! kind of which everything was read.

mod age;
mod finding;
mod inventory;
pub mod moving;
pub mod page;
mod repair;
mod rule;
mod rules;
mod view;

use jiff::{SignedDuration, Timestamp};

use age::Rest;
pub use finding::{Fact, Finding, Severity, Subject};
pub use inventory::{Inventory, Unreadable};
pub use repair::{By, Repair, Step, Target};
pub use rule::{RULES, Rule};
use view::View;

/// How long nobody must have changed an object by default: an orphan is proven by the controllers within two minutes of a
/// start, and whatever takes them longer holds the objects that it is about.
pub const GRACE: SignedDuration = SignedDuration::from_mins(10);

/// How the objects are judged.
#[derive(Debug, Clone, Copy)]
pub struct Options {
    /// The present.
    pub now: Timestamp,
    /// How long nobody must have changed the objects of a finding.
    pub grace: SignedDuration,
}

/// What was found.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The contradictions, the worst first.
    pub findings: Vec<Finding>,
    /// How many more there are among objects that changed lately.
    pub held_back: usize,
}

/// Judges the objects by every rule.
pub fn audit(inventory: &Inventory, options: &Options) -> Report {
    audit_by(RULES.iter(), inventory, options)
}

/// The same by some rules only.
pub fn audit_by<'r>(
    rules: impl IntoIterator<Item = &'r Rule>,
    inventory: &Inventory,
    options: &Options,
) -> Report {
    let view = View::new(inventory, options.now);
    let mut report = Report::default();
    for rule in rules {
        for finding in (rule.find)(&view) {
            match rest(&finding, inventory, options) {
                Rest::Young => report.held_back += 1,
                rest => report.findings.push(Finding {
                    code: rule.code,
                    severity: rule.severity,
                    settled: rest == Rest::Old,
                    ..finding
                }),
            }
        }
    }
    report.findings.sort_by(|a, b| (a.severity, a.code, &a.object).cmp(&(b.severity, b.code, &b.object)));
    report
}

/// What a `clusterctl move` would lose or leave behind, however young it is, and the errors of the other rules.
pub fn before_move(inventory: &Inventory, options: &Options) -> Report {
    let now = Options { grace: SignedDuration::ZERO, ..*options };
    let mut report = audit_by(moving::RULES, inventory, &now);
    let not_deleting = audit(inventory, options);
    let errors = not_deleting.findings.into_iter().filter(|finding| finding.severity == Severity::Error);
    report.findings.splice(0..0, errors);
    Report { held_back: not_deleting.held_back, ..report }
}

/// The rule of a code, in any case.
pub fn rule(code: &str) -> Option<&'static Rule> {
    RULES.iter().chain(moving::RULES).find(|rule| rule.code.eq_ignore_ascii_case(code))
}

/// A finding is as young as the youngest object that it rests on. An absence is young if an earlier look has shown the object, and
/// one look does not tell: the garbage collector may be about to remove what belonged to it.
fn rest(finding: &Finding, inventory: &Inventory, options: &Options) -> Rest {
    if options.grace.is_zero() {
        return Rest::Old;
    }
    let ages = finding.rests_on().filter_map(|object| inventory.age(object));
    let there = ages.map(|age| age.rest(options.now, options.grace));
    let absent = finding.absences().map(|object| inventory.rest_of_absent(object));
    there.chain(absent).min().unwrap_or(Rest::Old)
}
