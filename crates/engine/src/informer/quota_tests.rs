//! Lists and events that a server makes up.

use std::convert::Infallible;

use http::{Request, Response};
use http_body_util::Full;
use k8s_openapi::api::core::v1::Node;
use kube::client::Body;
use serde_json::{Value, json};
use tower::service_fn;

use super::*;
use crate::{
    ApiClient, Detail,
    client::{Budget, limits::Limits},
};

fn node(name: &str, version: u64) -> Node {
    serde_json::from_value(object(name, version)).unwrap()
}

fn object(name: &str, version: u64) -> Value {
    json!({"metadata": {"name": name, "resourceVersion": version.to_string()}})
}

/// An informer whose objects weigh 10000 bytes each, of a server that answers each list with that.
fn informer(budget: &Budget, page: impl Fn(&str) -> Value + Clone + Send + Sync + 'static) -> Informer<Node> {
    let service = service_fn(move |request: Request<Body>| {
        let page = page(request.uri().query().unwrap_or_default());
        async move { Ok::<_, Infallible>(Response::new(Full::new(bytes::Bytes::from(page.to_string())))) }
    });
    let client = ApiClient::new(kube::Client::new(service, "default"), "test").within(budget);
    Informer::new(client, Arc::new(Store::new(&[])), Detail::Whole).weighing(|_| 10_000)
}

async fn list(informer: &Informer<Node>) -> Result<String, ApiError> {
    informer.list(&ResourceKind::of::<Node>()).await
}

#[tokio::test(start_paused = true)]
async fn pages_are_followed_to_their_end_and_counted() {
    let budget = Budget::default();
    let informer = informer(&budget, |query| match query {
        "limit=50" => json!({"metadata": {"continue": "x="}, "items": [object("a", 1)]}),
        "limit=50&continue=x%3D" => json!({"metadata": {"resourceVersion": "9"}, "items": [object("b", 2)]}),
        other => unreachable!("{other}"),
    });
    assert_eq!(list(&informer).await.unwrap(), "9");
    assert_eq!(informer.store.all().len(), 2);
    assert_eq!(budget.used(), (0, 20_000 + 5_000 + HEADROOM));
    drop(informer);
    assert_eq!(budget.used(), (0, 0));
}

/// What a server makes up in a list, and the error for it.
#[tokio::test(start_paused = true)]
async fn a_list_is_cut_at_its_limits() {
    let many = |number: u64| (0..number).map(|i| object(&format!("n{i}"), 1)).collect::<Vec<_>>();
    let table: [(Value, &str); 4] = [
        (
            json!({"metadata": {"continue": "again"}, "items": []}),
            "there are more than 400 pages of the list",
        ),
        (json!({"metadata": {"continue": "again"}, "items": many(50)}), "a fair share of the 41943040 bytes"),
        (json!({"metadata": {}, "items": vec![json!(1); 101]}), "more than 100 objects that cannot be read"),
        (json!({"metadata": {}, "items": vec![json!(1); 99]}), ""),
    ];
    for (page, expected) in table {
        let budget = Budget::default();
        let informer = informer(&budget, move |_| page.clone());
        match list(&informer).await {
            Ok(_) => assert_eq!(expected, ""),
            Err(error) => {
                assert!(matches!(error, ApiError::LimitExceeded(_)), "{error}");
                assert!(!expected.is_empty() && error.to_string().contains(expected), "{error}");
            }
        }
        assert_eq!(budget.used().0, 0);
        drop(informer);
        assert_eq!(budget.used(), (0, 0));
    }
    let asked = Arc::new(AtomicUsize::new(0));
    let (counter, pages) = (Arc::clone(&asked), Limits { pages: 7, ..Limits::WORKLOAD });
    let endless =
        move |_: &str| json!({"metadata": {"continue": counter.fetch_add(1, Ordering::SeqCst).to_string()}});
    list(&informer(&Budget::new(pages), endless)).await.unwrap_err();
    assert_eq!(asked.load(Ordering::SeqCst), 7, "pages that were asked for");
    let few = Limits { objects: 40, ..Limits::WORKLOAD };
    let page = json!({"metadata": {}, "items": many(41)});
    let error = list(&informer(&Budget::new(few), move |_| page.clone())).await.unwrap_err();
    assert!(error.to_string().contains("there are more than 40 objects in the list"), "{error}");
}

fn empty(budget: &Budget) -> Informer<Node> {
    informer(budget, |_| json!({"metadata": {"resourceVersion": "1"}, "items": []}))
}

/// Takes an event as the informer does.
fn apply(informer: &Informer<Node>, event: WatchEvent<Node>) -> Result<bool, ApiError> {
    let admitted = informer.admits(&event)?;
    if admitted {
        informer.take(event, &mut String::new());
    }
    Ok(admitted)
}

#[tokio::test(start_paused = true)]
async fn events_that_never_end_are_cut_at_the_share() {
    let budget = Budget::default();
    let informer = empty(&budget);
    list(&informer).await.unwrap();
    let reported =
        (0..10_000).find_map(|i| apply(&informer, WatchEvent::Applied(node(&format!("n{i}"), 2))).err());
    assert!(matches!(reported, Some(ApiError::LimitExceeded(LimitExceeded::Share { .. }))), "{reported:?}");
    let known = informer.store.all().len();
    assert!((900..1100).contains(&known), "a quarter of the budget: {known}");
    let long = WatchEvent::Bookmark("1".repeat(9000));
    assert!(matches!(apply(&informer, long), Err(ApiError::LimitExceeded(LimitExceeded::Bytes { .. }))));
    // The same objects again and again take nothing.
    for version in 3..5000 {
        apply(&informer, WatchEvent::Applied(node("n0", version))).unwrap();
    }
}

/// What comes and goes leaves a memory for a while, which counts until it is forgotten.
#[tokio::test(start_paused = true)]
async fn deletions_that_never_end_are_cut_and_those_that_are_settled_are_forgotten() {
    let budget = Budget::default();
    let informer = empty(&budget);
    list(&informer).await.unwrap();
    assert!(!apply(&informer, WatchEvent::Deleted(node("never-seen", 2))).unwrap());
    let come_and_go = |i: u64, at: u64| {
        apply(&informer, WatchEvent::Applied(node(&format!("{i:0>1000}"), at)))?;
        apply(&informer, WatchEvent::Deleted(node(&format!("{i:0>1000}"), at)))
    };
    for i in 0..12_000 {
        come_and_go(i, i + 10).unwrap();
        if i % 1000 == 0 {
            apply(&informer, WatchEvent::Bookmark((i + 10).to_string())).unwrap();
        }
    }
    let reported = (0..12_000).find_map(|i| come_and_go(1_000_000 + i, u64::MAX).err());
    assert!(matches!(reported, Some(ApiError::LimitExceeded(_))), "{reported:?}");
}

#[test]
fn pauses_double_up_to_the_longest() {
    let seconds = Duration::from_secs;
    for (failures, expected) in [(0, 10), (1, 10), (2, 20), (3, 40), (7, 600), (1000, 600)] {
        assert_eq!(backoff(seconds(10), seconds(600), failures), seconds(expected), "{failures}");
    }
}
