//! Kubeconfigs: read without quoting a word of them, because they hold credentials.
//!
//! Takes the text, gives what the library makes of it. What a person keeps in a file may name commands and other files;
//! what is found in a Secret may not ([`read_foreign`]): its author would make us run or send what is ours.

use std::net::IpAddr;

use http::Uri;
use kube::config::{AuthInfo, Cluster, Kubeconfig, KubeconfigError};
use thiserror::Error;

/// Why a kubeconfig cannot be used. The text never contains any of it but names of its fields.
#[derive(Debug, Error)]
pub enum KubeconfigProblem {
    /// It is not YAML, or not a kubeconfig.
    #[error("{}", .line.map_or("it is not a kubeconfig".to_owned(), |line| format!("it is not a kubeconfig: see its line {line}")))]
    Malformed {
        /// Where the reader gave up.
        line: Option<u64>,
    },
    /// The certificates of its authority cannot be read.
    #[error("its certificate-authority-data is not PEM")]
    Authority,
    /// It lacks something, or its parts do not fit.
    #[error("{0}")]
    Unusable(KubeconfigError),
    /// It does not hold everything itself.
    #[error(
        "it refers to a command or a file ({0}), which is not allowed in a kubeconfig of a Secret: embed the \
         certificates and credentials in the kubeconfig"
    )]
    Reaches(&'static str),
    /// It asks for something that there is not.
    #[error("it sets {0}, which is not supported: remove it; the server must be reachable without it")]
    Unsupported(&'static str),
    /// Everybody on the way could read its credentials.
    #[error(
        "its server is reached by plain http, and {0} is not sent unencrypted to another machine: the server must be \
         https"
    )]
    Unencrypted(&'static str),
}

impl From<KubeconfigError> for KubeconfigProblem {
    fn from(error: KubeconfigError) -> Self {
        match error {
            // The parser's message shows the lines around the mistake.
            KubeconfigError::Parse(error) => {
                Self::Malformed { line: error.location().map(|location| location.line()) }
            }
            KubeconfigError::ParseCertificates(_) => Self::Authority,
            other => Self::Unusable(other),
        }
    }
}

/// Whether the cluster of a context can be reached as the kubeconfig says. Without a name it is the current context.
pub(super) fn check_cluster(kubeconfig: &Kubeconfig, context: Option<&str>) -> Result<(), KubeconfigProblem> {
    let context = context.or(kubeconfig.current_context.as_deref());
    let named = kubeconfig.contexts.iter().find(|it| Some(it.name.as_str()) == context);
    let name = named.and_then(|it| it.context.as_ref()).map(|context| &context.cluster);
    let cluster = kubeconfig.clusters.iter().find(|it| Some(&it.name) == name);
    match cluster.and_then(|it| it.cluster.as_ref()).and_then(|cluster| cluster.proxy_url.as_deref()) {
        // An empty one is none, as kubectl has it.
        None | Some("") => Ok(()),
        Some(_) => Err(KubeconfigProblem::Unsupported("cluster.proxy-url")),
    }
}

/// Whether credentials go to that server only where nobody else can read them. Certificates prove who we are without
/// being sent.
pub(super) fn check_credentials(server: &Uri, user: &AuthInfo) -> Result<(), KubeconfigProblem> {
    if server.scheme_str() == Some("https") || server.host().is_some_and(is_this_machine) {
        return Ok(());
    }
    let fields = [
        ("user.token", user.token.is_some()),
        ("user.tokenFile", user.token_file.is_some()),
        ("user.password", user.username.is_some() && user.password.is_some()),
        ("user.exec", user.exec.is_some()),
        ("user.auth-provider", user.auth_provider.is_some()),
    ];
    match fields.into_iter().find_map(|(field, is_set)| is_set.then_some(field)) {
        Some(field) => Err(KubeconfigProblem::Unencrypted(field)),
        None => Ok(()),
    }
}

fn is_this_machine(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.to_canonical().is_loopback())
}

/// Reads the kubeconfig of whoever started us.
pub(super) fn read(text: &str) -> Result<Kubeconfig, KubeconfigProblem> {
    Ok(Kubeconfig::from_yaml(text)?)
}

/// Reads a kubeconfig that somebody else wrote.
pub(super) fn read_foreign(text: &str) -> Result<Kubeconfig, KubeconfigProblem> {
    let kubeconfig = read(text)?;
    let users = kubeconfig.auth_infos.iter().filter_map(|user| user.auth_info.as_ref());
    let clusters = kubeconfig.clusters.iter().filter_map(|cluster| cluster.cluster.as_ref());
    match users.filter_map(reach_of_user).chain(clusters.filter_map(reach_of_cluster)).next() {
        Some(field) => Err(KubeconfigProblem::Reaches(field)),
        None => Ok(kubeconfig),
    }
}

fn reach_of_user(user: &AuthInfo) -> Option<&'static str> {
    let fields = [
        ("user.exec", user.exec.is_some()),
        ("user.auth-provider", user.auth_provider.is_some()),
        ("user.tokenFile", user.token_file.is_some()),
        ("user.client-certificate", user.client_certificate.is_some()),
        ("user.client-key", user.client_key.is_some()),
    ];
    fields.into_iter().find_map(|(field, is_set)| is_set.then_some(field))
}

fn reach_of_cluster(cluster: &Cluster) -> Option<&'static str> {
    cluster.certificate_authority.is_some().then_some("cluster.certificate-authority")
}

#[cfg(test)]
mod tests {
    use base64::{Engine, prelude::BASE64_STANDARD};

    use super::*;

    /// A kubeconfig as the bootstrap provider makes it, with one more line for the cluster and one for the user.
    fn kubeconfig(cluster: &str, user: &str) -> String {
        format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts:\n- name: c\n  context: {{cluster: c, user: \
             u}}\n\
             clusters:\n- name: c\n  cluster:\n    server: https://192.0.2.1:6443\n    {cluster}\n\
             users:\n- name: u\n  user:\n    token: never-print-me\n    {user}\n"
        )
    }

    #[test]
    fn a_broken_kubeconfig_is_reported_by_its_line_and_never_quoted() {
        for broken in ["  token: never-print-me", "token: [never-print-me", "exec: never-print-me"] {
            let problem = read(&kubeconfig("", broken)).unwrap_err();
            let message = format!("{problem} {problem:?}");
            assert!(
                problem.to_string().starts_with("it is not a kubeconfig: see its line 1"),
                "{broken}: {message}"
            );
            assert!(!message.contains("never-print-me"), "{broken}: {message}");
        }
    }

    /// A key whose line breaks were escaped: base64 and YAML are right, PEM is not.
    #[tokio::test]
    async fn a_broken_key_is_not_quoted_either() {
        let key =
            BASE64_STANDARD.encode("-----BEGIN PRIVATE KEY-----\\nneverprintme\\n-----END PRIVATE KEY-----");
        let user = format!("client-key-data: {key}\n    client-certificate-data: {key}");
        let problem = super::super::over_network_by_secret(&kubeconfig("", &user), "test").await.unwrap_err();
        let message = format!("{problem} {problem:?}");
        assert!(message.starts_with("its certificates or keys cannot be used"), "{message}");
        let bytes = format!("{:?}", "neverprintme".as_bytes());
        assert!(
            !message.contains("neverprintme") && !message.contains(bytes.trim_matches(['[', ']'])),
            "{message}"
        );
    }

    /// A secret and a file of one's own are held to the same.
    #[tokio::test]
    async fn a_proxy_is_refused_by_its_field_where_it_would_be_used() {
        for (line, is_refused) in [
            ("proxy-url: http://192.0.2.9:3128", true),
            ("proxy-url: socks5://192.0.2.9:1080", true),
            ("proxy-url: ''", false),
            ("", false),
        ] {
            let text = kubeconfig(line, "");
            let own = super::super::over_network(&text, None, "test").await.map(|_| ());
            let foreign = super::super::over_network_by_secret(&text, "test").await.map(|_| ());
            for result in [own, foreign] {
                assert_eq!(result.is_err(), is_refused, "{line}: {result:?}");
                if let Err(error) = result {
                    let message = error.to_string();
                    assert!(
                        message.contains("cluster.proxy-url") && !message.contains("192.0.2.9"),
                        "{message}"
                    );
                }
            }
        }
        let other = kubeconfig("", "").replace(
            "users:",
            "- name: other\n  cluster: {server: 'https://192.0.2.2', proxy-url: 'http://192.0.2.9:3128'}\nusers:",
        );
        assert!(
            super::super::over_network(&other, None, "test").await.is_ok(),
            "another context's is not used"
        );
    }

    #[tokio::test]
    async fn credentials_go_unencrypted_to_no_other_machine() {
        let own = |server: &str, user: &str| {
            let text = kubeconfig("", "").replace("https://192.0.2.1:6443", server);
            text.replace("token: never-print-me", user)
        };
        let table = [
            ("https://192.0.2.1:6443", "token: never-print-me", None),
            ("http://127.0.0.1:8080", "token: never-print-me", None),
            ("http://127.9.9.9:8080", "token: never-print-me", None),
            ("http://[::1]:8080", "token: never-print-me", None),
            ("http://localhost:8080", "token: never-print-me", None),
            ("http://192.0.2.1:8080", "{}", None),
            ("http://192.0.2.1:8080", "token: never-print-me", Some("user.token")),
            ("http://[2001:db8::1]:8080", "token: never-print-me", Some("user.token")),
            ("http://localhost.example.com", "token: never-print-me", Some("user.token")),
            ("http://127.0.0.1.example.com", "token: never-print-me", Some("user.token")),
            ("http://example.com", "{username: u, password: never-print-me}", Some("user.password")),
            ("192.0.2.1:8080", "token: never-print-me", Some("user.token")),
        ];
        for (server, user, field) in table {
            let text = own(server, user);
            let by_file = super::super::over_network(&text, None, "test").await.map(|_| ());
            let by_secret = super::super::over_network_by_secret(&text, "test").await.map(|_| ());
            for result in [by_file, by_secret] {
                match (result, field) {
                    (Ok(()), None) => {}
                    (Err(error), Some(field)) => {
                        let message = format!("{error} {error:?}");
                        assert!(
                            message.contains(field) && message.contains("plain http"),
                            "{server}: {message}"
                        );
                        assert!(!message.contains("never-print-me"), "{message}");
                    }
                    (result, field) => panic!("{server} {user}: {result:?} instead of {field:?}"),
                }
            }
        }
        // Commands and files are only for the own kubeconfig, and are not run before this is known.
        let command = own(
            "http://192.0.2.1",
            "exec: {command: /nonexistent, apiVersion: client.authentication.k8s.io/v1}",
        );
        let error = super::super::over_network(&command, None, "test").await.unwrap_err().to_string();
        assert!(error.contains("user.exec"), "{error}");
    }

    #[test]
    fn a_kubeconfig_of_a_secret_runs_nothing_and_reads_no_file() {
        assert!(read_foreign(&kubeconfig("certificate-authority-data: YQ==", "")).is_ok());
        let table = [
            ("", "exec: {command: touch, apiVersion: client.authentication.k8s.io/v1}", "user.exec"),
            ("", "auth-provider: {name: gcp, config: {}}", "user.auth-provider"),
            ("", "tokenFile: /var/run/token", "user.tokenFile"),
            ("", "client-certificate: /tls.crt", "user.client-certificate"),
            ("", "client-key: /tls.key", "user.client-key"),
            ("certificate-authority: /ca.crt", "", "cluster.certificate-authority"),
        ];
        for (cluster, user, field) in table {
            let text = kubeconfig(cluster, user);
            assert!(read(&text).is_ok(), "{field}: the own kubeconfig may");
            let problem = read_foreign(&text).unwrap_err().to_string();
            assert!(problem.contains(&format!("({field})")), "{problem}");
        }
    }
}
