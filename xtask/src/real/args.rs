//! The command lines of the cluster's processes.

use std::path::Path;

use super::{folder::RunFolder, ports::Ports};

/// etcd: durability is not wanted, the data is thrown away.
pub fn etcd(folder: &RunFolder, ports: &Ports) -> Vec<String> {
    let client = format!("http://127.0.0.1:{}", ports.etcd_client);
    let peer = format!("http://127.0.0.1:{}", ports.etcd_peer);
    vec![
        "--name=real".to_owned(),
        file("data-dir", &folder.etcd_data()),
        "--unsafe-no-fsync".to_owned(),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=real={peer}"),
        "--log-level=warn".to_owned(),
    ]
}

/// The API server: as in production where our controllers can see it, without the plugins that serve pods.
pub fn api_server(folder: &RunFolder, ports: &Ports) -> Vec<String> {
    vec![
        format!("--etcd-servers=http://127.0.0.1:{}", ports.etcd_client),
        "--bind-address=127.0.0.1".to_owned(),
        "--advertise-address=127.0.0.1".to_owned(),
        format!("--secure-port={}", ports.api_server),
        // The default would be refused: Endpoints must not point to a loopback address.
        "--endpoint-reconciler-type=none".to_owned(),
        file("tls-cert-file", &folder.server_certificate()),
        file("tls-private-key-file", &folder.server_key()),
        file("client-ca-file", &folder.authority()),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        file("service-account-key-file", &folder.token_public_key()),
        file("service-account-signing-key-file", &folder.token_private_key()),
        "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        "--authorization-mode=RBAC".to_owned(),
        "--disable-admission-plugins=ServiceAccount,DefaultStorageClass,StorageObjectInUseProtection,TaintNodesByCondition"
            .to_owned(),
        file("audit-policy-file", &folder.audit_policy()),
        file("audit-log-path", &folder.audit_log()),
        // Megabytes: whoever counts requests wants one file.
        "--audit-log-maxsize=4096".to_owned(),
    ]
}

/// The controller manager: only what deletion depends on.
pub fn controller_manager(folder: &RunFolder, ports: &Ports) -> Vec<String> {
    vec![
        file("kubeconfig", &folder.controller_manager_kubeconfig()),
        "--controllers=garbage-collector-controller,namespace-controller".to_owned(),
        "--leader-elect=false".to_owned(),
        "--bind-address=127.0.0.1".to_owned(),
        format!("--secure-port={}", ports.controller_manager),
        file("tls-cert-file", &folder.server_certificate()),
        file("tls-private-key-file", &folder.server_key()),
        // Deletion by owner must not be what a measurement waits for.
        "--kube-api-qps=500".to_owned(),
        "--kube-api-burst=1000".to_owned(),
    ]
}

fn file(flag: &str, path: &Path) -> String {
    format!("--{flag}={}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ports() -> Ports {
        Ports { etcd_client: 1, etcd_peer: 2, api_server: 3, controller_manager: 4 }
    }

    fn folder() -> RunFolder {
        RunFolder::at(Path::new("/run/one"))
    }

    #[test]
    fn every_process_can_be_recognised_by_its_folder() {
        for arguments in [
            etcd(&folder(), &ports()),
            api_server(&folder(), &ports()),
            controller_manager(&folder(), &ports()),
        ] {
            assert!(arguments.iter().any(|a| a.contains("=/run/one/")), "{arguments:?}");
        }
    }

    #[test]
    fn nothing_listens_beyond_the_loopback_interface() {
        let has = |arguments: &[String], flag: &str| arguments.iter().any(|a| a == flag);
        assert!(has(&etcd(&folder(), &ports()), "--listen-client-urls=http://127.0.0.1:1"));
        assert!(has(&etcd(&folder(), &ports()), "--listen-peer-urls=http://127.0.0.1:2"));
        assert!(has(&api_server(&folder(), &ports()), "--bind-address=127.0.0.1"));
        assert!(has(&controller_manager(&folder(), &ports()), "--bind-address=127.0.0.1"));
    }

    #[test]
    fn the_api_server_uses_the_etcd_of_its_cluster() {
        let arguments = api_server(&folder(), &ports());
        assert!(arguments.contains(&"--etcd-servers=http://127.0.0.1:1".to_owned()));
        assert!(arguments.contains(&"--secure-port=3".to_owned()));
    }
}
