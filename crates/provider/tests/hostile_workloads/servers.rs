//! API servers on a loopback port, each below a path of its own: one for the kubeconfig Secrets, good workload clusters, and
//! hostile ones that do one thing each until the attack ends.

use std::{
    collections::BTreeMap,
    io::{self, Read, Write},
    net::{TcpListener, TcpStream},
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

/// Some limit; which one it is may depend on how busy the machine is.
const LIMIT: &str = "exceeds a limit: ";

/// What each kind of hostile cluster does, and what is reported of it.
pub const ATTACKS: &[(&str, &str)] = &[
    ("endless-object", LIMIT),
    ("endless-nodes", LIMIT),
    ("endless-pages", LIMIT),
    ("huge-nodes", LIMIT),
    ("endless-line", LIMIT),
    ("endless-events", LIMIT),
    ("drip-list", "a page of the list takes longer than 3 s"),
    ("drip-line", "a line of the watch takes longer than 3 s"),
    ("unresponsive", "no answer from the API server"),
    ("gzip", "the server's answer could not be read"),
    ("endless-error", "500 : the reason has more than 16384 bytes and is not read"),
    ("endless-headers", "no answer from the API server"),
];

/// The servers, which run until the process ends.
pub struct Servers {
    pub address: String,
    attacking: AtomicBool,
    /// Lists that were asked for, by cluster.
    lists: Mutex<BTreeMap<String, u64>>,
    /// Bytes that hostile clusters sent.
    pub sent: AtomicU64,
    /// Nodes of the good clusters: one more with every tick of a watch.
    nodes: AtomicU64,
}

pub fn kubeconfig(server: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts:\n- name: c\n  context: {{cluster: c, user: u}}\n\
         clusters:\n- name: c\n  cluster: {{server: '{server}'}}\nusers:\n- name: u\n  user: {{token: t}}\n"
    )
}

fn node(name: &str, version: u64) -> Value {
    json!({"metadata": {"name": name, "resourceVersion": version.to_string(), "uid": name,
        "labels": {"kubernetes.io/hostname": name}}, "spec": {"providerID": format!("metal3://ns/{name}/m")}})
}

impl Servers {
    pub fn start() -> Arc<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let this = Arc::new(Self {
            address,
            attacking: AtomicBool::new(true),
            lists: Mutex::default(),
            sent: AtomicU64::default(),
            nodes: AtomicU64::new(3),
        });
        let servers = Arc::clone(&this);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let servers = Arc::clone(&servers);
                thread::spawn(move || {
                    let _hung_up = servers.serve(stream);
                });
            }
        });
        this
    }

    /// Hostile clusters send nothing more from now on.
    pub fn end_attack(&self) {
        self.attacking.store(false, Ordering::SeqCst);
    }

    pub fn lists(&self, cluster: &str) -> u64 {
        self.lists.lock().unwrap().get(cluster).copied().unwrap_or_default()
    }

    fn serve(&self, mut stream: TcpStream) -> io::Result<()> {
        stream.set_write_timeout(Some(Duration::from_secs(10)))?;
        stream.set_nodelay(true)?;
        loop {
            let path = request(&mut stream)?;
            match path.strip_prefix("/clusters/").and_then(|path| path.split_once('/')) {
                None => self.secret(&mut stream, &path)?,
                Some((cluster, rest)) => {
                    let watch = rest.contains("watch=1");
                    if !watch {
                        *self.lists.lock().unwrap().entry(cluster.to_owned()).or_default() += 1;
                    }
                    match cluster.strip_prefix("hostile-").map(|name| name.rsplit_once('-').unwrap().0) {
                        None => self.good(&mut stream, watch)?,
                        Some(attack) => return self.hostile(&mut stream, attack, watch),
                    }
                }
            }
        }
    }

    fn secret(&self, stream: &mut TcpStream, path: &str) -> io::Result<()> {
        let name = path.rsplit('/').next().unwrap();
        let cluster = name.strip_suffix("-kubeconfig").unwrap();
        let value = BASE64_STANDARD.encode(kubeconfig(&format!("{}/clusters/{cluster}", self.address)));
        answer(stream, &json!({"metadata": {"name": name, "namespace": "ns"}, "data": {"value": value}}))
    }

    fn good(&self, stream: &mut TcpStream, watch: bool) -> io::Result<()> {
        let known = self.nodes.load(Ordering::SeqCst);
        if !watch {
            let nodes: Vec<_> = (1..=known).map(|i| node(&format!("n{i}"), i)).collect();
            return answer(
                stream,
                &json!({"metadata": {"resourceVersion": known.to_string()}, "items": nodes}),
            );
        }
        begin(stream, "")?;
        for _ in 0..10_000 {
            thread::sleep(Duration::from_millis(100));
            let i = self.nodes.fetch_add(1, Ordering::SeqCst) + 1;
            let event = json!({"type": "ADDED", "object": node(&format!("n{i}"), i)});
            chunk(stream, format!("{event}\n").as_bytes())?;
        }
        Ok(())
    }

    fn hostile(&self, stream: &mut TcpStream, attack: &str, watch: bool) -> io::Result<()> {
        let text = "x".repeat(60_000);
        match (attack, watch) {
            ("endless-object", _) => {
                begin(stream, "")?;
                self.endless(stream, r#"{"items": [{"metadata": {"name": ""#, |_| text.clone())
            }
            ("endless-nodes", _) => {
                begin(stream, "")?;
                self.endless(stream, r#"{"items": [{}"#, |i| {
                    format!(",{}", node(&format!("n{i}"), i)).repeat(10)
                })
            }
            ("endless-pages", _) => {
                let items = [node("n", 1)];
                let token = self.sent.load(Ordering::SeqCst).to_string();
                answer(stream, &json!({"metadata": {"continue": token}, "items": items}))?;
                self.count(1000)?;
                // The same connection goes on with the next page.
                request(stream).and_then(|_| self.hostile(stream, attack, watch))
            }
            ("huge-nodes", _) => {
                begin(stream, "")?;
                let label = format!(r#""{}": """#, "a".repeat(20));
                let huge = format!(
                    r#",{{"metadata": {{"name": "n", "labels": {{{label}}}}}, "x": "{}"}}"#,
                    text.repeat(31)
                );
                self.endless(stream, r#"{"items": [{}"#, |_| huge.clone())
            }
            ("drip-list", _) => {
                begin(stream, "")?;
                self.endless(stream, r#"{"items": [{"a": ""#, |_| {
                    thread::sleep(Duration::from_secs(1));
                    "x".to_owned()
                })
            }
            ("gzip", _) => {
                let body = b"\x1f\x8b\x08\0\0\0\0\0\0\x03".repeat(100);
                let head = format!(
                    "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n",
                    body.len()
                );
                stream.write_all(&[head.as_bytes(), &body].concat())
            }
            ("endless-error", _) => {
                stream.write_all(b"HTTP/1.1 500 Oops\r\nTransfer-Encoding: chunked\r\n\r\n")?;
                self.endless(stream, r#"{"message": ""#, |_| text.clone())
            }
            ("endless-headers", _) => {
                stream.write_all(b"HTTP/1.1 200 OK\r\n")?;
                for i in 0..10_000 {
                    self.count(1000)?;
                    stream.write_all(format!("X-{i}: {}\r\n", "x".repeat(1000)).as_bytes())?;
                }
                Ok(())
            }
            ("unresponsive", _) => {
                let _never = request(stream)?;
                Ok(())
            }
            (_, false) => {
                answer(stream, &json!({"metadata": {"resourceVersion": "1"}, "items": []}))?;
                let path = request(stream)?;
                self.hostile(stream, attack, path.contains("watch=1"))
            }
            ("endless-line", true) => {
                begin(stream, "")?;
                self.endless(stream, r#"{"type": "ADDED", "object": {"a": ""#, |_| text.clone())
            }
            ("endless-events", true) => {
                begin(stream, "")?;
                let event = |i| json!({"type": "ADDED", "object": node(&format!("n{i}"), i + 2)});
                self.endless(stream, "", |i| format!("{}\n", event(i)))
            }
            ("drip-line", true) => {
                begin(stream, "")?;
                self.endless(stream, r#"{"type": "ADDED"#, |_| {
                    thread::sleep(Duration::from_secs(1));
                    "x".to_owned()
                })
            }
            (other, _) => unreachable!("{other}"),
        }
    }

    /// Chunks until the attack ends or the client has enough.
    fn endless(&self, stream: &mut TcpStream, first: &str, next: impl Fn(u64) -> String) -> io::Result<()> {
        if !first.is_empty() {
            chunk(stream, first.as_bytes())?;
        }
        for i in 0..1_000_000 {
            let text = next(i);
            self.count(text.len())?;
            chunk(stream, text.as_bytes())?;
        }
        Ok(())
    }

    fn count(&self, bytes: usize) -> io::Result<()> {
        self.sent.fetch_add(bytes as u64, Ordering::SeqCst);
        if self.attacking.load(Ordering::SeqCst) { Ok(()) } else { Err(io::ErrorKind::BrokenPipe.into()) }
    }
}

/// Reads the head of a request; its path.
fn request(stream: &mut TcpStream) -> io::Result<String> {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && head.len() < 65_536 {
        stream.read_exact(&mut byte)?;
        head.extend_from_slice(&byte);
    }
    let head = String::from_utf8(head).unwrap();
    Ok(head.split(' ').nth(1).unwrap_or_default().to_owned())
}

fn answer(stream: &mut TcpStream, body: &Value) -> io::Result<()> {
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(&[head.as_bytes(), body.as_bytes()].concat())
}

fn begin(stream: &mut TcpStream, headers: &str) -> io::Result<()> {
    stream.write_all(format!("HTTP/1.1 200 OK\r\n{headers}Transfer-Encoding: chunked\r\n\r\n").as_bytes())
}

fn chunk(stream: &mut TcpStream, text: &[u8]) -> io::Result<()> {
    stream.write_all(&[format!("{:x}\r\n", text.len()).as_bytes(), text, b"\r\n"].concat())
}
