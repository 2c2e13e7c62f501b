//! Which path asks for what. The paths are those of the Go provider, so that its webhook configurations fit.

use capm3_api::{
    ApiKind, crd,
    ipam::{IpAddress, IpClaim, IpPool},
    v1beta2::{
        Metal3Cluster, Metal3ClusterTemplate, Metal3Data, Metal3DataClaim, Metal3DataTemplate, Metal3Machine,
        Metal3MachineTemplate, Metal3Remediation, Metal3RemediationTemplate,
    },
};

/// Kinds with admission paths.
const KINDS: [ApiKind; 12] = [
    Metal3Cluster::API,
    Metal3ClusterTemplate::API,
    Metal3Data::API,
    Metal3DataClaim::API,
    Metal3DataTemplate::API,
    Metal3Machine::API,
    Metal3MachineTemplate::API,
    Metal3Remediation::API,
    Metal3RemediationTemplate::API,
    IpPool::API,
    IpClaim::API,
    IpAddress::API,
];

/// Bytes of an admission review: an object before and after a change, each up to the 3 MiB that an API server takes in,
/// and some room.
const ADMISSION_BYTES: usize = 7 * 1024 * 1024;
/// Bytes of a conversion review: an API server sends all objects of a list at once, and lists without pages exist.
const CONVERSION_BYTES: usize = 64 * 1024 * 1024;

/// What a path asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// To fill in an object of this kind.
    Default(ApiKind),
    /// To judge an object of this kind.
    Validate(ApiKind),
    /// To convert objects.
    Convert,
}

impl Route {
    /// What a path asks for; none if it is not served.
    pub fn of(path: &str) -> Option<Self> {
        if path == crd::CONVERSION_PATH {
            return Some(Self::Convert);
        }
        let (task, rest) = path.strip_prefix('/')?.split_once('-')?;
        let kind = KINDS.into_iter().find(|kind| rest == name(kind))?;
        match task {
            "mutate" => Some(Self::Default(kind)),
            "validate" => Some(Self::Validate(kind)),
            _ => None,
        }
    }

    /// Every path that is served.
    pub fn paths() -> impl Iterator<Item = String> {
        let admission = |kind| ["mutate", "validate"].map(|task| format!("/{task}-{}", name(&kind)));
        KINDS.into_iter().flat_map(admission).chain([crd::CONVERSION_PATH.to_owned()])
    }

    /// The largest body that is read.
    pub fn body_limit(self) -> usize {
        match self {
            Self::Default(_) | Self::Validate(_) => ADMISSION_BYTES,
            Self::Convert => CONVERSION_BYTES,
        }
    }
}

/// A kind as paths name it.
fn name(kind: &ApiKind) -> String {
    format!("{}-{}-{}", kind.group.replace('.', "-"), kind.version, kind.kind.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paths_are_those_of_the_go_provider() {
        let group = "infrastructure-cluster-x-k8s-io-v1beta2";
        let table = [
            (format!("/mutate-{group}-metal3cluster"), Some(Route::Default(Metal3Cluster::API))),
            (
                format!("/mutate-{group}-metal3remediationtemplate"),
                Some(Route::Default(Metal3RemediationTemplate::API)),
            ),
            (format!("/validate-{group}-metal3data"), Some(Route::Validate(Metal3Data::API))),
            ("/validate-ipam-metal3-io-v1alpha1-ippool".to_owned(), Some(Route::Validate(IpPool::API))),
            ("/convert".to_owned(), Some(Route::Convert)),
            ("/".to_owned(), None),
            (String::new(), None),
            ("/convert/".to_owned(), None),
            (format!("/delete-{group}-metal3data"), None),
            (format!("/validate-{group}-Metal3Data"), None),
            ("/validate-infrastructure-cluster-x-k8s-io-v1beta1-metal3data".to_owned(), None),
        ];
        for (path, expected) in table {
            assert_eq!(Route::of(&path), expected, "{path}");
        }
    }

    #[test]
    fn every_path_leads_somewhere_of_its_own() {
        let routes: Vec<Route> = Route::paths().map(|path| Route::of(&path).unwrap()).collect();
        assert_eq!(routes.len(), 25);
        for (index, route) in routes.iter().enumerate() {
            assert_eq!(routes.iter().position(|other| other == route), Some(index), "{route:?}");
        }
    }
}
