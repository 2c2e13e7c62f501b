//! What distinguishes objects that exist nowhere: a uid, and a time of creation after everything in the files.

use capm3_engine::ObjectKey;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// Second from which made objects are made: in the year 3000.
const LATER: i64 = 32_503_680_000;

/// The uid of a made object. It is never shown.
pub(super) fn made_uid(key: &ObjectKey) -> String {
    key.to_string()
}

/// The time of creation of the object that is made after `number` others.
pub(super) fn made_time(number: usize) -> Option<Time> {
    let second = LATER.saturating_add(i64::try_from(number).unwrap_or(i64::MAX));
    Timestamp::from_second(second).ok().map(Time)
}
