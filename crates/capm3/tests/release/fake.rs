//! A server that answers as a test demands, one request per connection.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::TcpListener,
};

use serde_json::{Value, json};

/// What is asked of the server.
pub struct Asked {
    pub method: String,
    pub path: String,
    pub body: Value,
}

/// A kubeconfig of a server that gives these answers, each a status code and a body.
pub fn serve(mut answer: impl FnMut(Asked) -> (u16, Value) + Send + 'static) -> tempfile::NamedTempFile {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().take(200).map(Result::unwrap) {
            let mut reader = BufReader::new(stream.try_clone().unwrap());
            let mut line = || {
                let mut line = String::new();
                reader.read_line(&mut line).unwrap();
                line.trim().to_lowercase()
            };
            let first = line();
            let headers: Vec<String> =
                std::iter::from_fn(|| Some(line()).filter(|l| !l.is_empty())).collect();
            let length =
                headers.iter().find_map(|header| header.strip_prefix("content-length: ")?.parse().ok());
            let mut body = vec![0; length.unwrap_or(0)];
            reader.read_exact(&mut body).unwrap();
            let mut words = first.split([' ', '?']);
            let asked = Asked {
                method: words.next().unwrap_or_default().to_owned(),
                path: words.next().unwrap_or_default().to_owned(),
                body: serde_json::from_slice(&body).unwrap_or_default(),
            };
            let (status, body) = answer(asked);
            let body = body.to_string();
            let head =
                format!("HTTP/1.1 {status} X\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        }
    });
    let file = tempfile::NamedTempFile::new().unwrap();
    let text = json!({"apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": format!("http://{address}")}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u", "namespace": "ns"}}]});
    fs::write(file.path(), text.to_string()).unwrap();
    file
}

/// A page of a list.
pub fn page(items: Value) -> (u16, Value) {
    (200, json!({"metadata": {}, "items": items}))
}

/// A host with an image that names a machine which is not there.
pub fn orphan(version: &str) -> Value {
    json!({"apiVersion": "metal3.io/v1alpha1", "kind": "BareMetalHost",
        "metadata": {"name": "h", "namespace": "ns", "resourceVersion": version, "uid": "u"},
        "spec": {"online": true, "image": {"url": "http://i"}, "consumerRef": {"kind": "Metal3Machine", "name": "m",
            "namespace": "ns", "apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2"}},
        "status": {"provisioning": {"state": "provisioned"}, "poweredOn": true}})
}
