//! The path and query grammar of the Kubernetes API: takes a URI, gives what is asked. Knows no resources.

use std::num::{IntErrorKind, ParseIntError};

use crate::{percent::decode, table::Include};

/// What a path names, before anybody looks whether it exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    Health,
    Version,
    /// `/api`
    CoreVersions,
    /// `/apis`
    Groups,
    /// `/openapi/v2`
    OpenApiV2,
    /// `/openapi/v3`
    OpenApiIndex,
    /// `/openapi/v3/api/v1` or `/openapi/v3/apis/<group>/<version>`
    OpenApi {
        group: String,
        version: String,
    },
    /// `/apis/<group>`
    Group(String),
    /// `/api/v1` or `/apis/<group>/<version>`
    Resources {
        group: String,
        version: String,
    },
    Objects(Target),
}

/// Objects of one resource: all of them, those of one namespace, or one.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Target {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) plural: String,
    pub(crate) namespace: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) subresource: Option<String>,
}

/// Reads a path that no longer has a cluster prefix.
pub(crate) fn route(path: &str) -> Option<Route> {
    // One slash at the end means nothing, except where Kubernetes answers by exact path.
    let trimmed = path.strip_prefix('/')?;
    let trimmed = match trimmed.strip_suffix('/') {
        Some(rest) if !matches!(rest.split('/').next(), Some("healthz" | "readyz" | "livez" | "openapi")) => {
            rest
        }
        _ => trimmed,
    };
    let segments: Vec<String> = trimmed.split('/').map(|part| decode(part, false)).collect();
    // Such segments name nothing, and nobody behind a proxy should be able to pretend they do.
    if segments
        .iter()
        .any(|part| matches!(part.as_str(), "." | "..") || part.contains(['/', '%', '\\', '\0']))
    {
        return None;
    }
    let parts: Vec<&str> = segments.iter().map(String::as_str).collect();
    let in_every_namespace = matches!(parts.as_slice(), [.., "namespaces", "", plural] if !plural.is_empty());
    if parts.iter().filter(|part| part.is_empty()).count() > usize::from(in_every_namespace) {
        return None;
    }
    match parts.as_slice() {
        ["healthz" | "readyz" | "livez", ..] => Some(Route::Health),
        ["version"] => Some(Route::Version),
        ["api"] => Some(Route::CoreVersions),
        ["apis"] => Some(Route::Groups),
        ["openapi", "v2"] => Some(Route::OpenApiV2),
        ["openapi", "v3"] => Some(Route::OpenApiIndex),
        ["openapi", "v3", "api", version] => {
            Some(Route::OpenApi { group: String::new(), version: (*version).to_owned() })
        }
        ["openapi", "v3", "apis", group, version] => {
            Some(Route::OpenApi { group: (*group).to_owned(), version: (*version).to_owned() })
        }
        ["apis", group] => Some(Route::Group((*group).to_owned())),
        ["api", version] => Some(Route::Resources { group: String::new(), version: (*version).to_owned() }),
        ["apis", group, version] => {
            Some(Route::Resources { group: (*group).to_owned(), version: (*version).to_owned() })
        }
        ["api", version, rest @ ..] => target("", version, rest).map(Route::Objects),
        ["apis", group, version, rest @ ..] => target(group, version, rest).map(Route::Objects),
        _ => None,
    }
}

fn target(group: &str, version: &str, rest: &[&str]) -> Option<Target> {
    let (namespace, plural, rest) = match rest {
        // A namespace is itself an object with subresources, so these two words are not plurals.
        ["namespaces", "", plural] => (None, *plural, rest.get(3..)?),
        ["namespaces", _, "status" | "finalize"] => (None, "namespaces", rest.get(1..)?),
        ["namespaces", namespace, plural, rest @ ..] => (Some((*namespace).to_owned()), *plural, rest),
        [plural, rest @ ..] => (None, *plural, rest),
        [] => return None,
    };
    let (name, subresource) = match rest {
        [] => (None, None),
        [name] => (Some((*name).to_owned()), None),
        [name, subresource] => (Some((*name).to_owned()), Some((*subresource).to_owned())),
        _ => return None,
    };
    let (group, version, plural) = (group.to_owned(), version.to_owned(), plural.to_owned());
    Some(Target { group, version, plural, namespace, name, subresource })
}

/// The query parameters the server understands; others are ignored, as upstream does.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(crate) struct Query {
    pub(crate) label_selector: String,
    pub(crate) field_selector: String,
    pub(crate) limit: Option<usize>,
    pub(crate) continue_token: String,
    pub(crate) resource_version: String,
    pub(crate) resource_version_match: String,
    pub(crate) watch: bool,
    pub(crate) timeout_seconds: Option<u64>,
    pub(crate) allow_bookmarks: bool,
    pub(crate) send_initial_events: Option<bool>,
    /// As given; judged by those who write.
    pub(crate) dry_run: String,
    /// As given, too.
    pub(crate) field_validation: String,
    /// As given, too.
    pub(crate) field_manager: String,
    pub(crate) include: Include,
    pub(crate) propagation_policy: Option<String>,
    pub(crate) orphan_dependents: Option<bool>,
}

impl Query {
    /// Reads a query string.
    ///
    /// # Errors
    /// A sentence about the first parameter that cannot be read.
    pub(crate) fn parse(query: &str) -> Result<Self, String> {
        let mut parsed = Self::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            parsed.set(&decode(key, true), decode(value, true))?;
        }
        Ok(parsed)
    }

    fn set(&mut self, key: &str, value: String) -> Result<(), String> {
        match key {
            "labelSelector" => self.label_selector = value,
            "fieldSelector" => self.field_selector = value,
            "limit" => self.limit = usize::try_from(number(&value)?).ok().filter(|limit| *limit > 0),
            "continue" => self.continue_token = value,
            "resourceVersion" => self.resource_version = value,
            "resourceVersionMatch" => self.resource_version_match = value,
            "watch" => self.watch = flag(&value),
            "timeoutSeconds" => {
                self.timeout_seconds = u64::try_from(number(&value)?).ok().filter(|seconds| *seconds > 0)
            }
            "allowWatchBookmarks" => self.allow_bookmarks = flag(&value),
            "sendInitialEvents" => self.send_initial_events = Some(flag(&value)),
            "dryRun" => self.dry_run = value,
            "fieldValidation" => self.field_validation = value,
            "fieldManager" => self.field_manager = value,
            "includeObject" => self.include = include(&value)?,
            "propagationPolicy" => self.propagation_policy = Some(value).filter(|value| !value.is_empty()),
            "orphanDependents" => self.orphan_dependents = Some(flag(&value)),
            _ => {}
        }
        Ok(())
    }
}

/// Upstream takes anything but these two for true.
fn flag(value: &str) -> bool {
    !matches!(value, "false" | "0")
}

fn include(value: &str) -> Result<Include, String> {
    match value {
        "" | "Metadata" => Ok(Include::Metadata),
        "None" => Ok(Include::None),
        "Object" => Ok(Include::Object),
        other => Err(format!("unrecognized includeObject value: {other:?}")),
    }
}

/// A number as Go reads it; a negative one is for the caller to judge.
fn number(value: &str) -> Result<i64, String> {
    value.parse().map_err(|error: ParseIntError| {
        let what = match error.kind() {
            IntErrorKind::PosOverflow | IntErrorKind::NegOverflow => "value out of range",
            _ => "invalid syntax",
        };
        format!("strconv.ParseInt: parsing {value:?}: {what}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(path: &str) -> Target {
        match route(path) {
            Some(Route::Objects(target)) => target,
            other => panic!("{path}: {other:?}"),
        }
    }

    #[test]
    fn paths_name_what_kubernetes_says_they_name() {
        let table = [
            ("/api/v1/nodes", "", "nodes", None, None, None),
            ("/api/v1/nodes/n/status", "", "nodes", None, Some("n"), Some("status")),
            ("/api/v1/namespaces", "", "namespaces", None, None, None),
            ("/api/v1/namespaces/x", "", "namespaces", None, Some("x"), None),
            ("/api/v1/namespaces/x/status", "", "namespaces", None, Some("x"), Some("status")),
            ("/api/v1/namespaces/x/secrets", "", "secrets", Some("x"), None, None),
            (
                "/apis/metal3.io/v1alpha1/namespaces/x/baremetalhosts/h",
                "metal3.io",
                "baremetalhosts",
                Some("x"),
                Some("h"),
                None,
            ),
            ("/apis/metal3.io/v1alpha1/baremetalhosts", "metal3.io", "baremetalhosts", None, None, None),
            ("/api/v1/nodes/a%3Ab", "", "nodes", None, Some("a:b"), None),
            ("/api/v1/namespaces/x/secrets/", "", "secrets", Some("x"), None, None),
            ("/api/v1/namespaces//secrets", "", "secrets", None, None, None),
        ];
        for (path, group, plural, namespace, name, subresource) in table {
            let target = objects(path);
            assert_eq!(target.group, group, "{path}");
            assert_eq!(target.plural, plural, "{path}");
            assert_eq!(target.namespace.as_deref(), namespace, "{path}");
            assert_eq!(target.name.as_deref(), name, "{path}");
            assert_eq!(target.subresource.as_deref(), subresource, "{path}");
        }
    }

    #[test]
    fn paths_outside_the_grammar_name_nothing() {
        for path in [
            "/",
            "/foo",
            "/api/v1/nodes/a/b/c",
            "/metrics",
            "/api/v1/nodes/..",
            "/api/v1/namespaces/a%2fb/secrets",
            "/api/v1/namespaces/%2e%2e/secrets",
            "/apis/./v1",
            "//api//v1",
            "/api//v1",
            "//version",
            "/healthz/",
            "/openapi/v3/",
            "/api/v1//namespaces",
            "/api/v1/namespaces/default//configmaps",
            "/api/v1/namespaces/default/configmaps//a",
            "/api/v1/namespaces//configmaps/a",
        ] {
            assert_eq!(route(path), None, "{path}");
        }
    }

    #[test]
    fn a_query_is_decoded() {
        let query =
            Query::parse("labelSelector=a%3Db%2Cc&watch=true&limit=5&timeoutSeconds=290&unknown=1").unwrap();
        assert_eq!(query.label_selector, "a=b,c");
        assert_eq!((query.watch, query.limit, query.timeout_seconds), (true, Some(5), Some(290)));
        assert!(Query::parse("limit=x").is_err());
        assert_eq!(Query::parse("limit=-1&timeoutSeconds=-1"), Ok(Query::default()));
    }
}
