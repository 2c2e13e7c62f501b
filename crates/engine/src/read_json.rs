//! Reads JSON text that may hold objects of any kind.
//!
//! One way for all texts, because the code that reads a kind is compiled again for every other one.

use serde::{Deserialize, de::Error};

/// Reads a value of a Rust type from JSON text.
pub(crate) fn read_json<'a, T: Deserialize<'a>>(text: &'a [u8]) -> serde_json::Result<T> {
    let text = std::str::from_utf8(text).map_err(serde_json::Error::custom)?;
    serde_json::from_str(text)
}
