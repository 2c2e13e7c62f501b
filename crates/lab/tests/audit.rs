//! `capm3 audit` beside controllers at work: it proposes nothing for what they are just doing.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

use capm3_lab::sweep::{Point, Scenario, Sweep};

/// Points that are tried here; `cargo xtask sweep` tries every one, and judges the same.
const POINTS: u64 = 6;

/// The provider dies at points all over a story, and is away for a while at half of them.
#[test]
fn an_audit_beside_a_provider_that_crashes_never_proposes_to_repair_what_it_is_doing() {
    let sweep = Sweep::new(Scenario::RollingUpgrade, 1).unwrap();
    let undisturbed = sweep.undisturbed().unwrap();
    let last = 2 * undisturbed.writes;
    assert!(last > 100, "{last}");
    let outcomes: Vec<_> = (0..POINTS)
        .map(|at| sweep.run(Point(1 + at * (last - 1) / (POINTS - 1)), &undisturbed).unwrap())
        .collect();
    for outcome in outcomes.iter().chain([&undisturbed]) {
        assert_eq!(outcome.audited.findings, Vec::<String>::new(), "{:?}", outcome.victim);
        assert!(outcome.audited.looks > 3, "{} looks", outcome.audited.looks);
    }
    let held_back: usize = outcomes.iter().map(|outcome| outcome.audited.held_back).sum();
    assert!(held_back > 0, "without the grace there would have been something to tell");
}
