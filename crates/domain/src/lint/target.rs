//! What reads network data: agents on images, and services that check it by a schema.

use std::{collections::BTreeMap, fmt};

use serde::{Serialize, Serializer};

use crate::cloud_init::{self, Renderer, Version};

/// A consumer of network data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// cloud-init of some version with some renderer.
    CloudInit(cloud_init::Target),
    /// glean, on ramdisks and small images.
    Glean,
    /// Talos Linux.
    Talos,
    /// Ironic, which checks the network data of its ramdisk by a schema.
    Ironic,
    /// The schema of OpenStack Nova.
    Nova,
}

/// Versions of cloud-init that stand for all: what happens between two of them is not known.
const VERSIONS: [Version; 9] = Version::COMPARED;

const OTHERS: [(&str, Target); 4] =
    [("glean", Target::Glean), ("talos", Target::Talos), ("ironic", Target::Ironic), ("nova", Target::Nova)];

impl Target {
    /// Every known reader of the config drive. Ironic and the schema of Nova judge what is written for a ramdisk; a template never
    /// passes them, so they are asked only where they are named.
    pub fn all() -> Vec<Self> {
        let cloud_init = VERSIONS.into_iter().flat_map(|version| {
            Renderer::ALL.map(|renderer| Self::CloudInit(cloud_init::Target { renderer, version }))
        });
        cloud_init.chain([Self::Glean, Self::Talos]).collect()
    }

    /// The targets that a user means: `cloud-init`, `cloud-init=VERSION`, `cloud-init=VERSION,RENDERER`,
    /// `cloud-init=RENDERER` or the name of another one.
    pub fn parse(text: &str) -> Result<Vec<Self>, String> {
        let (name, options) = text.split_once('=').unwrap_or((text, ""));
        if let Some((_, target)) = OTHERS.iter().find(|(known, _)| *known == text) {
            return Ok(vec![*target]);
        }
        if name != "cloud-init" {
            let names = OTHERS.map(|(name, _)| name).join(", ");
            return Err(format!(
                "{text:?} is no target: use cloud-init=VERSION,RENDERER (either may be left out), {names}"
            ));
        }
        let (mut versions, mut renderers) = (VERSIONS.to_vec(), Renderer::ALL.to_vec());
        for option in options.split(',').filter(|option| !option.is_empty()) {
            if option.starts_with(|c: char| c.is_ascii_digit()) {
                versions = vec![option.parse()?];
            } else {
                renderers = vec![option.parse::<cloud_init::Target>()?.renderer];
            }
        }
        let of = |version| {
            renderers
                .iter()
                .map(move |renderer| Self::CloudInit(cloud_init::Target { renderer: *renderer, version }))
        };
        Ok(versions.into_iter().flat_map(of).collect())
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CloudInit(target) => write!(f, "{target}"),
            Self::Glean => f.write_str("glean"),
            Self::Talos => f.write_str("Talos"),
            Self::Ironic => f.write_str("Ironic"),
            Self::Nova => f.write_str("the Nova schema"),
        }
    }
}

impl Serialize for Target {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Targets in few words: `cloud-init 22.4.2 to 24.1.7 with netplan, networkd; glean`.
pub fn describe(targets: &[Target]) -> String {
    let mut versions_of: BTreeMap<Renderer, Vec<Version>> = BTreeMap::new();
    for target in targets {
        if let Target::CloudInit(target) = target {
            versions_of.entry(target.renderer).or_default().push(target.version);
        }
    }
    let mut renderers_of: Vec<(String, Vec<&'static str>)> = Vec::new();
    for (renderer, mut versions) in versions_of {
        versions.sort_unstable();
        let spans = spans(&versions);
        match renderers_of.iter_mut().find(|(known, _)| *known == spans) {
            Some((_, renderers)) => renderers.push(renderer.name()),
            None => renderers_of.push((spans, vec![renderer.name()])),
        }
    }
    let every = Renderer::ALL.len();
    let cloud_init =
        renderers_of.into_iter().map(|(spans, renderers)| match (spans.as_str(), renderers.len()) {
            ("", count) if count == every => "every cloud-init".to_owned(),
            ("", _) => format!("every cloud-init with {}", renderers.join(", ")),
            (_, count) if count == every => format!("cloud-init {spans}"),
            _ => format!("cloud-init {spans} with {}", renderers.join(", ")),
        });
    let others = targets.iter().filter(|target| !matches!(target, Target::CloudInit(_)));
    cloud_init.chain(others.map(ToString::to_string)).collect::<Vec<_>>().join("; ")
}

/// Known versions without a gap become `FIRST to LAST`; all of them, nothing.
fn spans(versions: &[Version]) -> String {
    if VERSIONS.iter().all(|version| versions.contains(version)) {
        return String::new();
    }
    let mut spans: Vec<(Version, Version)> = Vec::new();
    for version in versions {
        let follows = |last: Version| {
            let known = VERSIONS.iter().position(|known| *known == last);
            known.is_some_and(|at| VERSIONS.get(at + 1) == Some(version))
        };
        match spans.last_mut() {
            Some((_, last)) if follows(*last) => *last = *version,
            _ => spans.push((*version, *version)),
        }
    }
    let words = spans.into_iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first} to {last}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_are_read_and_what_is_left_out_means_all() {
        for (text, count) in [
            ("cloud-init", 54),
            ("cloud-init=24.1.7", 6),
            ("cloud-init=netplan", 9),
            ("cloud-init=24.1.7,netplan", 1),
            ("glean", 1),
        ] {
            assert_eq!(Target::parse(text).map(|targets| targets.len()), Ok(count), "{text}");
        }
        assert_eq!(Target::all().len(), 56);
        for wrong in ["", "glean=1", "cloud-init=21.1", "cloud-init=ifupdown", "ignition"] {
            assert!(Target::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn many_targets_are_described_in_few_words() {
        let of = |texts: &[&str]| {
            describe(&texts.iter().flat_map(|text| Target::parse(text).unwrap()).collect::<Vec<_>>())
        };
        for (texts, words) in [
            (&["cloud-init"][..], "every cloud-init"),
            (&["cloud-init=netplan", "talos"], "every cloud-init with netplan; Talos"),
            (&["cloud-init=24.1.7", "cloud-init=24.2"], "cloud-init 24.1.7 to 24.2"),
            (
                &["cloud-init=22.4.2,eni", "cloud-init=24.2,eni", "cloud-init=24.4.1,eni"],
                "cloud-init 22.4.2, 24.2 to 24.4.1 with eni",
            ),
            (&["glean", "nova"], "glean; the Nova schema"),
            (&[], ""),
        ] {
            assert_eq!(of(texts), words);
        }
    }
}
