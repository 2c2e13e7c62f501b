//! Versions of cloud-init, and what Debian 12 carries into its own.

use std::{fmt, str::FromStr};

/// A version of cloud-init, `YEAR.RELEASE[.PATCH]`; that of Debian 12 has its revision behind it,
/// `22.4.2-1+deb12u4`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    year: u16,
    release: u16,
    patch: u16,
    /// Update of Debian 12's package; 0 is what cloud-init released.
    debian: u8,
}

/// What Debian's revisions of its package begin with, before the number of the update.
const DEBIAN: &str = "1+deb12u";
/// The only version whose Debian revisions are known.
const IN_DEBIAN: Version = Version::of(22, 4, 2);

impl Version {
    /// The oldest version whose behaviour is known.
    pub const OLDEST: Self = Self::of(22, 4, 2);
    /// The newest version whose behaviour is known; a later one is taken to behave like it.
    pub const NEWEST: Self = Self::of(26, 2, 0);
    /// The versions whose results the model was compared with.
    pub const COMPARED: [Self; 9] = [
        Self::OLDEST,
        Self::of(23, 4, 4),
        Self::of(24, 1, 7),
        Self::of(24, 2, 0),
        Self::of(24, 4, 1),
        Self::of(25, 1, 4),
        Self::of(25, 3, 0),
        Self::of(26, 1, 0),
        Self::NEWEST,
    ];

    /// A version as cloud-init released it.
    pub const fn of(year: u16, release: u16, patch: u16) -> Self {
        Self { year, release, patch, debian: 0 }
    }

    /// The update of Debian 12's package, if it is one.
    pub(super) fn debian_update(self) -> Option<u8> {
        (self.debian > 0).then_some(self.debian)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}.{}", self.year, self.release)?;
        if self.patch > 0 {
            write!(out, ".{}", self.patch)?;
        }
        if self.debian > 0 {
            write!(out, "-{DEBIAN}{}", self.debian)?;
        }
        Ok(())
    }
}

impl FromStr for Version {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{text:?} is no version of cloud-init: write it like {} or 22.4.2, that of Debian 12 like 22.4.2-{DEBIAN}4",
                Self::NEWEST
            )
        };
        let (number, revision) = match text.split_once('-') {
            Some((number, revision)) => (number, Some(revision)),
            None => (text, None),
        };
        let mut numbers = Vec::new();
        for part in number.split('.') {
            numbers.push(part.parse::<u16>().map_err(|_| wrong())?);
        }
        let mut version = match numbers.as_slice() {
            [year, release] => Self::of(*year, *release, 0),
            [year, release, patch] => Self::of(*year, *release, *patch),
            _ => return Err(wrong()),
        };
        if version < Self::OLDEST {
            return Err(format!(
                "cloud-init {version} is too old: known are {} to {}",
                Self::OLDEST,
                Self::NEWEST
            ));
        }
        if let Some(revision) = revision {
            let update = revision.strip_prefix(DEBIAN).and_then(|update| update.parse().ok());
            version.debian = update.filter(|_| version == IN_DEBIAN).ok_or_else(wrong)?;
        }
        Ok(version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_and_written_alike_and_follow_each_other() {
        for text in ["22.4.2", "22.4.2-1+deb12u4", "24.2", "26.2"] {
            assert_eq!(text.parse::<Version>().unwrap().to_string(), text);
        }
        let versions = ["22.4.2", "22.4.2-1+deb12u1", "22.4.2-1+deb12u4", "23.1.2", "24.2", "24.4.1"];
        let parsed: Vec<Version> = versions.iter().map(|text| text.parse().unwrap()).collect();
        assert!(parsed.is_sorted());
        for wrong in ["", "22", "22.4.2-1", "22.4.2-1+deb12u", "24.2-1+deb12u4", "21.4", "a.b"] {
            assert!(wrong.parse::<Version>().is_err(), "{wrong}");
        }
    }
}
