//! A host whose machine went without giving it back, from the question to the free host.

use std::{
    fs,
    io::{BufRead, BufReader, Read},
    process::{Command, Stdio},
};

use capm3_api::{
    neighbours::{BareMetalHost, Machine},
    v1beta2::Metal3Machine,
};
use capm3_engine::{ApiClient, ObjectKey, ResourceKind, client::over_network};
use serde_json::{Value, json};

use crate::common::{Run, Up, capm3, repository};

const REQUEST: &str = "/metadata/annotations/capm3.metal3.io~1release";

struct Site {
    up: Up,
    runtime: tokio::runtime::Runtime,
    client: ApiClient,
}

impl Site {
    fn start() -> Self {
        let up = Up::start(&repository().join("examples/three-racks"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let text = fs::read_to_string(&up.kubeconfig).unwrap();
        let client = runtime.block_on(over_network(&text, None, "test")).unwrap();
        Self { up, runtime, client }
    }

    fn patch(&self, kind: &ResourceKind, name: &str, patch: Value) {
        let key = ObjectKey::new("metal3", name);
        self.runtime.block_on(self.client.merge_patch(kind, &key, None, &patch)).unwrap();
    }

    fn host(&self, name: &str) -> Value {
        let (kind, key) = (ResourceKind::of::<BareMetalHost>(), ObjectKey::new("metal3", name));
        self.runtime.block_on(self.client.get(&kind, &key)).unwrap().unwrap()
    }

    /// The machine goes, but its finalizer is stripped: nobody gives the host back.
    fn strip(&self, machine: &str) {
        let paused = json!({"metadata": {"annotations": {"cluster.x-k8s.io/paused": ""}}});
        let kind = ResourceKind::of::<Metal3Machine>();
        self.patch(&ResourceKind::of::<Machine>(), machine, paused.clone());
        self.patch(&kind, machine, paused);
        let key = ObjectKey::new("metal3", machine);
        self.runtime.block_on(self.client.delete(&kind, &key, None)).unwrap();
        self.patch(&kind, machine, json!({"metadata": {"finalizers": null}}));
    }

    fn withdraw(&self, host: &str) {
        let patch = json!({"metadata": {"annotations": {"capm3.metal3.io/release": null}}});
        self.patch(&ResourceKind::of::<BareMetalHost>(), host, patch);
    }

    fn release(&self, host: &str, more: &[&str]) -> Run {
        let host = format!("host/{host}");
        capm3(&[&["release", &host, "-n", "metal3", "--kubeconfig", &self.up.kubeconfig], more].concat(), "")
    }

    /// Starts a release, does something once it is requested, and gives the exit code and what went to stderr.
    fn release_while(&self, host: &str, meanwhile: impl FnOnce(u32)) -> (Option<i32>, String) {
        let mut child = Command::new(env!("CARGO_BIN_EXE_capm3"))
            .args([
                "release",
                &format!("bmh/{host}"),
                "-n",
                "metal3",
                "--yes",
                "--kubeconfig",
                &self.up.kubeconfig,
            ])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
        assert!(lines.any(|line| line.starts_with("requested: ")), "it follows the request");
        meanwhile(child.id());
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        (child.wait().unwrap().code(), stderr)
    }
}

fn has(run: &Run, code: i32, parts: &[&str]) {
    assert_eq!(run.code, code, "{}", run.text());
    for part in parts {
        assert!(run.text().contains(part), "{part}: {}", run.text());
    }
}

/// The one test that waits for the proof, which takes the manager a minute.
#[test]
fn a_host_whose_machine_is_gone_is_released_and_no_other_one_is() {
    let site = Site::start();
    let machines = site.up.list(&[ResourceKind::of::<Metal3Machine>()]);
    let used = |machine: &Value| {
        let host = machine["metadata"]["annotations"]["metal3.io/BareMetalHost"].as_str().unwrap();
        (
            machine["metadata"]["name"].as_str().unwrap().to_owned(),
            host.strip_prefix("metal3/").unwrap().to_owned(),
        )
    };
    let workers = machines.iter().map(used).filter(|(name, _)| name.contains("workers")).collect::<Vec<_>>();
    let [(gone, host), (living, living_host), ..] = workers.as_slice() else { panic!("{workers:?}") };
    let hosts = site.up.list(&[ResourceKind::of::<BareMetalHost>()]);
    let free = hosts.iter().find(|host| host["spec"]["consumerRef"].is_null()).unwrap();
    let free = free["metadata"]["name"].as_str().unwrap();
    site.strip(gone);

    let lives = format!(
        "host metal3/{living_host} is not released: Metal3Machine metal3/{living} is there and uses the host"
    );
    has(&site.release(living_host, &["--yes"]), 1, &[&lives, "kubectl delete machine "]);
    assert!(site.host(living_host).pointer(REQUEST).is_none());
    has(&site.release(free, &["--yes"]), 0, &["has no consumer: it is free\n"]);
    has(&site.release("rack9-host-9", &["--yes"]), 1, &["there is no BareMetalHost rack9-host-9"]);

    let steps = [
        "1. the image is removed from the spec\n",
        "the host is powered off\n",
        "the host is free for any machine\n",
    ];
    has(
        &site.release(host, &["--dry-run"]),
        0,
        &[&steps[..], &["nothing is written (--dry-run)\n"]].concat(),
    );
    has(&site.release(host, &[]), 2, &[&steps[..], &["there is no terminal to ask on; add --yes"]].concat());
    assert!(site.host(host).pointer(REQUEST).is_none());

    let stands = format!(
        "the request remains; to withdraw it: kubectl annotate baremetalhost {host} -n metal3 capm3.metal3.io/release-"
    );
    has(&site.release(host, &["--yes", "--timeout", "1s"]), 1, &["is not released within 1 s", &stands]);
    assert_eq!(site.host(host).pointer(REQUEST), Some(&json!(format!("metal3/{gone}"))));
    let (code, stderr) = site.release_while(host, |_| site.withdraw(host));
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("the request was removed"), "{stderr}");
    let (code, stderr) = site.release_while(host, |process| {
        assert!(Command::new("kill").args(["-INT", &process.to_string()]).status().unwrap().success());
    });
    let reported = format!(
        "error: SIGINT: host metal3/{host} is no longer followed, but its release continues; to see its progress: capm3 \
         explain host/{host} -n metal3; {stands}\n"
    );
    assert_eq!((code, stderr), (Some(130), reported));

    let run = site.release(host, &["--yes"]);
    let parts =
        ["the release is requested already\n".to_owned(), format!("released: host metal3/{host} is free\n")];
    has(&run, 0, &parts.each_ref().map(String::as_str));
    let target = format!("host/{host}");
    let reported =
        capm3(&["explain", &target, "-n", "metal3", "--kubeconfig", &site.up.kubeconfig, "-o", "json"], "");
    assert_eq!(
        (&reported.json()["isFree"], &reported.json()["consumer"]),
        (&json!(true), &Value::Null),
        "{}",
        reported.text()
    );
    assert!(site.host(living_host)["spec"]["image"].is_object(), "no other host is touched");
}
