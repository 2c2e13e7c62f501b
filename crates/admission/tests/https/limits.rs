//! Requests that are no reviews, and clients that take too much.

use std::time::Duration;

use bytes::Bytes;
use capm3_admission::https::Limits;
use http::{Request, header};
use http_body_util::Full;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::client::{Client, NAME, Webhooks, exchange, until_closed};

const VALIDATE: &str = "/validate-infrastructure-cluster-x-k8s-io-v1beta2-metal3cluster";
const SOON: Duration = Duration::from_millis(20);

#[tokio::test]
async fn a_request_that_is_no_review_is_answered_by_a_code_and_a_sentence() {
    let webhooks = Webhooks::start(Limits::default()).await;
    let table = [
        ("POST", "/nothing", "application/json", 404, "there is no webhook at /nothing"),
        ("GET", VALIDATE, "application/json", 405, "a webhook takes POST only"),
        ("POST", VALIDATE, "application/yaml", 415, "a review is application/json"),
        ("POST", VALIDATE, "application/json; charset=utf-8", 400, "the body is not a review: "),
    ];
    for protocol in ["http/1.1", "h2"] {
        for (method, path, content_type, code, start) in table {
            let mut client = Client::over(webhooks.connect(protocol).await).await;
            let request = Request::builder()
                .method(method)
                .uri(format!("https://{NAME}{path}"))
                .header(header::HOST, NAME)
                .header(header::CONTENT_TYPE, content_type)
                .body(Full::new(Bytes::from_static(b"{")))
                .unwrap();
            let (found, body) = client.send(request).await;
            assert_eq!(found, code, "{method} {path}: {body}");
            assert!(body.starts_with(start), "{body}");
        }
    }
}

fn head(path: &str, more: &str) -> String {
    format!("POST {path} HTTP/1.1\r\nhost: h\r\ncontent-type: application/json\r\n{more}\r\n\r\n")
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_with_413() {
    let webhooks = Webhooks::start(Limits::default()).await;
    let limit = 7 * 1024 * 1024;
    // Announced: refused before anything of it is read.
    let mut stream = webhooks.connect("http/1.1").await;
    let announced = head(VALIDATE, &format!("content-length: {}", limit + 1));
    let answer = exchange(&mut stream, announced.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    assert!(answer.ends_with("the body is larger than 7340032 bytes"), "{answer}");
    // Not announced: refused where the limit is reached.
    let mut stream = webhooks.connect("http/1.1").await;
    stream.write_all(head(VALIDATE, "transfer-encoding: chunked").as_bytes()).await.unwrap();
    let chunk = vec![b' '; limit + 1];
    stream.write_all(format!("{:x}\r\n", chunk.len()).as_bytes()).await.unwrap();
    stream.write_all(&chunk).await.unwrap();
    let answer = exchange(&mut stream, b"\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
    // At the limit: read, and found to be no review.
    let mut client = Client::over(webhooks.connect("h2").await).await;
    let (code, body) = client.post(VALIDATE, vec![b' '; limit]).await;
    assert_eq!((code, body.starts_with("the body is not a review")), (400, true), "{body}");
    // Lists are larger than objects.
    let (code, body) = client.post("/convert", vec![b' '; limit + 1]).await;
    assert_eq!((code, body.starts_with("the body is not a review")), (400, true), "{body}");
}

#[tokio::test]
async fn who_sends_nothing_is_cut_off_during_the_handshake() {
    let webhooks = Webhooks::start(Limits { handshake: SOON, ..Limits::default() }).await;
    let mut stream = tokio::net::TcpStream::connect(webhooks.server.local_addr()).await.unwrap();
    let read = tokio::time::timeout(Duration::from_secs(60), stream.read(&mut [0])).await.unwrap();
    assert!(matches!(read, Ok(0) | Err(_)), "{read:?}");
}

#[tokio::test]
async fn who_never_ends_the_head_of_a_request_is_cut_off() {
    let webhooks = Webhooks::start(Limits { head: SOON, ..Limits::default() }).await;
    for text in ["", "POST /conv"] {
        let mut stream = webhooks.connect("http/1.1").await;
        let answer = exchange(&mut stream, text.as_bytes()).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408 "), "{answer}");
    }
    // Only the preface of HTTP/2.
    let mut stream = webhooks.connect("h2").await;
    stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    let ended = tokio::time::timeout(Duration::from_secs(60), stream.read_to_end(&mut answer)).await;
    assert!(ended.is_ok());
}

#[tokio::test]
async fn a_request_whose_body_never_ends_gets_408_and_is_closed() {
    let webhooks = Webhooks::start(Limits { body: SOON, ..Limits::default() }).await;
    let mut stream = webhooks.connect("http/1.1").await;
    let text = head(VALIDATE, "content-length: 100") + "{";
    let answer = exchange(&mut stream, text.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert!(answer.ends_with("the body takes too long"), "{answer}");
}

#[tokio::test]
async fn who_asks_for_nothing_more_is_cut_off() {
    let webhooks = Webhooks::start(Limits { idle: SOON, ..Limits::default() }).await;
    let mut stream = webhooks.connect("http/1.1").await;
    let answer = exchange(&mut stream, head("/nothing", "content-length: 0").as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
}

#[tokio::test]
async fn an_idle_connection_makes_room_for_a_new_one() {
    let webhooks = Webhooks::start(Limits { connections: 1, ..Limits::default() }).await;
    let mut first = webhooks.connect("http/1.1").await;
    let mut second = Client::over(webhooks.connect("h2").await).await;
    assert_eq!(second.post("/nothing", "").await.0, 404);
    assert_eq!(until_closed(&mut first).await, "");
}

#[tokio::test]
async fn a_stop_lets_the_request_in_flight_end_and_takes_no_new_connection() {
    let webhooks = Webhooks::start(Limits::default()).await;
    let (address, is_serving) = (webhooks.server.local_addr(), webhooks.server.is_serving());
    assert!(is_serving());
    let review = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview",
        "request": {"uid": "u", "desiredAPIVersion": "v", "objects": []},
    });
    let review = review.to_string();
    let (start, end) = review.split_at(20);
    let mut stream = webhooks.connect("http/1.1").await;
    // The server answers this when it has read the head, so the request is in flight when the stop comes.
    let more = format!("expect: 100-continue\r\ncontent-length: {}", review.len());
    stream.write_all(head("/convert", &more).as_bytes()).await.unwrap();
    let mut line = [0; 25];
    stream.read_exact(&mut line).await.unwrap();
    assert_eq!(&line, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(start.as_bytes()).await.unwrap();
    let stopping = tokio::spawn(webhooks.server.stop(Duration::from_secs(60)));
    while is_serving() {
        tokio::task::yield_now().await;
    }
    let answer = exchange(&mut stream, end.as_bytes()).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(answer.contains(r#""status":"Success""#), "{answer}");
    stopping.await.unwrap();
    assert!(tokio::net::TcpStream::connect(address).await.is_err(), "nobody listens any more");
}
