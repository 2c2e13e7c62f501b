//! Each contradiction is found by its rule and no other; a healthy fleet has none.

use std::collections::BTreeSet;

use capm3_provider::audit::{Finding, Inventory, Options, RULES, Severity, audit, before_move};
use jiff::SignedDuration;
use serde_json::json;

use crate::{
    planted::PLANTED,
    site::{Site, options},
};

/// Room for every contradiction, each at a machine of its own.
const MACHINES: usize = 80;

fn told(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(|finding| format!("{} {}", finding.code, finding.object)).collect()
}

#[test]
fn each_planted_contradiction_is_found_and_named_and_nothing_else_is() {
    let healthy = Site::healthy(4);
    for planted in PLANTED {
        let mut site = healthy.clone();
        planted.plant(&mut site, 2);
        let report = site.judged_by(RULES);
        assert_eq!(
            told(&report.findings),
            [format!("{} {}", planted.code, planted.names(2))],
            "{:#?}",
            report.findings
        );
        let finding = &report.findings[0];
        assert!(!finding.evidence.is_empty() && !finding.repair.text.is_empty(), "{finding:#?}");
    }
}

#[test]
fn every_rule_has_a_contradiction_that_only_it_finds() {
    let healthy = Site::healthy(4);
    let codes: BTreeSet<&str> = PLANTED.iter().map(|planted| planted.code).collect();
    assert!(RULES.len() >= 25 && RULES.iter().all(|rule| codes.contains(rule.code)));
    for planted in PLANTED {
        let mut site = healthy.clone();
        planted.plant(&mut site, 2);
        let others = RULES.iter().filter(|rule| rule.code != planted.code);
        assert_eq!(told(&site.judged_by(others).findings), [""; 0], "{} is not disabled", planted.code);
    }
}

#[test]
fn all_planted_contradictions_at_once_are_each_found() {
    let mut site = Site::healthy(MACHINES);
    let mut expected = BTreeSet::new();
    for (at, planted) in PLANTED.iter().enumerate() {
        planted.plant(&mut site, at + 2);
        expected.insert(format!("{} {}", planted.code, planted.names(at + 2)));
    }
    assert!(PLANTED.len() + 2 < MACHINES);
    let found: BTreeSet<String> = told(&site.judged_by(RULES).findings).into_iter().collect();
    assert_eq!(found, expected);
}

#[test]
fn a_healthy_fleet_of_5_000_machines_has_no_finding() {
    let inventory = Site::healthy(5_000).inventory();
    assert!(inventory.len() > 50_000);
    let report = audit(&inventory, &options());
    assert_eq!((told(&report.findings), report.held_back), (Vec::new(), 0));
}

#[test]
fn an_absence_counts_only_where_all_objects_of_the_kind_are_known() {
    let mut site = Site::healthy(3);
    PLANTED[0].plant(&mut site, 2);
    let mut inventory = Inventory::default();
    for object in &site.0 {
        inventory.add(object).unwrap();
    }
    assert_eq!(told(&audit(&inventory, &options()).findings), [""; 0], "nothing is known to be all there is");
}

#[test]
fn objects_that_changed_lately_are_left_to_the_controllers() {
    let mut site = Site::healthy(3);
    PLANTED[0].plant(&mut site, 2);
    let changed = |minute: u8| json!({"metadata": {"managedFields": [{"manager": "m", "time": format!("2026-05-31T23:{minute}:00Z")}]}});
    let grace = Options { grace: SignedDuration::from_mins(10), ..options() };
    let judged = |site: &Site, earlier: &Site| {
        let mut inventory = site.inventory();
        inventory.compare_with(&earlier.inventory());
        let report = audit(&inventory, &grace);
        (report.findings.iter().map(|finding| finding.settled).collect::<Vec<_>>(), report.held_back)
    };
    for (minute, expected) in [(49, (vec![true], 0)), (51, (vec![], 1))] {
        site.change("BareMetalHost", "h-2", changed(minute));
        assert_eq!(judged(&site, &site), expected, "{minute}");
    }
    site.change("BareMetalHost", "h-2", changed(49));
    let one_look = audit(&site.inventory(), &grace).findings;
    assert_eq!(
        one_look.iter().map(|finding| finding.settled).collect::<Vec<_>>(),
        [false],
        "gone since when?"
    );
    let mut earlier = site.clone();
    earlier.add("infrastructure.cluster.x-k8s.io/v1beta2", "Metal3Machine", "m-2", json!({}), json!({}));
    assert_eq!(judged(&site, &earlier), (vec![], 1), "the machine went just now");
    site.change("BareMetalHost", "h-2", json!({"metadata": {"managedFields": null}}));
    assert_eq!(judged(&site, &site), (vec![true], 0), "nothing changed between both looks");
    let mut later = site.clone();
    later.change("BareMetalHost", "h-2", json!({"metadata": {"resourceVersion": "2"}}));
    assert_eq!(judged(&later, &site), (vec![false], 0), "the host changed");
}

#[test]
fn the_worst_comes_first() {
    let mut site = Site::healthy(MACHINES);
    for (at, planted) in PLANTED.iter().enumerate() {
        planted.plant(&mut site, at + 2);
    }
    let report = site.judged_by(RULES);
    assert!(report.findings.is_sorted_by_key(|finding| (finding.severity, finding.code)));
    let has = |severity| report.findings.iter().any(|finding| finding.severity == severity);
    assert!([Severity::Error, Severity::Warning, Severity::Info].into_iter().all(has));
    let before = before_move(&site.inventory(), &options());
    assert!(
        before.findings.iter().all(|it| it.severity == Severity::Error || it.code.starts_with("CAPM3-M"))
    );
}

#[test]
fn what_people_write_without_uid_and_status_and_what_they_reserve_is_no_contradiction() {
    let mut site = Site::healthy(2);
    site.change("Machine", "m-1", json!({"metadata": {"uid": null}}));
    site.change("Metal3DataTemplate", "t", json!({"status": null}));
    let reserved = json!({"spec": {"preAllocations": {"router": "10.0.0.99"}}, "status": {"indexes": {"router": "10.0.0.99"}}});
    site.change("IPPool", "p", reserved);
    assert_eq!(told(&site.judged_by(RULES).findings), [""; 0]);
    site.change("IPPool", "p", json!({"status": null}));
    assert_eq!(told(&site.judged_by(RULES).findings), [""; 0]);
}
