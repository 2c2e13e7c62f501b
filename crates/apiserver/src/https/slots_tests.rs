use super::*;

type Row = (&'static str, &'static [(State, u64)], Choice);

#[test]
fn whoever_matters_least_makes_room_and_only_after_some_time() {
    use State::{Busy, Idle, NoBytesYet, Refused, Unknown};
    const NOW: u64 = 0;
    const SOON: u64 = 250;
    const REST: u64 = 500;
    const LONG: u64 = 1_000;
    // The limit is four, so unauthenticated clients get two places.
    let table: [Row; 15] = [
        ("there is room", &[(Busy, LONG), (Busy, LONG), (Busy, LONG)], Choice::Free),
        ("unauthenticated clients have half", &[(Unknown, NOW), (Busy, LONG)], Choice::Free),
        ("unauthenticated clients have no more", &[(Unknown, NOW), (Unknown, NOW)], Choice::Wait),
        (
            "an unauthenticated client does not take the place of an authenticated one",
            &[(NoBytesYet, NOW), (Unknown, NOW), (Idle, LONG)],
            Choice::Wait,
        ),
        ("a refused one goes at once", &[(NoBytesYet, LONG), (Refused, NOW)], Choice::Evict(2)),
        ("one without bytes goes soon", &[(NoBytesYet, SOON), (Unknown, SOON)], Choice::Evict(1)),
        ("an unknown one goes later", &[(Unknown, SOON), (NoBytesYet, NOW)], Choice::Wait),
        ("an unknown one goes", &[(NoBytesYet, NOW), (Unknown, LONG)], Choice::Evict(2)),
        ("the longest without progress goes", &[(Unknown, LONG), (Unknown, LONG + 1)], Choice::Evict(2)),
        (
            "unauthenticated clients go before authenticated ones",
            &[(Idle, LONG), (Busy, LONG), (Busy, LONG), (Refused, NOW)],
            Choice::Evict(4),
        ),
        (
            "a new unauthenticated client stays",
            &[(Unknown, NOW), (Idle, REST), (Busy, LONG), (Busy, NOW)],
            Choice::Evict(2),
        ),
        (
            "the idle go before the busy",
            &[(Busy, LONG), (Idle, REST), (Idle, LONG), (Busy, LONG)],
            Choice::Evict(3),
        ),
        (
            "somebody who has just come in stays",
            &[(Busy, NOW), (Idle, SOON), (Busy, NOW), (Busy, NOW)],
            Choice::Wait,
        ),
        (
            "who makes no progress goes",
            &[(Busy, NOW), (Busy, LONG), (Busy, LONG + 1), (Busy, NOW)],
            Choice::Evict(3),
        ),
        ("everybody is busy", &[(Busy, NOW), (Busy, NOW), (Busy, SOON), (Busy, 999)], Choice::Wait),
    ];
    for (name, connections, expected) in table {
        let connections = (1..).zip(connections);
        let connections = connections.map(|(id, (state, ms))| (id, *state, Duration::from_millis(*ms)));
        assert_eq!(choose(4, connections), expected, "{name}");
    }
}

fn was_cut(slot: &Slot) -> bool {
    slot.activity.cut.is_cancelled()
}

#[tokio::test(start_paused = true)]
async fn unauthenticated_clients_that_do_not_read_answers_keep_nobody_out() {
    let slots = Slots::new(4);
    let authenticated = slots.take().unwrap();
    authenticated.mark_authenticated();
    let _request = authenticated.begin();
    let mut unauthenticated = Vec::new();
    for _ in 0..100 {
        let client = slots.take().unwrap();
        client.mark_received_bytes();
        client.refuse();
        unauthenticated.push(client);
    }
    assert_eq!(unauthenticated.iter().filter(|slot| !was_cut(slot)).count(), 2);
    assert!(!was_cut(&authenticated));
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_closed_after_some_refusals() {
    let slot = Slots::new(1).take().unwrap();
    (0..REFUSALS).for_each(|_| slot.refuse());
    assert!(!was_cut(&slot));
    slot.refuse();
    assert!(was_cut(&slot));
}

#[tokio::test(start_paused = true)]
async fn who_goes_on_keeps_its_place() {
    let slots = Slots::new(2);
    let (reader, watcher) = (slots.take().unwrap(), slots.take());
    assert!(watcher.is_none(), "one place is for unauthenticated clients");
    reader.mark_authenticated();
    let watcher = slots.take().unwrap();
    watcher.mark_authenticated();
    let _requests = (reader.begin(), watcher.begin());
    assert!(slots.take().is_none(), "both have just begun");
    tokio::time::advance(PROGRESS_TIMEOUT).await;
    reader.progresses();
    assert!(slots.take().is_some());
    assert!(was_cut(&watcher) && !was_cut(&reader));
}

#[tokio::test(start_paused = true)]
async fn a_dropped_connection_leaves_its_place() {
    let slots = Slots::new(1);
    let first = slots.take().unwrap();
    first.mark_authenticated();
    let _request = first.begin();
    assert!(slots.take().is_none());
    drop(first);
    assert!(slots.take().is_some());
}
