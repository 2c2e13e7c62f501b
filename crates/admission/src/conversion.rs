//! Objects of any served version, in the stored one and back.

use std::borrow::Cow;

use capm3_api::{conversion, crd, v1beta1, v1beta2};
use serde_json::Value;

use crate::{Denial, kinds::text};

/// Gives an object of the provider in another version of its kind; `to` is the whole `apiVersion`.
///
/// # Errors
/// A sentence that says why it cannot be done.
pub fn convert(object: Value, to: &str) -> Result<Value, String> {
    conversion::convert(object, to).map_err(|error| error.to_string())
}

/// Whether an object is of the older version.
pub(crate) fn is_older(object: &Value) -> bool {
    text(object, "/apiVersion") == v1beta1::API_VERSION
}

/// The object in the version in which it is stored.
pub(crate) fn stored(object: &Value) -> Result<Cow<'_, Value>, Box<Denial>> {
    if is_older(object) {
        convert_or_refuse(object, v1beta2::API_VERSION).map(Cow::Owned)
    } else {
        Ok(Cow::Borrowed(object))
    }
}

/// The object as a server would read it from its storage: in the stored version, with what the schema fills in. Two
/// objects can be compared only so: one may have been stored before it was filled in, or come by way of the older version.
pub(crate) fn as_read(object: &Value) -> Result<Value, Box<Denial>> {
    let mut read = stored(object)?.into_owned();
    let kind = text(&read, "/kind").to_owned();
    crd::fill_in(&kind, v1beta2::VERSION, &mut read);
    Ok(read)
}

/// The object in the older version.
pub(crate) fn older(object: &Value) -> Result<Value, Box<Denial>> {
    convert_or_refuse(object, v1beta1::API_VERSION)
}

fn convert_or_refuse(object: &Value, to: &str) -> Result<Value, Box<Denial>> {
    convert(object.clone(), to).map_err(|message| Box::new(Denial::bad_request(message)))
}
