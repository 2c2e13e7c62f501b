//! The machine's record of its host.

use capm3_api::{metadata::MetadataExt, v1beta2::Metal3Machine, vocabulary::annotation};

/// The record cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("annotation metal3.io/BareMetalHost is \"{0}\", expected \"<namespace>/<host>\"")]
pub struct HostAnnotationError(pub String);

/// Name of the host that the machine has recorded, always of the machine's own namespace: the namespace in the record
/// is not looked at, so that no machine reaches into another namespace.
///
/// ```
/// use capm3_domain::host::annotated_host;
///
/// let machine = serde_json::from_str(
///     r#"{"metadata": {"annotations": {"metal3.io/BareMetalHost": "ns/node-7"}}}"#).unwrap();
/// assert_eq!(annotated_host(&machine), Ok(Some("node-7")));
/// ```
pub fn annotated_host(machine: &Metal3Machine) -> Result<Option<&str>, HostAnnotationError> {
    let Some(text) = machine.metadata.annotation(annotation::HOST) else {
        return Ok(None);
    };
    let name = text.split_once('/').map_or(text, |(_, name)| name);
    if name.is_empty() || name.contains('/') {
        return Err(HostAnnotationError(text.to_owned()));
    }
    Ok(Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_is_a_name_with_or_without_namespace() {
        let table = [
            (Some("ns/node-7"), Ok(Some("node-7"))),
            (Some("node-7"), Ok(Some("node-7"))),
            (Some("other/node-7"), Ok(Some("node-7"))),
            (None, Ok(None)),
            (Some("a/b/c"), Err("a/b/c")),
            (Some("ns/"), Err("ns/")),
            (Some(""), Err("")),
        ];
        for (text, expected) in table {
            let mut machine = Metal3Machine::default();
            let key = annotation::HOST.to_owned();
            machine.metadata.annotations = text.map(|text| [(key, text.to_owned())].into());
            let expected = expected.map_err(|text| HostAnnotationError(text.to_owned()));
            assert_eq!(annotated_host(&machine), expected, "{text:?}");
        }
    }
}
