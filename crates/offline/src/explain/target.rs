//! Which machine or host is meant.

use std::{fmt, str::FromStr};

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{BareMetalHost, Machine},
    v1beta2::Metal3Machine,
};
use capm3_engine::{Object, ObjectKey, Reader};
use capm3_provider::indexes::MACHINES_BY_OWNER;
use thiserror::Error;

use super::Site;
use crate::nearest::nearest;

/// A machine or a host as people name it: `machine/NAME`, `metal3machine/NAME`, `m3m/NAME`, or `NAME`; `host/NAME`,
/// `baremetalhost/NAME`, or `bmh/NAME`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    kind: TargetKind,
    name: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TargetKind {
    /// Either, that of Cluster API first.
    Machine,
    /// The Metal3Machine.
    Metal3Machine,
    /// Either, the Metal3Machine first.
    Any,
    /// The BareMetalHost.
    Host,
}

/// Why a text names neither a machine nor a host.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TargetError {
    /// Something else is named.
    #[error("{0:?} is not a kind that explain supports; use machine/NAME, metal3machine/NAME or host/NAME")]
    Kind(String),
    /// No name is left.
    #[error("expected exactly one name in {0:?}; use machine/NAME or host/NAME")]
    NoName(String),
}

/// Why there is nothing to explain.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FindError {
    /// There is no such machine or host.
    #[error("there is no {what} {name} in {place}{hint}")]
    Missing {
        /// Kind that was looked for.
        what: &'static str,
        /// Name that was looked for.
        name: String,
        /// Where it was looked for.
        place: String,
        /// What may be meant, or what to do.
        hint: String,
    },
    /// The Machine names no Metal3Machine.
    #[error("Machine {machine} has no Metal3Machine yet: spec.infrastructureRef names none")]
    NotMade {
        /// The Machine.
        machine: ObjectKey,
    },
    /// The Machine names a Metal3Machine that is not there.
    #[error("Machine {machine} {}: spec.infrastructureRef names Metal3Machine {name}, which is {}",
        if *.is_lost { "has lost its Metal3Machine" } else { "has no Metal3Machine" },
        if *.is_lost { "gone; delete the Machine, so that its owner makes another one" } else { "not found" })]
    NotThere {
        /// The Machine.
        machine: ObjectKey,
        /// The Metal3Machine.
        name: String,
        /// Whether it was there once: the Machine has a Node or a provider ID.
        is_lost: bool,
    },
    /// Several namespaces have one.
    #[error("{name} is in several namespaces: {}; choose one with -n", .namespaces.join(", "))]
    Ambiguous {
        /// Name that was looked for.
        name: String,
        /// The namespaces.
        namespaces: Vec<String>,
    },
}

impl FindError {
    /// Whether another call is the way out.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Ambiguous { .. })
    }
}

impl Target {
    /// Whether a host is meant.
    pub fn is_host(&self) -> bool {
        self.kind == TargetKind::Host
    }
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        let (kind, name) = match text.split_once('/') {
            None => (TargetKind::Any, text),
            Some((kind, name)) => (kind.parse()?, name),
        };
        if name.is_empty() || name.contains('/') {
            return Err(TargetError::NoName(text.to_owned()));
        }
        Ok(Self { kind, name: name.to_owned() })
    }
}

impl FromStr for TargetKind {
    type Err = TargetError;

    /// As kubectl takes and prints kinds: any case, one or many, with or without the group.
    fn from_str(text: &str) -> Result<Self, TargetError> {
        let lower = text.to_lowercase();
        match lower.split('.').next().unwrap_or_default() {
            "machine" | "machines" | "ma" => Ok(Self::Machine),
            "metal3machine" | "metal3machines" | "m3m" | "m3machine" | "m3machines" => {
                Ok(Self::Metal3Machine)
            }
            "host" | "hosts" | "baremetalhost" | "baremetalhosts" | "bmh" | "bmhost" => Ok(Self::Host),
            _ => Err(TargetError::Kind(text.to_owned())),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// The Metal3Machine or BareMetalHost that is meant, in one namespace or in any.
pub fn find(site: &Site, target: &Target, namespace: Option<&str>) -> Result<ObjectKey, FindError> {
    let inside = |key: &ObjectKey| namespace.is_none_or(|namespace| key.namespace == namespace);
    let ours: Vec<ObjectKey> = site.all::<Metal3Machine>().iter().map(|m| m.key()).filter(inside).collect();
    let owners: Vec<_> = site.all::<Machine>().into_iter().filter(|m| inside(&m.key())).collect();
    let own = || one(target, ours.iter().filter(|key| key.name == target.name).cloned().collect());
    let of_owner = || {
        let named = owners.iter().filter(|m| m.metadata.name_str() == target.name);
        one(target, named.map(|m| m.key()).collect())?.map(|key| infrastructure(site, &key)).transpose()
    };
    let found = match target.kind {
        TargetKind::Host => return find_host(site, target, namespace),
        TargetKind::Metal3Machine => own()?,
        TargetKind::Any => match own()? {
            None => of_owner()?,
            found => found,
        },
        TargetKind::Machine => match of_owner() {
            Ok(Some(found)) => Some(found),
            // A Metal3Machine of this name may be older than its Machine's reference to it.
            other => own()?.map_or(other, |key| Ok(Some(key)))?,
        },
    };
    found
        .ok_or_else(|| missing(target, namespace, &ours, &owners.iter().map(|m| m.key()).collect::<Vec<_>>()))
}

/// The BareMetalHost that is meant.
fn find_host(site: &Site, target: &Target, namespace: Option<&str>) -> Result<ObjectKey, FindError> {
    let inside = |key: &ObjectKey| namespace.is_none_or(|namespace| key.namespace == namespace);
    let hosts: Vec<ObjectKey> = site.all::<BareMetalHost>().iter().map(|h| h.key()).filter(inside).collect();
    let found = one(target, hosts.iter().filter(|key| key.name == target.name).cloned().collect())?;
    found.ok_or_else(|| missing(target, namespace, &hosts, &[]))
}

fn one(target: &Target, mut found: Vec<ObjectKey>) -> Result<Option<ObjectKey>, FindError> {
    if found.len() > 1 {
        let namespaces = found.into_iter().map(|key| key.namespace).collect();
        return Err(FindError::Ambiguous { name: target.name.clone(), namespaces });
    }
    Ok(found.pop())
}

/// The Metal3Machine of a Machine: the one that it refers to, else the one that it owns.
fn infrastructure(site: &Site, machine: &ObjectKey) -> Result<ObjectKey, FindError> {
    let owner = site.objects.get::<Machine>(machine);
    let named = owner.as_ref().and_then(|m| m.spec.infrastructure_ref.as_ref()?.name.clone());
    let named_key = named.as_ref().map(|name| ObjectKey::new(&machine.namespace, name));
    if let Some(key) = named_key.filter(|key| site.objects.get::<Metal3Machine>(key).is_some()) {
        return Ok(key);
    }
    let owned = site.objects.by_index(&MACHINES_BY_OWNER, &machine.to_string());
    owned.first().map(|owned| owned.key()).ok_or_else(|| match named {
        Some(name) => {
            let is_lost = owner
                .is_some_and(|machine| machine.node_name().is_some() || machine.spec.provider_id.is_some());
            FindError::NotThere { machine: machine.clone(), name, is_lost }
        }
        None => FindError::NotMade { machine: machine.clone() },
    })
}

fn missing(target: &Target, namespace: Option<&str>, ours: &[ObjectKey], owners: &[ObjectKey]) -> FindError {
    let what = match target.kind {
        TargetKind::Host => "BareMetalHost",
        TargetKind::Metal3Machine => "Metal3Machine",
        TargetKind::Machine | TargetKind::Any => "Machine or Metal3Machine",
    };
    let known = ours.iter().chain(owners.iter().filter(|_| target.kind != TargetKind::Metal3Machine));
    let known: Vec<&ObjectKey> = known.collect();
    let guess = nearest(&target.name, known.iter().map(|key| key.name.as_str()));
    let hint = match (guess, known.is_empty()) {
        (Some(name), _) => format!("; did you mean {name}?"),
        (None, true) => {
            let objects = if target.is_host() { "hosts" } else { "machines" };
            match namespace {
                Some(_) => format!("; this namespace has no {objects}, choose another one with -n"),
                None => format!("; the files have no {objects}"),
            }
        }
        (None, false) => String::new(),
    };
    let place = namespace.map_or("the files".to_owned(), |namespace| format!("namespace {namespace}"));
    FindError::Missing { what, name: target.name.clone(), place, hint }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_and_hosts_are_named_as_kubectl_names_them() {
        let table = [
            ("m", TargetKind::Any),
            ("machine/m", TargetKind::Machine),
            ("Machines/m", TargetKind::Machine),
            ("machine.cluster.x-k8s.io/m", TargetKind::Machine),
            ("m3m/m", TargetKind::Metal3Machine),
            ("metal3machine.infrastructure.cluster.x-k8s.io/m", TargetKind::Metal3Machine),
            ("host/m", TargetKind::Host),
            ("bmh/m", TargetKind::Host),
            ("BareMetalHosts.metal3.io/m", TargetKind::Host),
        ];
        for (text, kind) in table {
            assert_eq!(text.parse(), Ok(Target { kind, name: "m".to_owned() }), "{text}");
        }
        for text in ["pod/m", "/m"] {
            assert!(matches!(text.parse::<Target>(), Err(TargetError::Kind(_))), "{text}");
        }
        for text in ["machine/", "machine/a/b", ""] {
            assert!(matches!(text.parse::<Target>(), Err(TargetError::NoName(_))), "{text}");
        }
    }
}
