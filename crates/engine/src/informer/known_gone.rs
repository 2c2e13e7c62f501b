//! Objects of one kind that are known to be gone, which is more than not being seen.
//!
//! Takes ends that were seen and absences that were proven; gives whether an object is known to be gone. Bounded: what
//! was forgotten must be proven again.

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    time::Duration,
};

use tokio::time::Instant;

use crate::ObjectKey;

/// How many ends are remembered; a decision follows an end within moments.
const REMEMBERED: usize = 4096;

/// How long a proof holds: an object of that name may come at any time.
const PROOF_HOLDS: Duration = Duration::from_secs(60);

/// What is known of objects that are gone.
#[derive(Debug, Default)]
pub(super) struct KnownGone {
    /// Uids of objects whose end was seen, and the order in which they ended.
    uids: BTreeSet<String>,
    order: VecDeque<String>,
    /// Keys of which there was proof that no object has them, and when.
    absent: BTreeMap<ObjectKey, Instant>,
}

impl KnownGone {
    /// The end of the object with that uid was seen.
    pub(super) fn saw_end(&mut self, uid: &str) {
        if uid.is_empty() || !self.uids.insert(uid.to_owned()) {
            return;
        }
        self.order.push_back(uid.to_owned());
        while self.order.len() > REMEMBERED {
            if let Some(oldest) = self.order.pop_front() {
                self.uids.remove(&oldest);
            }
        }
    }

    /// There is proof that no object has this key.
    pub(super) fn proved_absent(&mut self, key: &ObjectKey) {
        self.absent.retain(|_, at| at.elapsed() < PROOF_HOLDS);
        self.absent.insert(key.clone(), Instant::now());
    }

    /// An object of this key and uid is there, by a restored backup even one whose end was seen.
    pub(super) fn saw_alive(&mut self, key: &ObjectKey, uid: &str) {
        self.absent.remove(key);
        if self.uids.remove(uid) {
            self.order.retain(|other| other != uid);
        }
    }

    /// Whether the object is known to be gone.
    pub(super) fn is_known_gone(&self, key: &ObjectKey, uid: Option<&str>) -> bool {
        self.absent.get(key).is_some_and(|at| at.elapsed() < PROOF_HOLDS)
            || uid.is_some_and(|uid| self.uids.contains(uid))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_end_is_known_by_uid_and_a_proof_by_key() {
        let (key, mut known_gone) = (ObjectKey::new("ns", "m"), KnownGone::default());
        assert!(!known_gone.is_known_gone(&key, Some("u")), "not seen is not gone");
        known_gone.saw_end("u");
        assert!(known_gone.is_known_gone(&key, Some("u")));
        assert!(!known_gone.is_known_gone(&key, Some("other")) && !known_gone.is_known_gone(&key, None));
        known_gone.proved_absent(&key);
        assert!(known_gone.is_known_gone(&key, Some("other")) && known_gone.is_known_gone(&key, None));
        tokio::time::advance(PROOF_HOLDS).await;
        assert!(!known_gone.is_known_gone(&key, None), "one may have come since");
        known_gone.proved_absent(&key);
        known_gone.saw_alive(&key, "new");
        assert!(!known_gone.is_known_gone(&key, None), "there is one of this name again");
        assert!(known_gone.is_known_gone(&key, Some("u")), "and the former one is gone all the same");
        known_gone.saw_alive(&key, "u");
        assert!(!known_gone.is_known_gone(&key, Some("u")), "a backup brought it again");
        known_gone.saw_end("");
        assert!(!known_gone.is_known_gone(&key, Some("")), "no uid is no identity");
    }

    #[test]
    fn the_oldest_ends_are_forgotten() {
        let mut known_gone = KnownGone::default();
        for number in 0..=REMEMBERED {
            known_gone.saw_end(&format!("u{number}"));
        }
        let key = ObjectKey::new("ns", "m");
        assert!(!known_gone.is_known_gone(&key, Some("u0")));
        assert!(known_gone.is_known_gone(&key, Some("u1")));
        assert!(known_gone.is_known_gone(&key, Some(&format!("u{REMEMBERED}"))));
    }
}
