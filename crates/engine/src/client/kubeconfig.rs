//! Kubeconfigs: read without quoting a word of them, because they hold credentials.
//!
//! Takes the text, gives what the library makes of it. What a person keeps in a file may name commands and other files;
//! what is found in a Secret may not ([`read_foreign`]): its author would make us run or send what is ours.

use kube::config::{AuthInfo, Cluster, Kubeconfig, KubeconfigError};
use thiserror::Error;

/// Why a kubeconfig cannot be used. The text never contains any of it but names of its fields.
#[derive(Debug, Error)]
pub enum KubeconfigProblem {
    /// It is not YAML, or not a kubeconfig.
    #[error("{}", .line.map_or("it is no kubeconfig".to_owned(), |line| format!("it is no kubeconfig: see its line {line}")))]
    Malformed {
        /// Where the reader gave up.
        line: Option<u64>,
    },
    /// The certificates of its authority cannot be read.
    #[error("its certificate-authority-data is no PEM")]
    Authority,
    /// It lacks something, or its parts do not fit.
    #[error("{0}")]
    Unusable(KubeconfigError),
    /// It does not hold everything itself.
    #[error(
        "it names a command or a file ({0}), which is not used from a Secret: it must hold its certificates and credentials itself"
    )]
    Reaches(&'static str),
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
            "apiVersion: v1\nkind: Config\ncurrent-context: c\ncontexts:\n- name: c\n  context: {{cluster: c, user: u}}\n\
             clusters:\n- name: c\n  cluster:\n    server: https://192.0.2.1:6443\n    {cluster}\n\
             users:\n- name: u\n  user:\n    token: never-print-me\n    {user}\n"
        )
    }

    #[test]
    fn a_broken_kubeconfig_is_told_by_its_line_and_never_quoted() {
        for broken in ["  token: never-print-me", "token: [never-print-me", "exec: never-print-me"] {
            let problem = read(&kubeconfig("", broken)).unwrap_err();
            let told = format!("{problem} {problem:?}");
            assert!(
                problem.to_string().starts_with("it is no kubeconfig: see its line 1"),
                "{broken}: {told}"
            );
            assert!(!told.contains("never-print-me"), "{broken}: {told}");
        }
    }

    /// A key whose line breaks were escaped: base64 and YAML are right, PEM is not.
    #[tokio::test]
    async fn a_broken_key_is_not_quoted_either() {
        let key =
            BASE64_STANDARD.encode("-----BEGIN PRIVATE KEY-----\\nneverprintme\\n-----END PRIVATE KEY-----");
        let user = format!("client-key-data: {key}\n    client-certificate-data: {key}");
        let problem = super::super::over_network_by_secret(&kubeconfig("", &user), "test").await.unwrap_err();
        let told = format!("{problem} {problem:?}");
        assert!(told.starts_with("its certificates or keys cannot be used"), "{told}");
        let bytes = format!("{:?}", "neverprintme".as_bytes());
        assert!(!told.contains("neverprintme") && !told.contains(bytes.trim_matches(['[', ']'])), "{told}");
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
