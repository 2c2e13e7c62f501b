//! How deeply objects may be nested. Bodies are read only to a certain depth, but patches could build deeper objects
//! step by step, which nobody could read back and which would exhaust the stack.

use serde_json::Value;

/// Levels of an object; less than what the JSON reader can read, so that lists of objects can be read, too.
pub(crate) const MAX_DEPTH: usize = 100;

/// Whether a value has at most so many levels of objects and lists. Looks no deeper than that.
pub(crate) fn fits(value: &Value, levels: usize) -> bool {
    match value {
        Value::Object(fields) => levels > 0 && fields.values().all(|field| fits(field, levels - 1)),
        Value::Array(items) => levels > 0 && items.iter().all(|item| fits(item, levels - 1)),
        _ => true,
    }
}
