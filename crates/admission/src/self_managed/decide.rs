//! What is to be done with the certificates now.
//!
//! A new authority is trusted before it is used, and an old one as long as it may be used: caBundle contains both
//! while replicas still serve what the old one signed. [`SETTLE`] lies between the steps, much longer than a replica
//! takes to read the Secret and to tell the API server.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

const DAY: SignedDuration = SignedDuration::from_hours(24);
/// How long an authority is valid.
pub(super) const AUTHORITY_LIFE: SignedDuration = SignedDuration::from_hours(24 * 730);
/// How long a serving certificate is valid; the next one is made after two thirds of it. An authority that is valid for
/// less makes room for another.
pub(super) const SERVING_LIFE: SignedDuration = SignedDuration::from_hours(24 * 90);
/// Certificates begin to be valid this long before they are made, for clocks that go differently.
pub(super) const BACKDATED: SignedDuration = SignedDuration::from_hours(1);
/// Between two steps of a rotation.
const SETTLE: SignedDuration = SignedDuration::from_hours(1);

/// When a certificate is valid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// The first moment.
    pub from: Timestamp,
    /// The last moment.
    pub to: Timestamp,
}

impl Span {
    fn made(self) -> Timestamp {
        self.from.saturating_add(BACKDATED).unwrap_or(Timestamp::MAX)
    }

    fn has_settled(self, now: Timestamp) -> bool {
        now.duration_since(self.made()) >= SETTLE
    }

    fn left(self, now: Timestamp) -> SignedDuration {
        self.to.duration_since(now)
    }
}

/// What is known of certificates that fit together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// The authority that signs, whose key is there.
    pub signer: Span,
    /// How many other authorities are trusted.
    pub others: usize,
    /// The certificate that is served.
    pub serving: Span,
    /// Whether the signer has signed it; otherwise one of the others has.
    pub is_of_signer: bool,
    /// Names for which it is good.
    pub names: BTreeSet<String>,
}

/// What is to be done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Nothing.
    Keep,
    /// Make an authority and a certificate: there are none that can be used.
    Start,
    /// Make an authority that signs from now on, and trust it beside the one before.
    AddAuthority,
    /// Make a certificate, signed by the authority that signs.
    Reissue,
    /// Trust only the authority that signs.
    ForgetOthers,
}

/// Decides by what is there (none if nothing can be used), the names that are needed and the time.
pub fn decide(facts: Option<&Facts>, names: &[String], now: Timestamp) -> Step {
    let Some(facts) = facts else { return Step::Start };
    let Facts { signer, serving, .. } = *facts;
    let is_named = names.iter().all(|name| facts.names.contains(name));
    if signer.left(now) <= DAY {
        Step::Start
    } else if !is_named || serving.left(now) <= DAY {
        // It cannot wait until the authority has settled: without it no review is answered.
        Step::Reissue
    } else if signer.left(now) < SERVING_LIFE {
        Step::AddAuthority
    } else if !facts.is_of_signer {
        if signer.has_settled(now) { Step::Reissue } else { Step::Keep }
    } else if facts.others > 0 {
        if serving.has_settled(now) { Step::ForgetOthers } else { Step::Keep }
    } else if serving.left(now) < SERVING_LIFE / 3 {
        Step::Reissue
    } else {
        Step::Keep
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "s.n.svc";

    fn now() -> Timestamp {
        Timestamp::from_second(1_800_000_000).unwrap()
    }

    /// A certificate that was made so many minutes ago and ends in so many days.
    fn span(minutes_ago: i64, days_left: i64) -> Span {
        let made = now() - SignedDuration::from_mins(minutes_ago);
        Span { from: made - BACKDATED, to: now() + SignedDuration::from_hours(24 * days_left) }
    }

    fn facts() -> Facts {
        Facts {
            signer: span(1_000_000, 700),
            others: 0,
            serving: span(1_000, 80),
            is_of_signer: true,
            names: [NAME.to_owned()].into(),
        }
    }

    #[test]
    fn each_state_has_its_step() {
        let table: [(&str, Step, Option<Facts>); 15] = [
            ("nothing is there", Step::Start, None),
            ("all is well", Step::Keep, Some(facts())),
            ("the certificate has a third left", Step::Keep, Some(Facts { serving: span(1, 30), ..facts() })),
            ("less than a third", Step::Reissue, Some(Facts { serving: span(1, 29), ..facts() })),
            ("it has ended", Step::Reissue, Some(Facts { serving: span(1, -5), ..facts() })),
            ("another name", Step::Reissue, Some(Facts { names: ["x".to_owned()].into(), ..facts() })),
            (
                "the authority lives longer than a certificate",
                Step::Keep,
                Some(Facts { signer: span(1, 90), ..facts() }),
            ),
            ("it does not", Step::AddAuthority, Some(Facts { signer: span(1, 89), ..facts() })),
            (
                "both are due: the authority comes first",
                Step::AddAuthority,
                Some(Facts { signer: span(1, 89), serving: span(1, 20), ..facts() }),
            ),
            ("the authority has ended", Step::Start, Some(Facts { signer: span(1, 0), ..facts() })),
            (
                "a new authority is not yet used",
                Step::Keep,
                Some(Facts { signer: span(59, 730), others: 1, is_of_signer: false, ..facts() }),
            ),
            (
                "and then it is",
                Step::Reissue,
                Some(Facts { signer: span(60, 730), others: 1, is_of_signer: false, ..facts() }),
            ),
            (
                "unless the certificate cannot wait",
                Step::Reissue,
                Some(Facts {
                    signer: span(1, 730),
                    others: 1,
                    is_of_signer: false,
                    serving: span(1, 1),
                    ..facts()
                }),
            ),
            (
                "the old authority stays while others may serve its certificate",
                Step::Keep,
                Some(Facts { signer: span(120, 730), others: 1, serving: span(59, 90), ..facts() }),
            ),
            (
                "and then goes",
                Step::ForgetOthers,
                Some(Facts { signer: span(120, 730), others: 1, serving: span(60, 90), ..facts() }),
            ),
        ];
        for (what, step, facts) in table {
            assert_eq!(decide(facts.as_ref(), &[NAME.to_owned()], now()), step, "{what}");
        }
    }
}
