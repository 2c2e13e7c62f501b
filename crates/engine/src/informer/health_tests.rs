//! Health of a kind over time.

use super::*;

fn health(is_required: bool) -> KindHealth {
    let kind =
        ResourceKind { group: "g".into(), version: "v1".into(), kind: "K".into(), plural: "ks".into() };
    KindHealth::new(kind, is_required)
}

fn refused(code: u16) -> ApiError {
    ApiError::Refused { code, reason: "R".into(), message: "m".into() }
}

fn not_served() -> ApiError {
    ApiError::NotServed { message: "404 page not found".into() }
}

fn synced() -> KindHealth {
    let health = health(true);
    health.listed();
    health.followed();
    health
}

async fn after(seconds: u64) {
    tokio::time::advance(Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_is_denied_is_unhealthy_at_once_and_one_that_fails_after_an_outage() {
    let no_answer = || ApiError::transport("broken");
    for (error, is_denied) in [
        (not_served(), true),
        (refused(401), true),
        (refused(403), true),
        (refused(500), false),
        (no_answer(), false),
    ] {
        let health = synced();
        health.unfollowed(None);
        for _ in 0..44 {
            health.failed(ReadVerb::List, &error);
            assert_eq!(health.state().is_healthy(), !is_denied, "{error}");
            after(1).await;
        }
        after(1).await;
        health.failed(ReadVerb::List, &error);
        assert!(!health.state().is_healthy(), "{error}");
        health.listed();
        assert!(!health.state().is_healthy(), "{error}: it may still not be watched");
        health.followed();
        assert_eq!(health.state(), KindState::Synced);
    }
}

#[tokio::test(start_paused = true)]
async fn a_kind_that_was_never_listed_is_unhealthy_from_the_first_failure() {
    let health = health(true);
    assert_eq!(health.unready().unwrap(), "K g/v1 is not synced yet");
    health.failed(ReadVerb::List, &refused(500));
    assert_eq!(health.unready().unwrap(), "K g/v1 cannot be read (500 R: m)");
}

/// What happened since the last list, how many seconds ago the server last sent anything, and whether that is healthy.
#[tokio::test(start_paused = true)]
async fn a_server_that_sends_nothing_for_45_seconds_is_an_outage() {
    type Event = fn(&KindHealth);
    let open: Event = |_| {};
    let broke: Event = |health| health.unfollowed(Some(Instant::now() - Duration::from_secs(25)));
    let ended: Event = |health| health.unfollowed(None);
    let table = [
        (open, 1000, 0, true),
        (open, 1000, 44, true),
        (open, 1000, 45, false),
        (broke, 19, 25 + 19, true),
        (broke, 20, 25 + 20, false),
        (broke, 20, 0, false),
        (ended, 44, 0, true),
        (ended, 45, 0, false),
    ];
    for (row, (event, seconds, stalled, is_healthy)) in table.into_iter().enumerate() {
        let health = synced();
        after(100).await;
        event(&health);
        after(seconds).await;
        health.judge(Instant::now() - Duration::from_secs(stalled));
        assert_eq!(health.state().is_healthy(), is_healthy, "row {row}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stall_ends_with_the_next_bytes_on_an_open_watch_and_else_with_a_new_watch() {
    let health = synced();
    let quiet = Instant::now();
    after(45).await;
    health.judge(quiet);
    let expected = "K g/v1 cannot be read (the API server has not answered for 45 s)";
    assert_eq!(health.unready().unwrap(), expected);
    assert_eq!(health.synced_for(), None);
    health.judge(Instant::now());
    assert_eq!(health.unready(), None);
    assert_eq!(health.synced_for(), Some(Duration::ZERO));
    health.unfollowed(None);
    health.failed(ReadVerb::List, &ApiError::transport("no route"));
    after(45).await;
    health.judge(Instant::now());
    let expected = "K g/v1 cannot be read (no answer from the API server: no route)";
    assert_eq!(health.unready().unwrap(), expected, "others of the server's connections are alive");
    health.judge(Instant::now());
    assert!(health.unready().is_some());
    health.listed();
    health.followed();
    assert_eq!(health.unready(), None);
}

#[tokio::test(start_paused = true)]
async fn the_time_of_health_starts_again_after_an_outage_and_not_after_a_relist() {
    let health = health(true);
    assert_eq!(health.synced_for(), None, "never listed");
    health.listed();
    health.followed();
    after(40).await;
    health.unfollowed(None);
    health.failed(ReadVerb::List, &refused(500));
    health.listed();
    health.followed();
    assert_eq!(health.synced_for(), Some(Duration::from_secs(40)));
    health.failed(ReadVerb::List, &not_served());
    assert_eq!(health.synced_for(), None);
    health.listed();
    health.followed();
    assert_eq!(health.synced_for(), Some(Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn an_optional_kind_is_needed_only_once_it_was_served() {
    let optional = health(false);
    assert!(optional.unready().is_some(), "it is not known yet whether it is installed");
    optional.not_installed();
    assert!(optional.state().is_healthy() && !optional.is_needed());
    assert_eq!(optional.synced_for(), None, "what is not installed proves nothing");
    after(1000).await;
    optional.failed(ReadVerb::List, &refused(500));
    optional.judge(Instant::now());
    assert_eq!(
        optional.state(),
        KindState::NotInstalled,
        "problems of the server are reported by other kinds"
    );
    optional.failed(ReadVerb::List, &refused(403));
    assert!(!optional.state().is_healthy());
    assert_eq!(optional.unready(), None, "nobody needs it yet");
    optional.followed();
    optional.failed(ReadVerb::List, &not_served());
    assert!(optional.is_needed());
    assert_eq!(optional.unready().unwrap(), "K g/v1 is not served (404 page not found)");
    assert!(health(true).is_needed());
}

#[test]
fn a_line_reads_well_whatever_the_server_answers() {
    let bare = |code| ApiError::Refused { code, reason: String::new(), message: String::new() };
    let refused_connection = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
    let layered = kube::Error::Service(Box::new(refused_connection));
    let long = ApiError::Refused { code: 502, reason: String::new(), message: "x".repeat(5000) };
    let table = [
        (not_served(), "is not served (404 page not found)"),
        (ApiError::NotServed { message: String::new() }, "is not served (404 without a message)"),
        (refused(403), "may not be listed (403 R: m)"),
        (bare(403), "may not be listed (403)"),
        (refused(401), "cannot be read: the API server does not accept the credentials (401 R: m)"),
        (bare(503), "cannot be read (503)"),
        (ApiError::transport(layered), "cannot be read (no answer from the API server: connection refused)"),
    ];
    for (error, expected) in table {
        assert_eq!(KindState::of(ReadVerb::List, &error).to_string(), expected);
    }
    assert!(KindState::of(ReadVerb::List, &long).to_string().len() < 2 * LONGEST_CAUSE);
}

#[test]
fn a_missing_right_is_named_by_verb_resource_and_group() {
    let line = |group: &str, asked: ReadVerb| {
        let kind =
            ResourceKind { group: group.into(), version: "v1".into(), kind: "K".into(), plural: "ks".into() };
        let health = KindHealth::new(kind, true);
        health.failed(asked, &refused(403));
        health.unready().unwrap()
    };
    let (list, watch) = (line("g", ReadVerb::List), line("", ReadVerb::Watch));
    assert_eq!(list, "K g/v1 may not be listed (403 R: m): grant list on ks in API group g");
    assert_eq!(watch, "K v1 may not be watched (403 R: m): grant watch on ks in the core API group");
}
