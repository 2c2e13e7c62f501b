//! An API server that asks what the provider's account may do, and refuses the rest with the words of a real one.
//!
//! [`Access`] says what a request needs, [`Authorizer`] asks a function about each. Whoever uses it knows the Roles; here is
//! only the question. Discovery is open to everybody, and workload clusters have rights of their own.

use std::{fmt, future::ready, sync::Arc};

use capm3_apiserver::ApiServer;
use futures::FutureExt;
use http::{Method, Request, StatusCode};
use kube::client::Body;
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{AnswerFuture, Call, Fault, Faults, ask, whole};

/// The account of the provider.
const USER: &str = "system:serviceaccount:capm3-system:capm3-manager";

/// What a request needs to be allowed.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Access {
    /// Verb of the API.
    pub verb: String,
    /// API group, empty for the core group.
    pub group: String,
    /// Plural, with a subresource behind a slash.
    pub resource: String,
    /// Namespace; empty for all, and for what has none.
    pub namespace: String,
    /// Name of the object; empty if no single one is meant.
    pub name: String,
}

impl Access {
    /// What a request needs; nothing if it is about no resource of the management cluster.
    pub fn of(method: &Method, path_and_query: &str) -> Option<Self> {
        let (path, query) = path_and_query.split_once('?').unwrap_or((path_and_query, ""));
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let (group, rest) = match parts.as_slice() {
            ["api", _, rest @ ..] => ("", rest),
            ["apis", group, _, rest @ ..] => (*group, rest),
            _ => return None,
        };
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..] if !rest.is_empty() => (*namespace, rest),
            rest => ("", rest),
        };
        let (resource, name) = match rest {
            [resource] => ((*resource).to_owned(), ""),
            [resource, name] => ((*resource).to_owned(), *name),
            [resource, name, subresource] => (format!("{resource}/{subresource}"), *name),
            _ => return None,
        };
        let is_watch = query.split('&').any(|part| matches!(part, "watch=1" | "watch=true"));
        let verb = match (method.as_str(), name.is_empty()) {
            ("GET", true) if is_watch => "watch",
            ("GET", true) => "list",
            ("GET", false) => "get",
            ("POST", _) => "create",
            ("PUT", _) => "update",
            ("PATCH", _) => "patch",
            ("DELETE", true) => "deletecollection",
            ("DELETE", false) => "delete",
            _ => return None,
        };
        let text = str::to_owned;
        let (group, namespace, name) = (text(group), text(namespace), text(name));
        Some(Self { verb: text(verb), group, resource, namespace, name })
    }

    /// The `Status` with which a server refuses it.
    pub fn refusal(&self) -> Value {
        let (plural, _) = self.resource.split_once('/').unwrap_or((&self.resource, ""));
        json!({
            "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": StatusCode::FORBIDDEN.as_u16(),
            "reason": "Forbidden", "message": self.to_string(),
            "details": {"name": self.name, "group": self.group, "kind": plural},
        })
    }
}

/// In the words of kube-apiserver.
impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { verb, group, resource, namespace, name } = self;
        let plural = resource.split('/').next().unwrap_or_default();
        let dot = if group.is_empty() { "" } else { "." };
        write!(f, "{plural}{dot}{group}")?;
        if !name.is_empty() {
            write!(f, " \"{name}\"")?;
        }
        write!(
            f,
            " is forbidden: User \"{USER}\" cannot {verb} resource \"{resource}\" in API group \"{group}\""
        )?;
        match namespace.as_str() {
            "" => f.write_str(" at the cluster scope"),
            namespace => write!(f, " in the namespace \"{namespace}\""),
        }
    }
}

type Allows = Box<dyn Fn(&Access) -> bool + Send + Sync>;

/// Lets pass what a function allows, and remembers what it does not.
pub struct Authorizer {
    allows: Allows,
    refused: Mutex<Vec<Access>>,
}

impl Authorizer {
    /// An authorizer that asks this function.
    pub fn new(allows: impl Fn(&Access) -> bool + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { allows: Box::new(allows), refused: Mutex::default() })
    }

    /// What was refused since the last call.
    pub fn take_refused(&self) -> Vec<Access> {
        std::mem::take(&mut self.refused.lock())
    }
}

impl fmt::Debug for Authorizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Authorizer").field("refused", &self.refused).finish_non_exhaustive()
    }
}

impl Faults for Authorizer {
    fn apply_fault(&self, _: &Call) -> Fault {
        Fault::None
    }

    fn ask(&self, server: &ApiServer, call: &Call, request: Request<Body>) -> AnswerFuture {
        match Access::of(&call.method, &call.path) {
            Some(access) if !(self.allows)(&access) => {
                let answer = whole(StatusCode::FORBIDDEN, access.refusal().to_string());
                self.refused.lock().push(access);
                ready(Ok(answer)).boxed()
            }
            _ => ask(server.clone(), request),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_needs_what_a_role_would_name() {
        let machines = "/apis/infrastructure.cluster.x-k8s.io/v1beta2";
        for (method, path, expected) in [
            (Method::GET, format!("{machines}/metal3machines?limit=500"), "list metal3machines of all"),
            (Method::GET, format!("{machines}/metal3machines?watch=1&a=b"), "watch metal3machines of all"),
            (Method::GET, format!("{machines}/namespaces/n/metal3machines"), "list metal3machines of n"),
            (Method::GET, format!("{machines}/namespaces/n/metal3machines/m"), "get metal3machines m of n"),
            (
                Method::PATCH,
                format!("{machines}/namespaces/n/metal3machines/m/status?fieldManager=x"),
                "patch metal3machines/status m of n",
            ),
            (Method::POST, "/api/v1/namespaces/n/events".to_owned(), "create events of n"),
            (Method::PUT, "/api/v1/namespaces/n/secrets/s".to_owned(), "update secrets s of n"),
            (Method::DELETE, "/api/v1/namespaces/n/secrets/s".to_owned(), "delete secrets s of n"),
            (Method::GET, "/api/v1/namespaces/n".to_owned(), "get namespaces n of all"),
            (Method::GET, "/api/v1/namespaces".to_owned(), "list namespaces of all"),
            (Method::GET, "/apis".to_owned(), ""),
            (Method::GET, "/clusters/n/c/api/v1/nodes".to_owned(), ""),
        ] {
            let found =
                Access::of(&method, &path).map(|Access { verb, resource, namespace, name, .. }| {
                    let name = if name.is_empty() { name } else { format!(" {name}") };
                    let namespace = if namespace.is_empty() { "all" } else { &namespace };
                    format!("{verb} {resource}{name} of {namespace}")
                });
            assert_eq!(found.unwrap_or_default(), expected, "{path}");
        }
    }

    #[test]
    fn a_refusal_reads_like_that_of_a_real_server() {
        let path = "/apis/metal3.io/v1alpha1/namespaces/n/baremetalhosts/h";
        let refusal = Access::of(&Method::PATCH, path).unwrap().refusal();
        assert_eq!(refusal["details"]["kind"], "baremetalhosts");
        assert_eq!(
            refusal["message"],
            "baremetalhosts.metal3.io \"h\" is forbidden: User \"system:serviceaccount:capm3-system:capm3-manager\" \
             cannot patch resource \"baremetalhosts\" in API group \"metal3.io\" in the namespace \"n\""
        );
    }
}
