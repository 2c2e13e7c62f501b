use std::{net::SocketAddr, path::Path, sync::Arc};

use hickory_resolver::proto::{
    op::{Message, OpCode, ResponseCode},
    rr::{RData, Record, RecordType, rdata::A, rdata::AAAA},
};
use parking_lot::Mutex;
use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, UdpSocket},
};

use super::*;
use crate::client::ApiError;

/// A DNS server on loopback that knows these names, and what it was asked for addresses of the older family.
struct Server {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// With `long`, it answers only over TCP: what it says over UDP is cut short.
    async fn start(known: &'static [(&'static str, &'static str)], long: bool) -> Self {
        let (tcp, udp) = both().await;
        let asked = Arc::new(Mutex::new(Vec::new()));
        let server = Self { address: udp.local_addr().unwrap(), asked: asked.clone() };
        let also = asked.clone();
        tokio::spawn(async move {
            let mut buffer = [0; 4096];
            loop {
                let (size, from) = udp.recv_from(&mut buffer).await.unwrap();
                let answer = answer(&buffer[..size], known, long, &asked);
                udp.send_to(&answer, from).await.unwrap();
            }
        });
        tokio::spawn(async move {
            loop {
                let (mut stream, _) = tcp.accept().await.unwrap();
                let asked = also.clone();
                tokio::spawn(async move {
                    while let Ok(size) = stream.read_u16().await {
                        let mut question = vec![0; size.into()];
                        stream.read_exact(&mut question).await.unwrap();
                        let answer = answer(&question, known, false, &asked);
                        stream.write_u16(answer.len().try_into().unwrap()).await.unwrap();
                        stream.write_all(&answer).await.unwrap();
                    }
                });
            }
        });
        server
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().clone()
    }
}

/// One port that is free for both.
async fn both() -> (TcpListener, UdpSocket) {
    for _ in 0..20 {
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        if let Ok(udp) = UdpSocket::bind(tcp.local_addr().unwrap()).await {
            return (tcp, udp);
        }
    }
    panic!("no port is free for UDP and TCP");
}

fn answer(question: &[u8], known: &[(&str, &str)], cut: bool, asked: &Mutex<Vec<String>>) -> Vec<u8> {
    let question = Message::from_vec(question).unwrap();
    let query = question.queries[0].clone();
    let name = query.name().to_string();
    let mut answer = Message::response(question.metadata.id, OpCode::Query);
    answer.add_query(query.clone());
    if query.query_type() == RecordType::A && !cut {
        asked.lock().push(name.clone());
    }
    let addresses: Vec<&str> =
        known.iter().filter(|(it, _)| *it == name).map(|(_, address)| *address).collect();
    if addresses.is_empty() {
        answer.metadata.response_code = ResponseCode::NXDomain;
    }
    answer.metadata.truncation = cut;
    for address in addresses.into_iter().filter(|_| !cut) {
        let data = match address.parse::<IpAddr>().unwrap() {
            IpAddr::V4(it) => RData::A(A(it)),
            IpAddr::V6(it) => RData::AAAA(AAAA(it)),
        };
        if data.record_type() == query.query_type() {
            answer.add_answer(Record::from_rdata(query.name().clone(), 5, data));
        }
    }
    answer.to_vec().unwrap()
}

/// The files of a pod in the namespace `metal3`, with one host alias.
fn pod(port: u16, folder: &Path) -> Names {
    let (hosts, resolv_conf) = (folder.join("hosts"), folder.join("resolv.conf"));
    std::fs::write(
        &hosts,
        "# of the kubelet\n127.0.0.1\tlocalhost\n10.1.2.3 api.site.example api # alias\nfd00::3 api\n",
    )
    .unwrap();
    let search = "search metal3.svc.cluster.local svc.cluster.local cluster.local";
    std::fs::write(&resolv_conf, format!("{search}\nnameserver 127.0.0.1\noptions ndots:5\n")).unwrap();
    Names { hosts, resolv_conf, port }
}

async fn served(known: &'static [(&'static str, &'static str)]) -> (Server, Names, TempDir) {
    let (server, folder) = (Server::start(known, false).await, tempfile::tempdir().unwrap());
    let names = pod(server.address.port(), folder.path());
    (server, names, folder)
}

async fn found(names: &Names, name: &str) -> Vec<String> {
    names.addresses(name).await.unwrap().iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn a_name_of_the_hosts_file_is_not_asked_of_a_server() {
    let (server, names, _folder) = served(&[("api.", "192.0.2.1")]).await;
    assert_eq!(found(&names, "api").await, ["10.1.2.3", "fd00::3"]);
    assert_eq!(found(&names, "API.site.example.").await, ["10.1.2.3"]);
    assert_eq!(found(&names, "localhost").await, ["127.0.0.1"]);
    assert_eq!(found(&names, "a.localhost").await, ["::1", "127.0.0.1"]);
    assert_eq!(server.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn a_name_with_fewer_dots_than_ndots_is_tried_in_each_search_domain_and_then_as_it_is() {
    let (server, names, _folder) =
        served(&[("kubernetes.default.svc.cluster.local.", "10.96.0.1"), ("a.example.com.", "192.0.2.7")])
            .await;
    assert_eq!(found(&names, "kubernetes.default").await, ["10.96.0.1"]);
    let (first, second) =
        ("kubernetes.default.metal3.svc.cluster.local.", "kubernetes.default.svc.cluster.local.");
    assert_eq!(server.asked(), [first, second]);
    assert_eq!(found(&names, "a.example.com").await, ["192.0.2.7"]);
    let searched = ["metal3.svc.cluster.local.", "svc.cluster.local.", "cluster.local.", ""];
    assert_eq!(server.asked()[2..], searched.map(|domain| format!("a.example.com.{domain}")));
}

#[tokio::test]
async fn a_name_with_a_dot_at_its_end_or_as_many_dots_as_ndots_is_asked_as_it_is() {
    let (server, names, _folder) =
        served(&[("a.example.com.", "192.0.2.7"), ("a.b.c.d.e.f.", "192.0.2.8")]).await;
    assert_eq!(found(&names, "a.example.com.").await, ["192.0.2.7"]);
    assert_eq!(found(&names, "a.b.c.d.e.f").await, ["192.0.2.8"]);
    assert_eq!(server.asked(), ["a.example.com.", "a.b.c.d.e.f."]);
}

#[tokio::test]
async fn addresses_of_both_families_are_given() {
    let (_server, names, _folder) =
        served(&[("a.example.com.", "192.0.2.7"), ("a.example.com.", "2001:db8::7")]).await;
    assert_eq!(found(&names, "a.example.com.").await, ["2001:db8::7", "192.0.2.7"]);
}

#[tokio::test]
async fn an_answer_that_is_cut_short_is_asked_for_again_over_tcp() {
    let (server, folder) =
        (Server::start(&[("a.example.com.", "192.0.2.7")], true).await, tempfile::tempdir().unwrap());
    let names = pod(server.address.port(), folder.path());
    assert_eq!(found(&names, "a.example.com.").await, ["192.0.2.7"]);
}

#[tokio::test]
async fn a_changed_file_counts_for_the_next_name() {
    let (_server, names, _folder) = served(&[("a.example.com.", "192.0.2.7")]).await;
    assert_eq!(found(&names, "a.example.com").await, ["192.0.2.7"]);
    std::fs::write(&names.hosts, "192.0.2.9 a.example.com\n").unwrap();
    assert_eq!(found(&names, "a.example.com").await, ["192.0.2.9"]);
}

#[tokio::test]
async fn a_name_without_address_is_reported_with_the_files_that_were_read() {
    let (_server, names, _folder) = served(&[]).await;
    let files = format!(
        "{}, and the DNS servers of {} give no address",
        names.hosts.display(),
        names.resolv_conf.display()
    );
    let printed = names.addresses("nowhere.example").await.unwrap_err().to_string();
    assert!(printed.starts_with(&format!("nowhere.example is not in {files}: ")), "{printed}");
    std::fs::remove_file(&names.resolv_conf).unwrap();
    let error = ApiError::transport(names.addresses("nowhere.example").await.unwrap_err());
    let printed = error.with_causes();
    assert!(printed.starts_with("no answer from the API server: nowhere.example is not in "), "{printed}");
    assert!(
        printed.contains("resolv.conf cannot be used: ") && printed.contains("No such file"),
        "{printed}"
    );
    assert_eq!(found(&names, "api").await, ["10.1.2.3", "fd00::3"], "the hosts file is enough");
    std::fs::remove_file(&names.hosts).unwrap();
    assert_eq!(found(&names, "localhost").await, ["::1", "127.0.0.1"]);
}
