//! What the annotations of a Metal3Cluster ask for.

use std::{collections::BTreeSet, fmt};

use capm3_api::{metadata::MetadataExt, v1beta2::Metal3Cluster, vocabulary::annotation};

use crate::host::is_subdomain;

/// Longest prefix of a label.
const MAX_PREFIX_LENGTH: usize = 253;

/// So many characters of an entry that is too long are shown: the message stands in a condition.
const SHOWN: usize = 40;

/// Which labels are synced.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    prefixes: BTreeSet<String>,
    gives_zone: bool,
}

/// An annotation that is not valid.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SettingsError {
    /// A prefix is no DNS name.
    Prefix(String),
    /// A default that does not exist.
    Default(String),
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Prefix(prefix) if prefix.len() > MAX_PREFIX_LENGTH => {
                let start: String = prefix.chars().take(SHOWN).collect();
                write!(f, "prefix {start}... must be no more than {MAX_PREFIX_LENGTH} characters")
            }
            Self::Prefix(prefix) => write!(
                f,
                "invalid prefix ({prefix}): it must be a DNS name of lower-case letters, digits, '-' and '.', without a slash"
            ),
            Self::Default(value) => {
                let start: String = value.chars().take(SHOWN).collect();
                let rest = if start.len() < value.len() { "..." } else { "" };
                write!(f, "unknown default {start:?}{rest}; supported: {}", annotation::LABEL_SYNC_TOPOLOGY)
            }
        }
    }
}

impl SettingsError {
    /// The annotation that is not valid.
    pub const fn annotation(&self) -> &'static str {
        match self {
            Self::Prefix(_) => annotation::LABEL_SYNC_PREFIXES,
            Self::Default(_) => annotation::LABEL_SYNC_DEFAULTS,
        }
    }
}

impl Settings {
    /// What a Metal3Cluster asks for; nothing if it has none of the annotations.
    pub fn of(cluster: &Metal3Cluster) -> Result<Self, SettingsError> {
        let annotation = |key: &str| cluster.metadata.annotation(key).unwrap_or_default();
        let mut settings = Self::parse(annotation(annotation::LABEL_SYNC_PREFIXES))?;
        for default in entries(annotation(annotation::LABEL_SYNC_DEFAULTS)) {
            match default {
                annotation::LABEL_SYNC_TOPOLOGY => settings.gives_zone = true,
                other => return Err(SettingsError::Default(other.to_owned())),
            }
        }
        Ok(settings)
    }

    /// Whether a Metal3Cluster has one of the annotations, whatever it says.
    pub fn is_requested(cluster: &Metal3Cluster) -> bool {
        let keys = [annotation::LABEL_SYNC_PREFIXES, annotation::LABEL_SYNC_DEFAULTS];
        keys.iter().any(|key| cluster.metadata.annotation(key).is_some())
    }

    /// The prefixes of a list. Spaces, empty entries and repetitions do not count.
    pub(super) fn parse(list: &str) -> Result<Self, SettingsError> {
        let prefixes = entries(list).map(|prefix| match is_subdomain(prefix) {
            true => Ok(prefix.to_owned()),
            false => Err(SettingsError::Prefix(prefix.to_owned())),
        });
        Ok(Self { prefixes: prefixes.collect::<Result<_, _>>()?, gives_zone: false })
    }

    /// Whether a label has a listed prefix: exactly that, not a domain below it.
    pub(super) fn covers(&self, key: &str) -> bool {
        key.split_once('/').is_some_and(|(prefix, name)| !name.is_empty() && self.prefixes.contains(prefix))
    }

    /// Whether Nodes get the failure domain as their zone.
    pub(super) const fn gives_zone(&self) -> bool {
        self.gives_zone
    }

    #[cfg(test)]
    pub(super) fn with_zone(self) -> Self {
        Self { gives_zone: true, ..self }
    }

    #[cfg(test)]
    pub(super) fn prefixes(&self) -> Vec<&str> {
        self.prefixes.iter().map(String::as_str).collect()
    }
}

/// Entries of a list that is separated by commas.
pub(super) fn entries(list: &str) -> impl Iterator<Item = &str> {
    list.split(',').map(str::trim).filter(|entry| !entry.is_empty())
}
