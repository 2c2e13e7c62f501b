//! Whether the definition of Metal3Machines stays, asked once for machines that go together.
//!
//! Takes when the deletion of a machine was first seen, and when the server was last asked and said that the definition stays.
//! An answer that was asked for after a deletion was seen tells that this deletion has another reason, however old it is: the
//! deletion of a definition comes before that of its objects and is never taken back. Must not keep any other answer.

use std::collections::BTreeMap;

use capm3_engine::ObjectKey;
use parking_lot::Mutex;
use tokio::time::Instant;

/// What is known of deletions and of the definition.
#[derive(Debug, Default)]
pub(crate) struct DefinitionCheck {
    /// Machines that go, and since when that is known.
    going: Mutex<BTreeMap<ObjectKey, Instant>>,
    /// When the server was asked that said last that the definition stays.
    stays: Mutex<Option<Instant>>,
}

impl DefinitionCheck {
    /// A machine was seen: whether it goes.
    pub(super) fn saw(&self, machine: ObjectKey, goes: bool) {
        let mut going = self.going.lock();
        match goes {
            true => {
                going.entry(machine).or_insert_with(Instant::now);
            }
            false => {
                going.remove(&machine);
            }
        }
    }

    /// Whether the definition is known to have stayed after the deletion of the machine was seen.
    pub(super) fn has_stayed(&self, machine: &ObjectKey) -> bool {
        let seen = self.going.lock().get(machine).copied();
        let asked = *self.stays.lock();
        seen.zip(asked).is_some_and(|(seen, asked)| asked > seen)
    }

    /// The server, asked at that time, said that the definition stays.
    pub(super) fn stays(&self, asked: Instant) {
        let mut stays = self.stays.lock();
        *stays = (*stays).max(Some(asked));
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_answer_serves_the_machines_whose_deletion_was_seen_before_the_question() {
        let check = DefinitionCheck::default();
        let [a, b, c] = ["a", "b", "c"].map(|name| ObjectKey::new("n", name));
        let pass = || tokio::time::advance(Duration::from_millis(1));
        check.saw(a.clone(), true);
        assert!(!check.has_stayed(&a), "nobody was asked");
        pass().await;
        let asked = Instant::now();
        check.saw(b.clone(), true);
        pass().await;
        check.stays(asked);
        check.saw(a.clone(), true);
        assert!(check.has_stayed(&a), "seen before, and again afterwards");
        assert!(!check.has_stayed(&b), "seen in the moment of the question");
        assert!(!check.has_stayed(&c), "never seen");
        check.saw(a.clone(), false);
        check.saw(a.clone(), true);
        assert!(!check.has_stayed(&a), "a later machine of the name");
        check.stays(asked - Duration::from_millis(1));
        check.saw(c.clone(), true);
        pass().await;
        check.stays(Instant::now());
        assert!(check.has_stayed(&b) && check.has_stayed(&c));
    }
}
