//! Patterns of what differs between any two runs: times and uids. The comparison that uses a pattern chooses the
//! replacement.

/// A time, as the API writes it.
pub const TIME: &str = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z";

/// The uid of an object.
pub const UID: &str = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}";
