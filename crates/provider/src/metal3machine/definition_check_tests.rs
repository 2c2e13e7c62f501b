use std::cell::Cell;

use super::*;

/// A server that counts how often it is asked.
#[derive(Default)]
struct Server {
    asked: Cell<usize>,
    is_deleting: Cell<bool>,
}

impl Server {
    /// Whether the definition is being deleted, for a machine that sees these deletions; nothing if it has to wait.
    async fn is_deleting_for(&self, check: &DefinitionCheck, uid: &str, seen: &[&str]) -> Option<bool> {
        self.is_deleting_for_deletion(
            check,
            &deletion(uid, 0),
            seen.iter().map(|uid| deletion(uid, 0)).collect(),
        )
        .await
    }

    async fn is_deleting_for_deletion(
        &self,
        check: &DefinitionCheck,
        deletion: &Deletion,
        seen: BTreeSet<Deletion>,
    ) -> Option<bool> {
        let ask = || async {
            self.asked.set(self.asked.get() + 1);
            tokio::time::sleep(Duration::from_millis(5)).await;
            Ok(self.is_deleting.get())
        };
        match check.answer("n", Some(deletion), || seen, ask).await {
            Ok(is_deleting) => Some(is_deleting),
            Err(Outcome::After(rest)) => {
                assert!(rest <= PACE);
                None
            }
            Err(other) => panic!("{other:?}"),
        }
    }
}

/// The deletion of a machine at a second.
fn deletion(uid: &str, second: i64) -> Deletion {
    (uid.to_owned(), Timestamp::from_second(second).unwrap())
}

#[tokio::test(start_paused = true)]
async fn machines_whose_deletion_was_seen_before_the_question_share_its_answer() {
    let (check, server) = (DefinitionCheck::default(), Server::default());
    let learned = tokio::join!(
        server.is_deleting_for(&check, "a", &["a", "b"]),
        server.is_deleting_for(&check, "b", &["a", "b"]),
        server.is_deleting_for(&check, "c", &["a", "b", "c"]),
    );
    assert_eq!(learned, (Some(false), Some(false), None), "the deletion of c was seen after the question");
    assert_eq!(server.asked.get(), 1);
    tokio::time::advance(PACE).await;
    assert_eq!(server.is_deleting_for(&check, "c", &["b", "c"]).await, Some(false));
    assert_eq!(server.is_deleting_for(&check, "b", &["b", "c"]).await, Some(false), "however long it takes");
    assert_eq!(server.asked.get(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_is_made_again_under_a_name_is_another_one() {
    let (check, server) = (DefinitionCheck::default(), Server::default());
    assert_eq!(server.is_deleting_for(&check, "first", &["first"]).await, Some(false));
    server.is_deleting.set(true);
    tokio::time::advance(PACE).await;
    assert_eq!(
        server.is_deleting_for(&check, "second", &["second"]).await,
        Some(true),
        "it is only deleted with the definition"
    );
    tokio::time::advance(PACE).await;
    assert_eq!(server.is_deleting_for(&check, "second", &["second"]).await, Some(true), "which is not kept");
    assert_eq!(server.asked.get(), 3);
}

#[tokio::test(start_paused = true)]
async fn a_machine_that_a_backup_brings_back_is_asked_for_when_it_is_deleted_again() {
    let (check, server) = (DefinitionCheck::default(), Server::default());
    assert_eq!(server.is_deleting_for(&check, "a", &["a"]).await, Some(false));
    server.is_deleting.set(true);
    tokio::time::advance(PACE).await;
    let again = deletion("a", 60);
    assert_eq!(
        server.is_deleting_for_deletion(&check, &again, BTreeSet::from([again.clone()])).await,
        Some(true)
    );
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_failed_is_not_shared() {
    let check = DefinitionCheck::default();
    let seen = || BTreeSet::from([deletion("a", 0)]);
    let refused = || ApiError::Refused { code: 503, reason: "Down".into(), message: "down".into() };
    let down = || async { Err(refused()) };
    let failed = check.answer("n", Some(&deletion("a", 0)), seen, down).await;
    assert!(matches!(failed, Err(Outcome::Failed(_))), "{failed:?}");
    tokio::time::advance(PACE).await;
    let server = Server::default();
    assert_eq!(server.is_deleting_for(&check, "a", &["a"]).await, Some(false));
    assert_eq!(server.asked.get(), 1);
}
