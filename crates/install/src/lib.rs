//! What is installed in a management cluster: CRDs, rights, Deployment, webhooks, certificates, and the files of a
//! clusterctl release.
//!
//! Takes an [`Install`], gives objects as JSON or files as text. Names and labels are those of the Go provider, so that an
//! existing installation is updated in place. It writes nothing and asks no server.

pub mod files;
mod names;
mod objects;
pub mod release;
pub mod rights;
pub mod rights_page;
pub mod variables;

use serde_json::Value;

pub use names::{DEPLOYMENT, METRICS_READER, NAMESPACE, PROVIDER_LABEL, PROVIDER_NAME, SERVICE_ACCOUNT};

/// Who makes the certificate of the webhooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Certificates {
    /// cert-manager, as with the Go provider.
    CertManager,
    /// The manager itself; nothing else need be installed.
    SelfManaged,
}

/// What an installation consists of. These choices add or leave out whole objects and rights, so they are made when the
/// files are generated: a clusterctl variable can only change a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Install {
    /// Image of the manager.
    pub image: String,
    /// Whether the built-in address manager serves IPPools: with its CRDs, rights and flag.
    pub ipam: bool,
    /// Who makes the certificate of the webhooks.
    pub certificates: Certificates,
}

impl Default for Install {
    fn default() -> Self {
        Self { image: default_image(), ipam: false, certificates: Certificates::CertManager }
    }
}

/// The image of this version, as somebody builds it; no registry serves it yet.
pub fn default_image() -> String {
    concat!("localhost/capm3:v", env!("CARGO_PKG_VERSION")).to_owned()
}

impl Install {
    /// Every object, in an order in which they can be created. Values may be clusterctl variables.
    pub fn objects(&self) -> Vec<Value> {
        self.groups().into_iter().flat_map(|(_, objects)| objects).collect()
    }

    /// The objects by the folder in which the kustomize layout has them.
    fn groups(&self) -> Vec<(&'static str, Vec<Value>)> {
        let groups = vec![
            ("namespace", objects::namespace()),
            ("crd", objects::crds(self)),
            ("rbac", objects::rbac(self)),
            ("manager", objects::manager(self)),
            ("certmanager", objects::certificates(self)),
            ("webhook", objects::webhooks(self)),
        ];
        let labelled = |(folder, objects): (_, Vec<Value>)| {
            (folder, objects.into_iter().map(names::with_provider_label).collect())
        };
        groups.into_iter().filter(|(_, objects)| !objects.is_empty()).map(labelled).collect()
    }
}
