//! How much a server may send, and how long it may take.
//!
//! Takes nothing but figures: the limits, the rule that says whether a budget admits more, and the error that names the
//! limit. [`Limits::OWN`] is for the server that whoever started us chose: it is trusted, and only what can never be
//! right is cut. [`Limits::WORKLOAD`] is for servers that a Secret names: their owner may be anybody.

use std::time::Duration;

use thiserror::Error;

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// What one server may send. Sizes are bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Answer to a request for one object.
    pub answer: usize,
    /// Body of a refusal.
    pub error: usize,
    /// One line of a watch.
    pub line: usize,
    /// One object of a list.
    pub item: usize,
    /// What stands in a page of a list beside its objects.
    pub head: usize,
    /// Token that continues a list.
    pub token: usize,
    /// Objects that are asked for in one page.
    pub page_objects: usize,
    /// One page of a list.
    pub page: usize,
    /// Pages of one list.
    pub pages: usize,
    /// All pages of one list.
    pub list: usize,
    /// Objects of one list.
    pub objects: usize,
    /// Objects that cannot be read, in one list or one watch.
    pub unreadable: usize,
    /// Time for the body of one answer or page.
    pub answer_time: Duration,
    /// Time for all pages of one list.
    pub list_time: Duration,
    /// Time from the first byte of a line of a watch to its last.
    pub line_time: Duration,
    /// Time for which one watch stays open.
    pub watch_time: Duration,
    /// A watch is read no faster than that for long, in bytes per second.
    pub watch_rate: usize,
}

impl Limits {
    /// For the server that whoever started us chose.
    pub const OWN: Self = Self {
        answer: usize::MAX,
        error: MIB,
        line: 64 * MIB,
        item: usize::MAX,
        head: usize::MAX,
        token: usize::MAX,
        page_objects: 500,
        page: usize::MAX,
        pages: usize::MAX,
        list: usize::MAX,
        objects: usize::MAX,
        unreadable: usize::MAX,
        answer_time: Duration::MAX,
        list_time: Duration::MAX,
        line_time: Duration::MAX,
        watch_time: Duration::MAX,
        watch_rate: usize::MAX,
    };

    /// For a server that somebody else named. A stored object has at most 1.5 MiB, a Node 10 to 50 KiB, and a cluster
    /// at most a few thousand Nodes.
    pub const WORKLOAD: Self = Self {
        answer: 2 * MIB,
        error: 16 * KIB,
        line: 2 * MIB,
        item: 2 * MIB,
        head: 64 * KIB,
        token: 8 * KIB,
        page_objects: 50,
        page: 32 * MIB,
        pages: 400,
        list: 512 * MIB,
        objects: 20_000,
        unreadable: 100,
        answer_time: Duration::from_secs(30),
        list_time: Duration::from_secs(180),
        line_time: Duration::from_secs(30),
        watch_time: Duration::from_secs(600),
        watch_rate: 4 * MIB,
    };
}

/// How much all servers of a kind may have in memory together, and which part of what is free one may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PoolLimits {
    /// For all.
    pub total: usize,
    /// One gets at most what is free, divided by this: something is left for the next, however many come.
    pub divisor: usize,
}

impl PoolLimits {
    /// Bytes that were received and are not parsed yet. Buffers may have twice the room of what is in them.
    pub const RECEIVED: Self = Self { total: 24 * MIB, divisor: 8 };

    /// Objects that are kept. While a list replaces what is known, both are there for a moment.
    pub const KEPT: Self = Self { total: 40 * MIB, divisor: 4 };

    /// The most that one may hold at present.
    fn share(self, held: usize, used: usize) -> usize {
        let by_others = used.saturating_sub(held);
        self.total.saturating_sub(by_others) / self.divisor.max(1)
    }
}

/// Whether one that holds `held`, of `used` by all, may hold `wanted`. Less is always admitted.
pub(crate) fn admit(pool: PoolLimits, held: usize, wanted: usize, used: usize) -> Result<(), usize> {
    let share = pool.share(held, used);
    if wanted <= held || wanted <= share { Ok(()) } else { Err(share) }
}

/// A server sends more, or takes longer, than it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum LimitExceeded {
    /// Too many bytes.
    #[error("{what} has more than {limit} bytes")]
    Bytes {
        /// Of what.
        what: &'static str,
        /// How many may be.
        limit: usize,
    },
    /// Too many things.
    #[error("there are more than {limit} {what}")]
    Count {
        /// Of what.
        what: &'static str,
        /// How many may be.
        limit: usize,
    },
    /// Too slow.
    #[error("{what} takes longer than {} s", .limit.as_secs_f32())]
    Time {
        /// What.
        what: &'static str,
        /// How long it may take.
        limit: Duration,
    },
    /// No room is left of what all workload clusters share.
    #[error("{what} need more than a fair share of the {total} bytes for all clusters")]
    Share {
        /// What would be held.
        what: &'static str,
        /// What the cluster may hold at present. It changes all the time, and is not printed so that the text does not.
        share: usize,
        /// What all may hold.
        total: usize,
    },
}

/// Checks a size or a number.
pub(crate) fn within(size: usize, limit: usize, exceeded: LimitExceeded) -> Result<(), LimitExceeded> {
    if size <= limit { Ok(()) } else { Err(exceeded) }
}

/// Checks a number of bytes.
pub(crate) fn bytes_within(what: &'static str, size: usize, limit: usize) -> Result<(), LimitExceeded> {
    within(size, limit, LimitExceeded::Bytes { what, limit })
}

/// Checks a number of things.
pub(crate) fn count_within(what: &'static str, number: usize, limit: usize) -> Result<(), LimitExceeded> {
    within(number, limit, LimitExceeded::Count { what, limit })
}

#[cfg(test)]
mod tests {
    use super::*;

    const POOL: PoolLimits = PoolLimits { total: 1000, divisor: 4 };

    #[test]
    fn one_gets_a_part_of_what_is_free_and_keeps_what_it_has() {
        // (held, wanted, used by all, the share in the error if it is refused)
        let table = [
            (0, 250, 0, Ok(())),
            (0, 251, 0, Err(250)),
            (100, 250, 100, Ok(())),
            (100, 251, 100, Err(250)),
            (0, 100, 600, Ok(())),
            (0, 101, 600, Err(100)),
            (0, 1, 1000, Err(0)),
            (0, 0, 1000, Ok(())),
            // What is held stays, whatever the others took since.
            (250, 250, 1000, Ok(())),
            (250, 100, 1000, Ok(())),
            (250, 251, 1000, Err(62)),
        ];
        for (held, wanted, used, expected) in table {
            assert_eq!(admit(POOL, held, wanted, used), expected, "{held} of {used}, wants {wanted}");
        }
    }

    /// As many as there are of those that take all they can get, the next one gets something.
    #[test]
    fn many_that_take_all_they_can_leave_something_for_the_next() {
        for (pool, node) in [(PoolLimits::KEPT, 1500), (PoolLimits::RECEIVED, 64 * KIB)] {
            let mut used = 0;
            for number in 0..20 {
                let share = pool.share(0, used);
                assert!(share >= node, "{number}: {share} is left");
                assert_eq!(admit(pool, 0, share, used), Ok(()));
                used += share;
                assert!(used <= pool.total);
            }
        }
    }

    #[test]
    fn what_is_exceeded_is_reported_with_its_limit() {
        let table: [(Result<(), LimitExceeded>, &str); 4] = [
            (bytes_within("a line of the watch", 11, 10), "a line of the watch has more than 10 bytes"),
            (count_within("pages of the list", 11, 10), "there are more than 10 pages of the list"),
            (
                Err(LimitExceeded::Time { what: "the answer", limit: Duration::from_secs(30) }),
                "the answer takes longer than 30 s",
            ),
            (
                Err(LimitExceeded::Share { what: "its Nodes", share: 5, total: 10 }),
                "its Nodes need more than a fair share of the 10 bytes for all clusters",
            ),
        ];
        for (result, expected) in table {
            assert_eq!(result.unwrap_err().to_string(), expected);
        }
        assert!(bytes_within("a line of the watch", 10, 10).is_ok());
        assert!(count_within("pages of the list", 10, 10).is_ok());
    }

    #[test]
    fn a_stored_object_of_the_largest_size_fits() {
        let largest = 3 * MIB / 2 + KIB;
        let limits = Limits::WORKLOAD;
        assert!(largest <= limits.item && largest <= limits.line && largest <= limits.answer);
        assert!(
            limits.item <= PoolLimits::RECEIVED.share(0, 0),
            "one alone may hold an item of the largest size"
        );
    }
}
