//! Taking over an installation: the controllers start on objects as the Go provider leaves them, written down in the files of
//! this folder. `cluster` and `machine` are a namespace at rest, in both stored versions; a file of `states` is what is different
//! there in a state; one of `permitted` lists every change that taking over may make.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod changes;
#[path = "../common/mod.rs"]
mod common;
mod deletion;
mod leftovers;
mod namespace;
mod pause;
mod provisioning;
mod running;

use std::{collections::BTreeMap, time::Duration};

use capm3_lab::{Lab, Options, StoredAs};
use capm3_provider::crd_migration::Phases;
use common::{hosts::*, *};
use namespace::Namespace;
use serde_json::Value;

/// Longer than the provider waits until it reads the CRDs again.
const LATER: Duration = Duration::from_secs(700);

/// A namespace that has been taken over, and what it was before.
pub struct Taken {
    /// The lab.
    pub lab: Lab,
    /// The objects before, by kind and name.
    pub before: BTreeMap<String, Value>,
}

/// Starts the provider, as it is shipped, on a namespace; waits until the lab is idle and the CRDs were checked.
pub async fn take_over(namespace: &Namespace) -> Taken {
    let options = Options { crd_migration: Some(Phases::default()), ..Options::default() };
    let lab = Lab::start_on(&options, &namespace.manifests(), namespace.stored_as).await.unwrap();
    let before = changes::objects(&lab);
    assert!(before.len() > 40, "{} objects", before.len());
    rest(&lab).await;
    tokio::time::sleep(LATER).await;
    rest(&lab).await;
    Taken { lab, before }
}

impl Taken {
    /// What is different now.
    pub fn changes(&self) -> Vec<String> {
        changes::changes(&self.before, &changes::objects(&self.lab))
    }

    /// What is different in objects that are not named so, and not in lists of what was given out, where those appear.
    pub fn changes_beside(&self, names: &[&str]) -> Vec<String> {
        let mut changes = self.changes();
        changes.retain(|change| {
            let object = change.split(['.', ':']).next().unwrap_or_default();
            let lists = ["IPPool my-pool .status.", "Metal3DataTemplate my-data .status."];
            let is_a_list = lists.iter().any(|list| change.starts_with(list));
            !is_a_list && !names.iter().any(|name| object.contains(name))
        });
        changes
    }

    /// The images that the spec of a host has had, in order; null where it had none.
    pub fn images(&self, host: &str) -> Vec<Value> {
        self.values(host, "/spec/image")
    }

    /// The states that a host has been in, in order.
    pub fn states(&self, host: &str) -> Vec<Value> {
        self.values(host, "/status/provisioning/state")
    }

    fn values(&self, host: &str, pointer: &str) -> Vec<Value> {
        let mut values: Vec<Value> = Vec::new();
        replay(&self.lab, &[BARE_METAL_HOSTS], |_, object| {
            // The first revision is that of a host without status.
            if name(object) == host && object.get("status").is_some() {
                values.push(object.pointer(pointer).cloned().unwrap_or_default());
            }
        });
        assert!(!values.is_empty(), "no revision of {host}");
        values.dedup();
        values
    }

    /// Asserts that no host was ever given an image over another one, nor the same one twice.
    pub fn assert_images_are_written_once(&self) {
        let hosts = self.lab.objects("BareMetalHost");
        assert!(!hosts.is_empty());
        for host in hosts {
            let written = self.images(&name(&host)).iter().skip(1).filter(|image| !image.is_null()).count();
            let started_blank = self.images(&name(&host))[0].is_null();
            assert!(
                written <= usize::from(started_blank),
                "{}: {:?}",
                name(&host),
                self.images(&name(&host))
            );
        }
    }

    /// Asserts that these hosts were left alone: the same image in spec, and never another state than this one.
    pub fn assert_left_alone(&self, hosts: &[&str], state: &str) {
        for host in hosts {
            assert_eq!(self.states(host), [state], "{host}");
            assert_eq!(self.images(host).len(), 1, "{host}: {:?}", self.images(host));
        }
    }
}

/// The name of a list of permitted changes, which differ by version.
pub fn by_version(name: &str, stored_as: StoredAs) -> String {
    match stored_as {
        StoredAs::V1Beta1 => format!("{name}-v1beta1"),
        StoredAs::V1Beta2 => format!("{name}-v1beta2"),
    }
}
