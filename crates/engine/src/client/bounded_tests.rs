//! Servers that send too much, or too slowly, over a service in process and in virtual time.

use std::{
    convert::Infallible,
    sync::atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;
use futures::stream;
use http::{Request, Response};
use http_body_util::{Full, StreamBody, combinators::UnsyncBoxBody};
use k8s_openapi::api::core::v1::Node;
use serde_json::{Value, json};
use tower::service_fn;

use super::*;
use crate::{
    ObjectKey,
    client::{WatchEvent, limits::Limits},
};

/// A body as a server sends it.
type Sent = UnsyncBoxBody<Bytes, Infallible>;

fn whole(text: impl Into<Bytes>) -> Sent {
    UnsyncBoxBody::new(Full::new(text.into()))
}

/// A chunk every `pause`, for ever, after `first`; how many chunks were asked for is counted.
struct Endless {
    first: &'static str,
    chunk: Bytes,
    pause: Duration,
    sent: Arc<AtomicUsize>,
}

fn endless(first: &'static str, chunk: impl Into<Bytes>, pause: Duration) -> Endless {
    Endless { first, chunk: chunk.into(), pause, sent: Arc::default() }
}

impl Endless {
    fn body(&self) -> Sent {
        let (chunk, pause, sent) = (self.chunk.clone(), self.pause, Arc::clone(&self.sent));
        let first = Bytes::from_static(self.first.as_bytes());
        let stream = stream::unfold(Some(first), move |first| {
            let (chunk, sent) = (first.unwrap_or_else(|| chunk.clone()), Arc::clone(&sent));
            async move {
                if !pause.is_zero() {
                    tokio::time::sleep(pause).await;
                }
                sent.fetch_add(1, Ordering::SeqCst);
                Some((Ok::<_, Infallible>(http_body::Frame::data(chunk)), None))
            }
        });
        UnsyncBoxBody::new(StreamBody::new(stream))
    }
}

/// A client of a server that always answers with that.
fn client(code: u16, body: impl Fn() -> Sent + Clone + Send + Sync + 'static) -> ApiClient {
    let service = service_fn(move |_: Request<Body>| {
        let mut response = Response::new(body());
        *response.status_mut() = http::StatusCode::from_u16(code).unwrap();
        async move { Ok::<_, Infallible>(response) }
    });
    ApiClient::new(kube::Client::new(service, "default"), "test")
}

fn nodes() -> ResourceKind {
    ResourceKind::of::<Node>()
}

async fn page(client: &ApiClient) -> Result<(usize, ReadPage), ApiError> {
    let mut count = 0;
    let page = client
        .read_page(&nodes(), Detail::Whole, None, &mut |_| {
            count += 1;
            Ok(())
        })
        .await?;
    Ok((count, page))
}

/// Lists that never end: what is cut, and after how many chunks at most.
#[tokio::test(start_paused = true)]
async fn a_list_that_never_ends_is_cut_where_its_limit_is() {
    let budget = Budget::default();
    let kib = || "x".repeat(1024);
    let ms = Duration::from_millis;
    let table = [
        (r#"{"items": [{"a": ""#, kib(), ms(0), 2100, "one object of the list has more than 2097152 bytes"),
        (r#"{"metadata": {"continue": ""#, kib(), ms(0), 70, "has more than 65536 bytes"),
        (r#"{"items": ["#, " ".repeat(65_536), ms(0), 600, "a page of the list has more than 33554432 bytes"),
        (r#"{"items": ["#, "[".repeat(1024), ms(0), 2100, "one object of the list has more than"),
        (r#"{"items": [{"a": ""#, "x".to_owned(), ms(1000), 31, "a page of the list takes longer than 30 s"),
    ];
    for (first, chunk, pause, most, expected) in table {
        let endless = Arc::new(endless(first, chunk, pause));
        let server = Arc::clone(&endless);
        let client = client(200, move || server.body()).within(&budget);
        let error = page(&client).await.err().unwrap();
        assert!(matches!(error, ApiError::LimitExceeded(_)), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
        let sent = endless.sent.load(Ordering::SeqCst);
        assert!(sent <= most, "{expected}: {sent} chunks");
        assert_eq!(budget.used(), (0, 0), "everything is given back");
    }
}

#[tokio::test(start_paused = true)]
async fn a_page_is_shown_object_by_object() {
    let text =
        json!({"metadata": {"resourceVersion": "5", "continue": "next"}, "items": [{"a": 1}, {"b": [2]}]});
    let text = text.to_string();
    let size = text.len();
    let client = client(200, move || whole(text.clone())).within(&Budget::default());
    let (count, read) = page(&client).await.unwrap();
    assert_eq!((count, read.bytes), (2, size));
    assert_eq!(read.metadata.continue_.as_deref(), Some("next"));
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_too_long_is_not_sent_back() {
    let text = json!({"metadata": {"continue": "x".repeat(8193)}, "items": []}).to_string();
    let client = client(200, move || whole(text.clone())).within(&Budget::default());
    let error = page(&client).await.err().unwrap().to_string();
    assert!(error.contains("the token that continues the list has more than 8192 bytes"), "{error}");
}

/// No encoding is undone: what looks like gzip is no JSON, whatever it would become.
#[tokio::test(start_paused = true)]
async fn a_compressed_answer_is_not_unpacked() {
    let service = service_fn(|request: Request<Body>| {
        assert!(request.headers().get("accept-encoding").is_none(), "none is asked for");
        let mut response = Response::new(whole(b"\x1f\x8b\x08\0\0\0\0\0\0\x03".repeat(10)));
        response.headers_mut().insert("content-encoding", http::HeaderValue::from_static("gzip"));
        async move { Ok::<_, Infallible>(response) }
    });
    let client = ApiClient::new(kube::Client::new(service, "default"), "test").within(&Budget::default());
    assert!(matches!(page(&client).await.err(), Some(ApiError::Unreadable { .. })));
    let got = client.get::<Value>(&nodes(), &ObjectKey::new("", "a")).await;
    assert!(matches!(got, Err(ApiError::Unreadable { .. })));
}

#[tokio::test(start_paused = true)]
async fn an_answer_and_a_refusal_that_never_end_are_cut() {
    let (key, budget) = (ObjectKey::new("", "a"), Budget::default());
    for (code, foreign, expected, most) in [
        (200, true, "the answer has more than 2097152 bytes", 40),
        (500, true, "500 : the reason has more than 16384 bytes and is not read", 2),
        (410, true, "version expired: the reason has more than 16384 bytes", 2),
        (500, false, "500 : the reason has more than 1048576 bytes and is not read", 20),
    ] {
        let endless = Arc::new(endless(r#"{"message": ""#, "x".repeat(65_536), Duration::ZERO));
        let server = Arc::clone(&endless);
        let own = client(code, move || server.body());
        let client = if foreign { own.within(&budget) } else { own };
        let error = client.get::<Value>(&nodes(), &key).await.unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        let sent = endless.sent.load(Ordering::SeqCst);
        assert!(sent <= most, "{code}: {sent} chunks");
        assert_eq!(budget.used(), (0, 0));
    }
}

/// Watches that never tell a whole event.
#[tokio::test(start_paused = true)]
async fn a_line_of_a_watch_that_never_ends_is_cut() {
    let budget = Budget::default();
    for (chunk, pause, foreign, expected, most) in [
        (65_536, 0, true, "a line of the watch has more than 2097152 bytes", 40),
        (1 << 20, 0, false, "a line of the watch has more than 67108864 bytes", 70),
        (1, 1000, true, "a line of the watch takes longer than 30 s", 32),
    ] {
        let endless =
            Arc::new(endless(r#"{"type": "ADDED"#, "x".repeat(chunk), Duration::from_millis(pause)));
        let server = Arc::clone(&endless);
        let own = client(200, move || server.body());
        let client = if foreign { own.within(&budget) } else { own };
        let mut stream = client.watch(&nodes(), "", Detail::Whole, "1").await.unwrap();
        let error = stream.next::<Node>().await.unwrap_err();
        assert!(matches!(error, ApiError::LimitExceeded(_)), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
        assert!(endless.sent.load(Ordering::SeqCst) <= most);
        drop(stream);
        assert_eq!(budget.used(), (0, 0));
    }
}

/// Events that come without a pause are taken at the rate, and a watch that the server never ends is ended.
#[tokio::test(start_paused = true)]
async fn a_watch_is_read_no_faster_than_its_rate_and_no_longer_than_its_time() {
    let event = json!({"type": "MODIFIED", "object": {"metadata": {"name": "a", "resourceVersion": "1"}}});
    let line = format!("{event}\n");
    let endless = Arc::new(endless("", line.repeat(64), Duration::ZERO));
    let server = Arc::clone(&endless);
    let limits = Limits { watch_rate: 1 << 20, watch_time: Duration::from_secs(20), ..Limits::WORKLOAD };
    let client = client(200, move || server.body()).within(&Budget::new(limits));
    let mut stream = client.watch(&nodes(), "", Detail::Whole, "1").await.unwrap();
    let mut events = 0;
    while let Some(event) = stream.next::<Node>().await.unwrap() {
        assert!(matches!(event, WatchEvent::Applied(_)));
        events += 1;
        assert!(events < 100_000, "the watch ends");
    }
    // Eight seconds' worth at once and twenty more.
    let most = 28 * (1 << 20) / (4096 + line.len()) + 64;
    assert!((most / 2..=most).contains(&events), "{events} of {most}");
}

#[test]
fn words_that_quote_a_long_text_are_shortened() {
    let text = format!("\"{}\"", "é".repeat(10_000));
    let ApiError::Unreadable { source } = unreadable(serde_json::from_str::<Vec<u8>>(&text).unwrap_err())
    else {
        unreachable!("it is unreadable");
    };
    let words = source.to_string();
    assert!(words.len() < 400 && words.starts_with("invalid type: string"), "{words}");
    assert_eq!(shortened("ééé", 3), "é");
    assert_eq!(shortened("abc", 30), "abc");
}
