//! Content negotiation: takes the `Accept` and `Content-Type` headers, gives the shape of the answer and of the body.

/// How objects are shown in the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    Full,
    /// `PartialObjectMetadata`: kind and metadata only.
    Metadata,
    /// `Table`: rows for people.
    Table,
}

/// The text of a body, sent or received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Json,
    Yaml,
    /// Only received, never sent, and only for some kinds.
    Protobuf,
}

/// What the answer looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Accepted {
    pub(crate) shape: Shape,
    pub(crate) format: Format,
}

/// How a patch body is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PatchType {
    Json,
    Merge,
    Strategic,
    Apply,
}

/// Kind of the aggregated discovery document, as `Accept` names it.
const AGGREGATED: &str = "APIGroupDiscoveryList";

/// One media range of an `Accept` header.
#[derive(Clone, Copy, Debug, Default)]
struct Range<'a> {
    essence: &'a str,
    kind: &'a str,
    group: &'a str,
    version: &'a str,
}

impl<'a> Range<'a> {
    fn parse(text: &'a str) -> Self {
        let mut parts = text.split(';').map(str::trim);
        let mut range = Self { essence: parts.next().unwrap_or_default(), ..Self::default() };
        for (key, value) in parts.filter_map(|part| part.split_once('=')) {
            match key {
                "as" => range.kind = value,
                "g" => range.group = value,
                "v" => range.version = value,
                _ => {}
            }
        }
        range
    }

    fn format(&self) -> Option<Format> {
        match self.essence {
            "" | "application/json" | "application/*" | "*/*" => Some(Format::Json),
            "application/yaml" => Some(Format::Yaml),
            _ => None,
        }
    }

    fn shape(&self) -> Option<Shape> {
        let is_meta = matches!(self.group, "" | "meta.k8s.io") && matches!(self.version, "" | "v1");
        match self.kind {
            "" => Some(Shape::Full),
            "PartialObjectMetadata" | "PartialObjectMetadataList" if is_meta => Some(Shape::Metadata),
            "Table" if is_meta => Some(Shape::Table),
            _ => None,
        }
    }
}

fn ranges(accept: Option<&str>) -> impl Iterator<Item = Range<'_>> {
    accept.unwrap_or_default().split(',').map(Range::parse)
}

/// The first media range of `accept` that the server can produce; `None` if there is none.
pub(crate) fn accepted(accept: Option<&str>) -> Option<Accepted> {
    let produce = |range: Range<'_>| Some(Accepted { shape: range.shape()?, format: range.format()? });
    ranges(accept).find_map(produce)
}

/// Whether discovery is wanted in one document rather than group by group.
pub(crate) fn wants_aggregated(accept: Option<&str>) -> bool {
    let known = |range: &Range<'_>| {
        let aggregated =
            range.kind == AGGREGATED && range.group == "apidiscovery.k8s.io" && range.version == "v2";
        range.format() == Some(Format::Json) && (range.kind.is_empty() || aggregated)
    };
    ranges(accept).find(known).is_some_and(|range| range.kind == AGGREGATED)
}

/// How a body of this type is read; no header means JSON.
pub(crate) fn body_format(content_type: Option<&str>) -> Option<Format> {
    match content_type.map_or("", essence) {
        "" | "application/json" | "*/*" => Some(Format::Json),
        "application/yaml" => Some(Format::Yaml),
        "application/vnd.kubernetes.protobuf" => Some(Format::Protobuf),
        _ => None,
    }
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
        let json = |shape| Some((shape, Format::Json));
        let table = [
            (None, json(Shape::Full)),
            (Some("*/*"), json(Shape::Full)),
            (Some("application/json"), json(Shape::Full)),
            (Some("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"), json(Shape::Metadata)),
            (Some("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"), json(Shape::Metadata)),
            (Some("application/json;as=Table;v=v1;g=meta.k8s.io,application/json"), json(Shape::Table)),
            (Some("application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"), json(Shape::Full)),
            (Some("application/yaml"), Some((Shape::Full, Format::Yaml))),
            (Some("application/vnd.kubernetes.protobuf"), None),
            (Some("application/vnd.kubernetes.protobuf,application/json"), json(Shape::Full)),
        ];
        for (accept, expected) in table {
            let found = accepted(accept).map(|it| (it.shape, it.format));
            assert_eq!(found, expected, "{accept:?}");
        }
    }

    #[test]
    fn aggregated_discovery_is_given_to_those_who_name_it_first() {
        let named = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        assert!(wants_aggregated(Some(named)));
        assert!(wants_aggregated(Some(&format!(
            "application/vnd.kubernetes.protobuf,{named},application/json"
        ))));
        assert!(!wants_aggregated(Some(&format!("application/json,{named}"))));
        assert!(!wants_aggregated(Some(&named.replace("v=v2", "v=v9"))));
        assert!(!wants_aggregated(None));
    }

    #[test]
    fn the_content_type_decides_the_kind_of_a_patch() {
        assert_eq!(patch_type(Some("application/merge-patch+json; charset=utf-8")), Some(PatchType::Merge));
        assert_eq!(patch_type(Some("application/json")), None);
        assert_eq!(patch_type(None), None);
    }
}
