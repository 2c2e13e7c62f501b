//! The explanation of machines in a running cluster: one of `capm3 up`, or a server that refuses something.

use std::{
    fs,
    io::{BufRead, BufReader, Write},
};

use capm3_offline::explain::wanted;
use serde_json::{Value, json};

use crate::{
    common::{Run, Up, capm3, repository},
    objects::Objects,
};

fn kubeconfig_for(server: &str, namespace: &str) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    let context = json!({"cluster": "c", "user": "u", "namespace": namespace});
    let text = json!({"apiVersion": "v1", "kind": "Config", "current-context": "c",
        "clusters": [{"name": "c", "cluster": {"server": server}}], "users": [{"name": "u", "user": {}}],
        "contexts": [{"name": "c", "context": context}]});
    fs::write(file.path(), text.to_string()).unwrap();
    file
}

/// Serves the objects of the site over HTTP, all but the Secrets, until nobody asks any more.
fn serve_without_secrets(objects: &Objects) -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let answers: Vec<(String, String)> = wanted()
        .into_iter()
        .map(|(kind, _)| {
            let is_of_kind =
                |object: &&Value| object["kind"] == kind.kind && object["apiVersion"] == kind.api_version();
            let items: Vec<&Value> = objects.0.iter().filter(is_of_kind).collect();
            (kind.collection_path("metal3"), json!({"metadata": {}, "items": items}).to_string())
        })
        .collect();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().take(wanted().len()).map(Result::unwrap) {
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map(Result::unwrap);
            let request = lines.next().unwrap_or_default();
            let headers: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            let is_for_names = headers.iter().any(|header| header.contains("as=PartialObjectMetadataList"));
            let path = request.split([' ', '?']).nth(1).unwrap_or_default();
            let answer = answers.iter().find(|(known, _)| known == path).map(|(_, body)| body.as_str());
            let (status, body) = match answer {
                // Contents of Secrets are not even asked for.
                Some(_) if path.ends_with("/secrets") && !is_for_names => ("500 Oh", "{}"),
                Some(_) if path.ends_with("/secrets") => ("403 Forbidden", r#"{"reason": "Forbidden"}"#),
                Some(body) => ("200 OK", body),
                None => ("404 Not Found", "{}"),
            };
            let head =
                format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
        }
    });
    format!("http://{address}")
}

/// The namespace is that of the kubeconfig's context.
#[test]
fn whoever_may_not_list_secrets_gets_the_rest() {
    let site =
        Objects::of_site().with("Metal3Machine", "worker-3", "/spec/metaData", json!({"name": "mine"}));
    let site = site.with("BareMetalHost", "host-4", "/spec/image", Value::Null);
    let kubeconfig = kubeconfig_for(&serve_without_secrets(&site), "metal3");
    let run = capm3(&["explain", "worker-3", "--kubeconfig", kubeconfig.path().to_str().unwrap()], "");
    assert_eq!(run.code, 0, "{}", run.text());
    assert!(run.stderr.contains("Secrets may not be listed"), "{}", run.text());
    assert!(run.stdout.contains("is being provisioned on host host-4"), "{}", run.text());
    assert!(!run.stdout.contains("Secret mine"), "{}", run.text());
}

#[test]
fn a_server_that_cannot_be_reached_ends_with_three() {
    let kubeconfig = kubeconfig_for("http://127.0.0.1:1", "metal3");
    let run = capm3(&["explain", "x", "--kubeconfig", kubeconfig.path().to_str().unwrap()], "");
    assert_eq!(run.code, 3, "{}", run.text());
    assert!(
        run.stderr.contains("cannot read metal3machines of namespace metal3: no answer"),
        "{}",
        run.text()
    );
}

/// An explanation without the age of its moment.
fn without_age(text: &str) -> String {
    let Some((before, rest)) = text.split_once(" (") else { return text.to_owned() };
    match rest.split_once(" ago)") {
        Some((age, after)) if !age.contains('\n') => format!("{before}{after}"),
        _ => text.to_owned(),
    }
}

/// Every machine of a cluster that is up, explained from the cluster and from its objects as files.
fn explained_alike_from_cluster_and_files(name: &str) -> Vec<String> {
    let up = Up::start(&repository().join("examples/troubles").join(name));
    let kinds: Vec<_> = wanted().into_iter().map(|(kind, _)| kind).collect();
    let objects = Objects(up.list(&kinds));
    let machines = objects.0.iter().filter(|object| object["kind"] == "Metal3Machine");
    let names: Vec<String> =
        machines.map(|machine| machine["metadata"]["name"].as_str().unwrap().to_owned()).collect();
    assert!(!names.is_empty());
    let explained = names.iter().map(|name| {
        let machine = format!("machine/{name}");
        let live = capm3(&["explain", &machine, "--kubeconfig", &up.kubeconfig, "-n", "metal3"], "");
        let files = objects.explain(&machine);
        assert_eq!((live.code, live.stderr.as_str()), (0, ""), "{}", live.text());
        assert!(live.stdout.contains(" ago)\n"), "{}", live.stdout);
        assert_eq!(without_age(&live.stdout), files.stdout);
        let json = |more: &[&str]| capm3(&[&["explain", &machine, "-o", "json"], more].concat(), "").json();
        assert_eq!(json(&["--kubeconfig", &up.kubeconfig, "-n", "metal3"])["stands"], live_stands(&live));
        files.stdout
    });
    explained.collect()
}

/// What stands behind the name in the first line, up to the time.
fn live_stands(run: &Run) -> String {
    let first = run.stdout.lines().next().unwrap();
    first.split(", since").next().unwrap().splitn(3, ' ').nth(2).unwrap().to_owned()
}

#[test]
fn a_running_cluster_and_its_objects_as_files_are_explained_alike() {
    let explanations = explained_alike_from_cluster_and_files("too-few-hosts");
    let stuck = explanations
        .iter()
        .filter(|explanation| explanation.contains("no host is available: 2 hosts: 2 consumed"))
        .count();
    assert_eq!((explanations.len(), stuck), (3, 1), "{explanations:#?}");
    let explanations = explained_alike_from_cluster_and_files("pool-too-small");
    let stuck: Vec<_> =
        explanations.iter().filter(|explanation| explanation.contains("IPPool my-pool  0 of 2  -")).collect();
    assert_eq!(stuck.len(), 1, "{explanations:#?}");
    assert!(stuck[0].contains("kubectl edit ippool my-pool -n metal3"), "{}", stuck[0]);
    let explanations = explained_alike_from_cluster_and_files("paused-host");
    assert!(
        explanations[0].contains("paused by annotation baremetalhost.metal3.io/paused"),
        "{}",
        explanations[0]
    );
}
