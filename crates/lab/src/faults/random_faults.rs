//! Random faults from a seed: requests and replies are lost, refused or late, one call in so many.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use capm3_engine::rng::Rng;

use super::{Call, Fault, Faults, Refusal};

/// Faults of a call that is not a watch; those of the second half need a write.
const CALL_FAULTS: [Fault; 7] = [
    Fault::Refused(Refusal::Internal),
    Fault::Refused(Refusal::Unavailable),
    Fault::Refused(Refusal::TooMany),
    Fault::RequestLost,
    Fault::ReplyLost,
    Fault::ReplyLost,
    Fault::Refused(Refusal::Conflict),
];

/// Faults of a watch.
const WATCH_FAULTS: [Fault; 4] = [
    Fault::Closed,
    Fault::Refused(Refusal::Expired),
    Fault::Refused(Refusal::Unavailable),
    Fault::Late(Duration::from_secs(3)),
];

/// One call of `every`, on average, goes wrong until [`Self::over`].
#[derive(Debug)]
pub struct RandomFaults {
    every: u64,
    rng: Rng,
    over: AtomicBool,
    hits: AtomicU64,
    replies_lost: AtomicU64,
}

impl RandomFaults {
    /// One call of `every` goes wrong.
    pub fn new(seed: u64, every: u64) -> Self {
        let (hits, replies_lost) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { every, rng: Rng::seeded(seed), over: AtomicBool::new(false), hits, replies_lost }
    }

    /// From now on nothing goes wrong.
    pub fn over(&self) {
        self.over.store(true, Ordering::SeqCst);
    }

    /// From now on calls go wrong again.
    pub fn resume(&self) {
        self.over.store(false, Ordering::SeqCst);
    }

    /// How many calls went wrong.
    pub fn hits(&self) -> u64 {
        self.hits.load(Ordering::SeqCst)
    }

    /// Of how many of them the server did what was asked, and the answer was lost.
    pub fn replies_lost(&self) -> u64 {
        self.replies_lost.load(Ordering::SeqCst)
    }
}

impl Faults for RandomFaults {
    fn apply_fault(&self, call: &Call) -> Fault {
        if self.over.load(Ordering::SeqCst) || self.rng.below(self.every) != 0 {
            return Fault::None;
        }
        self.hits.fetch_add(1, Ordering::SeqCst);
        let pick = |from: &[Fault]| {
            let at = usize::try_from(self.rng.below(from.len() as u64)).unwrap_or(0);
            from.get(at).copied().unwrap_or(Fault::None)
        };
        let fault = match (call.is_watch(), call.is_write()) {
            (true, _) => pick(&WATCH_FAULTS),
            (false, true) => pick(&CALL_FAULTS),
            // A read without an answer is the same whether it was asked or not, and never conflicts.
            (false, false) => pick(CALL_FAULTS.split_at(4).0),
        };
        self.replies_lost.fetch_add((fault == Fault::ReplyLost).into(), Ordering::SeqCst);
        fault
    }
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::*;

    #[test]
    fn about_one_call_of_ten_goes_wrong_the_same_way_for_the_same_seed() {
        let call = Call { method: Method::POST, path: "/x".to_owned() };
        let run = |seed| {
            let random = RandomFaults::new(seed, 10);
            let faults: Vec<Fault> = (0..1000).map(|_| random.apply_fault(&call)).collect();
            (random.hits(), faults)
        };
        let (hits, faults) = run(1);
        assert!((70..130).contains(&hits), "{hits}");
        assert_eq!(run(1).1, faults);
        assert_ne!(run(2).1, faults);
        assert!(faults.contains(&Fault::ReplyLost) && faults.contains(&Fault::RequestLost));
        let random = RandomFaults::new(1, 10);
        let lost = (0..1000).filter(|_| random.apply_fault(&call) == Fault::ReplyLost).count();
        assert_eq!(random.replies_lost(), lost as u64);
    }

    #[test]
    fn nothing_goes_wrong_after_the_end() {
        let faults = RandomFaults::new(1, 1);
        let call = Call { method: Method::GET, path: "/x?watch=1".to_owned() };
        assert_ne!(faults.apply_fault(&call), Fault::None);
        faults.over();
        assert_eq!(faults.apply_fault(&call), Fault::None);
    }
}
