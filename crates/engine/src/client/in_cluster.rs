//! A client for the cluster that this process runs in, by the service account of its pod.
//!
//! Takes the environment of the pod and the folder of the service account, gives a client whose token and authority follow the
//! files: the kubelet replaces both while the pod runs. The contents of the files are never quoted.

use std::{
    fs, io,
    net::IpAddr,
    path::{Path, PathBuf},
};

use http::Uri;
use kube::Config;
use thiserror::Error;

use super::{
    ApiClient, NetworkError,
    network::connect,
    token::{BearerToken, TokenProblem},
};

const HOST: &str = "KUBERNETES_SERVICE_HOST";
const PORT: &str = "KUBERNETES_SERVICE_PORT";

/// Where the kubelet puts the service account of a pod.
const FOLDER: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

/// Why there is no client for the own cluster.
#[derive(Debug, Error)]
pub enum InClusterError {
    /// The process does not run in a pod.
    #[error(
        "{HOST} and {PORT} are not set, so this process does not run in a pod: set --kubeconfig or KUBECONFIG"
    )]
    NoPod,
    /// The variables name no server.
    #[error(
        "{HOST}={host} and {PORT}={port} name no server: the port must be a number, and the host a name or an address"
    )]
    Server {
        /// What one says.
        host: String,
        /// What the other says.
        port: String,
    },
    /// A file of the service account cannot be read.
    #[error(
        "{}: {source}; let the pod mount its service account (automountServiceAccountToken: true), or set \
         --kubeconfig or KUBECONFIG",
        path.display()
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A file of the service account is there, but of no use.
    #[error("{}: {problem}; mount token, CA and namespace of the pod's service account, or set --kubeconfig or KUBECONFIG", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        problem: &'static str,
    },
    /// Any other reason.
    #[error(transparent)]
    Network(NetworkError),
}

/// The server that the environment of a pod names.
pub fn server_of_pod(variable: impl Fn(&str) -> Option<String>) -> Result<Uri, InClusterError> {
    let value = |name| variable(name).filter(|value| !value.is_empty());
    let (Some(host), Some(port)) = (value(HOST), value(PORT)) else { return Err(InClusterError::NoPod) };
    let authority = match host.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) => format!("[{address}]"),
        _ => host.clone(),
    };
    let uri = port.parse::<u16>().ok().and_then(|port| format!("https://{authority}:{port}").parse().ok());
    uri.filter(|uri: &Uri| uri.path() == "/" && uri.query().is_none())
        .ok_or(InClusterError::Server { host, port })
}

/// The service account of a pod.
#[derive(Debug, Clone)]
pub struct ServiceAccount {
    folder: PathBuf,
}

impl Default for ServiceAccount {
    fn default() -> Self {
        Self::at(FOLDER)
    }
}

impl ServiceAccount {
    /// The service account in that folder.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The namespace of the pod.
    pub fn namespace(&self) -> Result<String, InClusterError> {
        let path = self.folder.join("namespace");
        let text = fs::read_to_string(&path);
        let text = text.map_err(|source| InClusterError::Unreadable { path: path.clone(), source })?;
        match text.trim() {
            "" => Err(InClusterError::Unusable { path, problem: "it is empty" }),
            namespace => Ok(namespace.to_owned()),
        }
    }

    /// A client for a server that this account may talk to. Nothing is sent yet.
    pub fn connect(&self, server: Uri, user_agent: &str) -> Result<ApiClient, InClusterError> {
        let authority = self.folder.join("ca.crt");
        // Read here for the error that names it: whoever verifies reads it again each minute.
        check_readable(&authority)?;
        let token = self.token()?;
        let mut config = Config::new(server);
        config.root_cert = Some(Vec::new());
        config.root_cert_file = Some(authority.clone());
        config.default_namespace = self.namespace().unwrap_or(config.default_namespace);
        connect(config, Some(token), user_agent, false).map_err(|error| match error {
            NetworkError::Certificates => {
                InClusterError::Unusable { path: authority, problem: "it holds no certificate in PEM" }
            }
            other => InClusterError::Network(other),
        })
    }

    fn token(&self) -> Result<BearerToken, InClusterError> {
        let path = self.folder.join("token");
        BearerToken::of_file(path.clone()).map_err(|problem| match problem {
            TokenProblem::Unreadable(source) => InClusterError::Unreadable { path, source },
            TokenProblem::Empty => InClusterError::Unusable { path, problem: "it is empty" },
            TokenProblem::Malformed => InClusterError::Unusable { path, problem: "it holds no token" },
        })
    }
}

fn check_readable(path: &Path) -> Result<(), InClusterError> {
    let read = fs::read(path).map(drop);
    read.map_err(|source| InClusterError::Unreadable { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(host: &str, port: &str) -> Result<Uri, InClusterError> {
        server_of_pod(|name| Some(if name == HOST { host } else { port }.to_owned()))
    }

    #[test]
    fn the_environment_of_a_pod_names_its_server_in_either_family() {
        let table = [
            ("10.96.0.1", "443", "https://10.96.0.1:443/"),
            ("10.96.0.1", "6443", "https://10.96.0.1:6443/"),
            ("fd00:10:96::1", "443", "https://[fd00:10:96::1]:443/"),
            ("2001:0db8:0000:0000:0000:0000:0000:0001", "6443", "https://[2001:db8::1]:6443/"),
            ("kubernetes.default.svc", "443", "https://kubernetes.default.svc:443/"),
        ];
        for (host, port, expected) in table {
            assert_eq!(server(host, port).unwrap().to_string(), expected);
        }
        for (host, port) in [("10.96.0.1", "https"), ("10.96.0.1", "70000"), ("a b", "443"), ("a/b?c", "443")]
        {
            let message = server(host, port).unwrap_err().to_string();
            assert!(message.contains(host) && message.contains(port), "{message}");
        }
        for (host, port) in [("", "443"), ("10.96.0.1", "")] {
            let message = server(host, port).unwrap_err().to_string();
            assert!(
                message.contains(HOST)
                    && message.contains(PORT)
                    && message.contains("set --kubeconfig or KUBECONFIG"),
                "{message}"
            );
        }
    }

    #[tokio::test]
    async fn what_is_missing_or_of_no_use_is_named_by_its_file_and_never_quoted() {
        let folder = tempfile::tempdir().unwrap();
        let account = ServiceAccount::at(folder.path());
        let check = |error: InClusterError, expected: &str| {
            let message = format!("{error} {error:?}");
            assert!(
                message.contains(expected) && message.contains("set --kubeconfig or KUBECONFIG"),
                "{message}"
            );
            assert!(!message.contains("print-me"), "{message}");
        };
        let connect = || account.connect("https://10.96.0.1:443".parse().unwrap(), "test").map(drop);
        check(connect().unwrap_err(), "ca.crt: No such file");
        check(account.namespace().unwrap_err(), "namespace: No such file");
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        for (name, text, expected) in [
            ("ca.crt", "never-print-me", "token: No such file"),
            ("token", " \n", "token: it is empty"),
            ("token", "never\nprint-me", "token: it holds no token"),
            ("token", "never-print-me\n", "ca.crt: it holds no certificate in PEM"),
        ] {
            write(name, text);
            check(connect().unwrap_err(), expected);
        }
        write("namespace", "\n");
        check(account.namespace().unwrap_err(), "namespace: it is empty");
        write("namespace", "capm3-system\n");
        assert_eq!(account.namespace().unwrap(), "capm3-system");
    }
}
