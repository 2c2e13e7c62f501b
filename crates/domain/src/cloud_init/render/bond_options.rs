//! Which bond options a renderer knows, in which spellings.
//!
//! An option `lacp_rate` reaches the renderer as `bond_lacp_rate` or, since cloud-init translates it, as
//! `bond-lacp_rate`; the user may also have written `bond-lacp-rate`. Renderers look for some of these
//! spellings only, which is how options of two words get lost.

use std::collections::BTreeMap;

use serde_json::Value;

/// How a key must be spelled to be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Spelling {
    /// `bond_lacp_rate`
    Underscores,
    /// `bond-lacp-rate`
    Dashes,
    /// `bond-lacp_rate`
    DashThenUnderscores,
}

use Spelling as S;

/// Every spelling.
pub(super) const ANY: &[Spelling] = &[S::Underscores, S::Dashes, S::DashThenUnderscores];

impl Spelling {
    fn key(self, option: &str) -> String {
        match self {
            Self::Underscores => format!("bond_{option}"),
            Self::Dashes => format!("bond-{}", option.replace('_', "-")),
            Self::DashThenUnderscores => format!("bond-{option}"),
        }
    }
}

/// The value of an option, by the first spelling that is there.
pub(super) fn find<'o>(
    options: &'o [(String, Value)],
    option: &str,
    spellings: &[Spelling],
) -> Option<&'o Value> {
    spellings.iter().find_map(|spelling| {
        let key = spelling.key(option);
        options.iter().find(|(known, _)| *known == key).map(|(_, value)| value)
    })
}

/// The known options that are there, each value made by `write`; none where it writes nothing.
pub(super) fn known(
    options: &[(String, Value)],
    names: &[&str],
    spellings: &[Spelling],
    write: impl Fn(&Value) -> Option<Value>,
) -> BTreeMap<String, Value> {
    names
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), write(find(options, name, spellings)?)?)))
        .collect()
}
