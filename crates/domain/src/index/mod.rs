//! Indexes of a Metal3DataTemplate: which one a new claim gets.
//!
//! Takes the indexes in use and gives the lowest free one; gaps are filled first, counting starts at 0. Which
//! templates count together is decided by their keys ([`space_of_template`]). Must not know claims: whoever holds an
//! index is recorded by the Metal3Data object itself.
//!
//! ```
//! use capm3_domain::index::{FreeIndexes, Index};
//!
//! let mut free = FreeIndexes::from_used([0, 1, 3].into_iter().filter_map(Index::new));
//! assert_eq!(free.take_lowest().map(Index::get), Some(2));
//! assert_eq!(free.take_lowest().map(Index::get), Some(4));
//! ```

mod free;
mod space;

use std::fmt;

pub use free::FreeIndexes;
pub use space::{name_prefix, space_of_data, space_of_template};

/// An index of a template: 0 or more, as far as the API's 32-bit integer goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Index(i32);

impl Index {
    /// The index, unless the number is negative.
    pub const fn new(value: i32) -> Option<Self> {
        if value < 0 { None } else { Some(Self(value)) }
    }

    /// The number as the API writes it.
    pub const fn get(self) -> i32 {
        self.0
    }

    /// The same as an element of a set of numbers.
    pub fn number(self) -> u128 {
        u128::from(self.0.unsigned_abs())
    }
}

impl fmt::Display for Index {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Name of the Metal3Data that holds an index: the name itself makes the API server refuse a second holder.
pub fn data_name(prefix: &str, index: Index) -> String {
    format!("{prefix}-{index}")
}

/// Prefix and index of such a name; none if the name has another form.
///
/// ```
/// use capm3_domain::index::{Index, index_in_name};
///
/// assert_eq!(index_in_name("rack-1-7"), Index::new(7).map(|index| ("rack-1", index)));
/// assert_eq!(index_in_name("rack-1-07"), None);
/// ```
pub fn index_in_name(name: &str) -> Option<(&str, Index)> {
    let (prefix, digits) = name.rsplit_once('-')?;
    let index = digits.parse().ok().and_then(Index::new)?;
    // Neither "07" nor "+7" is what an index prints as.
    (index.to_string() == digits).then_some((prefix, index))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_numbers_are_no_indexes() {
        assert_eq!(Index::new(-1), None);
        assert_eq!(Index::new(0).map(Index::get), Some(0));
    }

    #[test]
    fn data_is_named_after_template_and_index() {
        assert_eq!(data_name("nodepool-1", Index(7)), "nodepool-1-7");
    }
}
