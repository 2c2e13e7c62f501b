//! What a call has to do with one kind: its objects, its place in discovery, or its definition.

use capm3_engine::ResourceKind;
use http::Method;

use crate::faults::Call;

/// Where definitions are served.
const DEFINITIONS: [&str; 4] = ["apis", "apiextensions.k8s.io", "v1", "customresourcedefinitions"];

/// What a call asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Asked {
    /// Objects of the kind.
    List,
    /// Their changes.
    Watch,
    /// One object, to read it.
    Get,
    /// A write.
    Write,
    /// The resources of a version of the kind's group.
    Resources,
    /// The resources of all groups.
    AllResources,
    /// The definition of the kind.
    Definition,
    /// All definitions.
    Definitions,
}

/// What a call asks for that concerns the kind, and under which version of its group.
pub(super) fn asked<'a>(kind: &ResourceKind, call: &'a Call) -> Option<(Asked, &'a str)> {
    let path = call.path.split('?').next().unwrap_or_default();
    let segments: Vec<&str> = path.split('/').filter(|segment| !segment.is_empty()).collect();
    let is_read = call.method == Method::GET;
    if let Some(name) = segments.strip_prefix(&DEFINITIONS).filter(|_| is_read && !call.is_watch()) {
        return match name {
            [] => Some((Asked::Definitions, "")),
            [name] if *name == format!("{}.{}", kind.plural, kind.group) => Some((Asked::Definition, "")),
            _ => None,
        };
    }
    let (version, rest) = match segments.as_slice() {
        ["apis"] if !kind.group.is_empty() => return Some((Asked::AllResources, "")),
        ["api"] if kind.group.is_empty() => return Some((Asked::AllResources, "")),
        ["apis", group, version, rest @ ..] if *group == kind.group => (*version, rest),
        ["api", version, rest @ ..] if kind.group.is_empty() => (*version, rest),
        _ => return None,
    };
    let of_kind = match rest {
        [] => return Some((Asked::Resources, version)),
        ["namespaces", _, of_kind @ ..] if !of_kind.is_empty() => of_kind,
        of_kind => of_kind,
    };
    let what = match of_kind {
        [plural, ..] if *plural != kind.plural => return None,
        _ if !is_read => Asked::Write,
        [_] if call.is_watch() => Asked::Watch,
        [_] => Asked::List,
        _ => Asked::Get,
    };
    Some((what, version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_calls_that_concern_the_kind_are_named() {
        let kind = |group: &str, plural: &str| ResourceKind {
            group: group.to_owned(),
            version: "v1".to_owned(),
            kind: "X".to_owned(),
            plural: plural.to_owned(),
        };
        let (custom, core) = (kind("g.io", "xs"), kind("", "secrets"));
        let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let table = [
            (&custom, Method::GET, "/apis/g.io/v1/xs?limit=500", Some((Asked::List, "v1"))),
            (&custom, Method::GET, "/apis/g.io/v2/namespaces/n/xs", Some((Asked::List, "v2"))),
            (&custom, Method::GET, "/apis/g.io/v1/xs?watch=1", Some((Asked::Watch, "v1"))),
            (&custom, Method::GET, "/apis/g.io/v1/namespaces/n/xs/a", Some((Asked::Get, "v1"))),
            (&custom, Method::PATCH, "/apis/g.io/v1/namespaces/n/xs/a/status", Some((Asked::Write, "v1"))),
            (&custom, Method::POST, "/apis/g.io/v1/namespaces/n/xs", Some((Asked::Write, "v1"))),
            (&custom, Method::GET, "/apis/g.io/v1/namespaces/n/ys/xs", None),
            (&custom, Method::GET, "/apis/h.io/v1/xs", None),
            (&custom, Method::GET, "/clusters/n/c/apis/g.io/v1/xs", None),
            (&custom, Method::GET, "/apis/g.io/v1", Some((Asked::Resources, "v1"))),
            (&custom, Method::GET, "/apis", Some((Asked::AllResources, ""))),
            (&custom, Method::GET, "/api", None),
            (&custom, Method::GET, &format!("{crds}/xs.g.io"), Some((Asked::Definition, ""))),
            (&custom, Method::GET, &format!("{crds}/ys.g.io"), None),
            (&custom, Method::GET, crds, Some((Asked::Definitions, ""))),
            (&core, Method::GET, "/api/v1/secrets?limit=500", Some((Asked::List, "v1"))),
            (&core, Method::GET, "/api/v1/namespaces/n/secrets/a", Some((Asked::Get, "v1"))),
            (&core, Method::GET, "/api/v1/namespaces/n/configmaps/secrets", None),
        ];
        for (kind, method, path, expected) in table {
            let call = Call { method, path: path.to_owned() };
            assert_eq!(asked(kind, &call), expected, "{call}");
        }
    }
}
