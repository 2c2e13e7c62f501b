//! Content negotiation: takes the `Accept` and `Content-Type` headers, gives the shape of the answer and of the body.

/// How objects are shown in the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Full,
    /// `PartialObjectMetadata`: kind and metadata only.
    Metadata,
}

/// How a patch body is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatchType {
    Json,
    Merge,
    Strategic,
    Apply,
}

/// The first media range of `accept` that the server can produce; `None` if there is none.
pub(crate) fn shape(accept: Option<&str>) -> Option<Shape> {
    let accept = accept.map(str::trim).filter(|accept| !accept.is_empty());
    let Some(accept) = accept else {
        return Some(Shape::Full);
    };
    accept.split(',').find_map(media_range)
}

fn media_range(range: &str) -> Option<Shape> {
    let mut parts = range.split(';').map(str::trim);
    if !matches!(parts.next()?, "application/json" | "application/*" | "*/*") {
        return None;
    }
    let transform = parts.find_map(|parameter| parameter.strip_prefix("as="));
    match transform {
        None => Some(Shape::Full),
        Some("PartialObjectMetadata" | "PartialObjectMetadataList") => Some(Shape::Metadata),
        Some(_) => None,
    }
}

/// Whether a body of this type can be read as JSON; no header means JSON.
pub(crate) fn is_json(content_type: Option<&str>) -> bool {
    content_type.map(essence).is_none_or(|essence| matches!(essence, "" | "application/json" | "*/*"))
}

/// The patch type of a `Content-Type`.
pub(crate) fn patch_type(content_type: Option<&str>) -> Option<PatchType> {
    match essence(content_type?) {
        "application/json-patch+json" => Some(PatchType::Json),
        "application/merge-patch+json" => Some(PatchType::Merge),
        "application/strategic-merge-patch+json" => Some(PatchType::Strategic),
        "application/apply-patch+yaml" | "application/apply-patch+cbor" => Some(PatchType::Apply),
        _ => None,
    }
}

fn essence(content_type: &str) -> &str {
    content_type.split(';').next().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_range_that_can_be_produced_wins() {
        let table = [
            (None, Some(Shape::Full)),
            (Some("*/*"), Some(Shape::Full)),
            (Some("application/json"), Some(Shape::Full)),
            (Some("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"), Some(Shape::Metadata)),
            (Some("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"), Some(Shape::Metadata)),
            (Some("application/json;as=Table;v=v1;g=meta.k8s.io,application/json"), Some(Shape::Full)),
            (Some("application/vnd.kubernetes.protobuf"), None),
        ];
        for (accept, expected) in table {
            assert_eq!(shape(accept), expected, "{accept:?}");
        }
    }

    #[test]
    fn patches_are_told_apart_by_content_type() {
        assert_eq!(patch_type(Some("application/merge-patch+json; charset=utf-8")), Some(PatchType::Merge));
        assert_eq!(patch_type(Some("application/json")), None);
        assert_eq!(patch_type(None), None);
    }
}
