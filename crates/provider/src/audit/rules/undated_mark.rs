//! A host is marked unhealthy, and the mark has no date.

use capm3_api::{metadata::MetadataExt, neighbours::BareMetalHost, vocabulary::annotation};

use super::{Finding, Repair, Rule, Severity, Step, View};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C018",
    severity: Severity::Info,
    title: "host marked unhealthy without a date",
    why: "A host with annotation capm3.metal3.io/unhealthy is never chosen. Nothing removes the mark, and without a date \
          nobody can tell whether the host was repaired since.",
    repair: "Repair the host and remove the mark, or write since when and why into its value, such as 2026-01-31 fan.",
    find,
};

/// Length of a date such as 2026-01-31.
const DATE: usize = 10;

fn find(view: &View<'_>) -> Vec<Finding> {
    let marked = |host: &BareMetalHost| {
        let value = host.metadata.annotation(annotation::UNHEALTHY).filter(|value| !has_date(value))?;
        let finding = Finding::on(host, "is marked unhealthy, and the mark has no date").fact(
            host,
            &format!("metadata.annotations[{}]", annotation::UNHEALTHY),
            format!("{value:?}"),
        );
        let step = Step::unannotate(host, annotation::UNHEALTHY);
        Some(finding.repair(Repair::person("remove the mark if the host is repaired", [step])))
    };
    view.not_deleting::<BareMetalHost>().iter().filter_map(|host| marked(host)).collect()
}

/// Whether a text names a day.
fn has_date(text: &str) -> bool {
    let starts = text.char_indices().map(|(at, _)| at);
    starts.filter_map(|at| text.get(at..at + DATE)).any(|part| part.parse::<jiff::civil::Date>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_anywhere_in_the_mark_is_a_date() {
        for (text, expected) in [
            ("", false),
            ("capm3/UnhealthyNode", false),
            ("2026-01-31", true),
            ("fan, since 2026-01-31T10:00:00Z", true),
            ("2026-13-31", false),
            ("Lüfter 2026-01-31", true),
        ] {
            assert_eq!(has_date(text), expected, "{text:?}");
        }
    }
}
