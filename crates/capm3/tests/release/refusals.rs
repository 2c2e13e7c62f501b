//! What `release` does where the server does not serve something, has changed something, or refuses.

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::{
    common::{Run, capm3},
    fake::{Asked, orphan, page, serve},
};

const HOST: &str = "/apis/metal3.io/v1alpha1/namespaces/ns/baremetalhosts/h";

fn release(kubeconfig: &tempfile::NamedTempFile, more: &[&str]) -> Run {
    let path = kubeconfig.path().to_str().unwrap();
    capm3(&[&["release", "host/h", "--kubeconfig", path], more].concat(), "")
}

#[test]
fn where_metal3machines_are_not_served_nothing_is_written() {
    let kubeconfig = serve(|asked| match asked {
        Asked { method, .. } if method != "get" => panic!("nothing may be written"),
        Asked { path, .. } if path.ends_with("/baremetalhosts") => page(json!([orphan("1")])),
        Asked { path, .. } if path.ends_with("/metal3machines") => (404, json!({})),
        _ => page(json!([])),
    });
    let run = release(&kubeconfig, &["--yes"]);
    assert_eq!((run.code, run.stdout.as_str()), (3, ""), "{}", run.text());
    for part in [
        "Metal3Machine v1beta2 is not served: cannot check whether a machine is gone\n",
        "error: host ns/h is not released: Metal3Machine ns/m, which consumes this host, cannot be read: the kind is not served;",
    ] {
        assert!(run.stderr.contains(part), "{part}: {}", run.text());
    }
    let path = kubeconfig.path().to_str().unwrap();
    let reported = capm3(&["explain", "host/h", "--kubeconfig", path], "");
    assert!(reported.stdout.contains("names a machine that cannot be read\n"), "{}", reported.text());
    assert!(reported.stderr.contains("Metal3Machine v1beta2 is not served"), "{}", reported.text());
}

/// The request is written on the very version of the host that was shown.
#[test]
fn a_host_that_changes_meanwhile_is_read_and_shown_again() {
    let patches = Arc::new(Mutex::new(Vec::<Value>::new()));
    let seen = Arc::clone(&patches);
    let kubeconfig = serve(move |asked| {
        let mut patches = seen.lock().unwrap();
        match asked {
            Asked { method, body, .. } if method == "patch" => {
                patches.push(body);
                match patches.len() {
                    1 => (409, json!({"kind": "Status", "reason": "Conflict", "message": "changed"})),
                    _ => (200, orphan("3")),
                }
            }
            Asked { path, .. } if path.ends_with("/baremetalhosts") => {
                let mut host = orphan(&format!("{}", patches.len() + 1));
                host["spec"]["image"]["url"] = json!(format!("http://image-{}", patches.len() + 1));
                page(json!([host]))
            }
            _ => page(json!([])),
        }
    });
    let run = release(&kubeconfig, &["--yes", "--no-wait"]);
    assert_eq!(run.code, 0, "{}", run.text());
    assert!(run.stdout.contains("http://image-1") && run.stdout.contains("http://image-2"), "{}", run.text());
    assert!(
        run.stdout.ends_with("the release is requested; `capm3 explain host/h -n ns` shows its progress\n")
    );
    let request = |version: &str| json!({"metadata": {"resourceVersion": version, "annotations": {"capm3.metal3.io/release": "ns/m"}}});
    assert_eq!(*patches.lock().unwrap(), [request("1"), request("2")]);
}

#[test]
fn a_refusal_of_the_manager_is_printed_with_its_text() {
    let mut is_written = false;
    let kubeconfig = serve(move |asked| match asked {
        Asked { method, .. } if method == "patch" => {
            is_written = true;
            (200, orphan("2"))
        }
        // The manager has taken the request off.
        Asked { path, .. } if path == HOST => (200, orphan("3")),
        Asked { path, .. } if path.ends_with("/baremetalhosts") => page(json!([orphan("1")])),
        Asked { path, .. } if path.ends_with("/events") => {
            let refused = |name: &str, time: &str| {
                json!({"metadata": {"name": name}, "reason": "ReleaseRefused", "lastTimestamp": time,
                    "message": format!("the host is not released: {name}"),
                    "involvedObject": {"kind": "BareMetalHost", "namespace": "ns", "name": "h"}})
            };
            let (old, new) = (refused("an old reason", "1"), refused("a new reason", "2"));
            page(if is_written { json!([new, old]) } else { json!([old]) })
        }
        _ => page(json!([])),
    });
    let run = release(&kubeconfig, &["--yes"]);
    assert_eq!(run.code, 1, "{}", run.text());
    assert!(
        run.stderr.contains(
            "the manager refuses the release of host ns/h: the host is not released: a new reason\n"
        ),
        "{}",
        run.text()
    );
}
