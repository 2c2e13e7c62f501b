//! Notices a stalled server: open watches look the same whether nothing happens or the server is gone.
//!
//! Takes when the server last sent anything; judges the health of every kind by it. HTTP/2 pings are answered every few
//! seconds; a server without pings (HTTP/1.1) gets a small request instead.

use std::{pin::pin, sync::Arc, time::Duration};

use futures::future::{Fuse, FusedFuture, FutureExt};
use tokio::time::{Instant, MissedTickBehavior};

use super::KindHealth;
use crate::client::{Activity, ApiClient};

/// How often the connections are checked.
const CHECK: Duration = Duration::from_secs(5);

/// Time without a byte after which the server is asked for something: longer than between two pings.
const ASK_AFTER: Duration = Duration::from_secs(18);

/// Runs until it is dropped.
pub(crate) async fn watch_for_stalled_server(
    client: ApiClient,
    activity: Activity,
    kinds: Vec<Arc<KindHealth>>,
) {
    let mut checks = tokio::time::interval(CHECK);
    checks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut asking = pin!(Fuse::terminated());
    let mut checked = Instant::now();
    loop {
        tokio::select! {
            biased;
            () = &mut asking => continue,
            _ = checks.tick() => {}
        }
        let pause = checked.elapsed();
        checked = Instant::now();
        // After a longer pause it was this process that stood still: what arrived meanwhile is not read yet.
        if pause > 2 * CHECK {
            continue;
        }
        kinds.iter().for_each(|kind| kind.judge(activity.last()));
        if activity.last().elapsed() >= ASK_AFTER && asking.is_terminated() {
            asking.set(client.probe().fuse());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use http::{Request, Response};
    use kube::client::Body;

    use super::*;
    use crate::{ResourceKind, Tasks, informer::KindState};

    /// A server that answers, or does not, and the health of a kind of it that is watched.
    struct World {
        is_frozen: Arc<AtomicBool>,
        asked: Arc<AtomicUsize>,
        activity: Activity,
        health: Arc<KindHealth>,
        _tasks: Tasks,
    }

    impl World {
        fn new() -> Self {
            let (is_frozen, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
            let activity = Activity::default();
            let (frozen, count, noted) = (Arc::clone(&is_frozen), Arc::clone(&asked), activity.clone());
            let service = tower::service_fn(move |request: Request<Body>| {
                assert_eq!(request.uri().path(), "/version");
                count.fetch_add(1, Ordering::Relaxed);
                let (frozen, noted) = (Arc::clone(&frozen), noted.clone());
                async move {
                    if frozen.load(Ordering::Relaxed) {
                        std::future::pending::<()>().await;
                    }
                    noted.note();
                    Ok::<_, std::io::Error>(Response::new(Body::from(b"{}".to_vec())))
                }
            });
            let client = ApiClient::new(kube::Client::new(service, "default"), "test");
            let kind = ResourceKind {
                group: "g".into(),
                version: "v1".into(),
                kind: "K".into(),
                plural: "ks".into(),
            };
            let health = Arc::new(KindHealth::new(kind, true));
            health.listed();
            health.followed();
            let tasks = Tasks::default();
            tasks.spawn(watch_for_stalled_server(client, activity.clone(), vec![Arc::clone(&health)]));
            Self { is_frozen, asked, activity, health, _tasks: tasks }
        }

        async fn seconds(&self, seconds: u64) {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
        }

        fn is_healthy(&self) -> bool {
            self.health.state().is_healthy()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_quiet_server_without_pings_is_asked_one_question_at_a_time_and_stays_healthy() {
        let world = World::new();
        for _ in 0..3600 {
            world.seconds(1).await;
            assert!(world.is_healthy());
        }
        let asked = world.asked.load(Ordering::Relaxed);
        assert!((150..=200).contains(&asked), "every 20 s: {asked}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_quiet_server_with_pings_is_asked_nothing() {
        let world = World::new();
        for _ in 0..100 {
            world.seconds(15).await;
            world.activity.note();
            assert!(world.is_healthy());
        }
        assert_eq!(world.asked.load(Ordering::Relaxed), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_frozen_server_is_noticed_within_a_minute_and_its_return_too() {
        let world = World::new();
        world.seconds(33).await;
        world.is_frozen.store(true, Ordering::Relaxed);
        world.seconds(20).await;
        assert!(world.is_healthy(), "a short failure is tolerated");
        world.seconds(35).await;
        assert!(matches!(world.health.state(), KindState::Failing(_)));
        world.is_frozen.store(false, Ordering::Relaxed);
        world.seconds(40).await;
        assert!(world.is_healthy());
    }

    #[tokio::test(start_paused = true)]
    async fn time_in_which_this_process_stood_still_does_not_count() {
        let world = World::new();
        world.seconds(12).await;
        tokio::time::advance(Duration::from_secs(100)).await;
        tokio::task::yield_now().await;
        assert!(world.is_healthy());
        world.activity.note();
        world.seconds(20).await;
        assert!(world.is_healthy());
    }
}
