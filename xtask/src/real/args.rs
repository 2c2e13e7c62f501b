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
    let mut arguments = any_api_server(folder, ports.etcd_client, ports.api_server);
    arguments.extend([
        file("tls-cert-file", &folder.server_certificate()),
        file("tls-private-key-file", &folder.server_key()),
        file("client-ca-file", &folder.authority()),
        file("audit-policy-file", &folder.audit_policy()),
        file("audit-log-path", &folder.audit_log()),
        // Megabytes: whoever counts requests wants one file.
        "--audit-log-maxsize=4096".to_owned(),
    ]);
    arguments
}

/// The API server of a workload cluster: its objects are in the same etcd under a prefix of their own.
pub fn workload_api_server(folder: &RunFolder, etcd: u16, name: &str, port: u16) -> Vec<String> {
    let own = |what: &str| folder.of_workload(name, what);
    let mut arguments = any_api_server(folder, etcd, port);
    arguments.extend([
        format!("--etcd-prefix=/{name}"),
        file("tls-cert-file", &own("server.crt")),
        file("tls-private-key-file", &own("server.key")),
        file("client-ca-file", &own("ca.crt")),
    ]);
    arguments
}

fn any_api_server(folder: &RunFolder, etcd: u16, port: u16) -> Vec<String> {
    vec![
        format!("--etcd-servers=http://127.0.0.1:{etcd}"),
        "--bind-address=127.0.0.1".to_owned(),
        "--advertise-address=127.0.0.1".to_owned(),
        format!("--secure-port={port}"),
        // The default would be refused: Endpoints must not point to a loopback address.
        "--endpoint-reconciler-type=none".to_owned(),
        "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
        file("service-account-key-file", &folder.token_public_key()),
        file("service-account-signing-key-file", &folder.token_private_key()),
        "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        "--authorization-mode=RBAC".to_owned(),
        "--disable-admission-plugins=ServiceAccount,DefaultStorageClass,StorageObjectInUseProtection,TaintNodesByCondition"
            .to_owned(),
    ]
}

/// The controller manager: only what deletion depends on, and what roles depend on that are put together from others.
pub fn controller_manager(folder: &RunFolder, ports: &Ports) -> Vec<String> {
    vec![
        file("kubeconfig", &folder.controller_manager_kubeconfig()),
        "--controllers=garbage-collector-controller,namespace-controller,clusterrole-aggregation-controller"
            .to_owned(),
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
            workload_api_server(&folder(), 1, "other", 5),
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
        assert!(has(&workload_api_server(&folder(), 1, "other", 5), "--bind-address=127.0.0.1"));
    }

    #[test]
    fn the_api_server_uses_the_etcd_of_its_cluster() {
        let arguments = api_server(&folder(), &ports());
        assert!(arguments.contains(&"--etcd-servers=http://127.0.0.1:1".to_owned()));
        assert!(arguments.contains(&"--secure-port=3".to_owned()));
    }

    #[test]
    fn a_workload_cluster_has_a_place_of_its_own_in_the_same_etcd() {
        let arguments = workload_api_server(&folder(), 1, "other", 5);
        for argument in ["--etcd-servers=http://127.0.0.1:1", "--etcd-prefix=/other", "--secure-port=5"] {
            assert!(arguments.contains(&argument.to_owned()), "{argument}");
        }
    }
}
