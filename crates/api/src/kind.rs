//! How a Rust type says which Kubernetes kind it is.
//!
//! One macro, so that group, version, kind, plural and scope of a type stand in one line next to the type.

/// What the server must know to serve a kind; the words are those of a CustomResourceDefinition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApiKind {
    /// API group, empty for the core group.
    pub group: &'static str,
    /// API version within the group.
    pub version: &'static str,
    /// Kind as written in manifests.
    pub kind: &'static str,
    /// Plural used in URLs.
    pub plural: &'static str,
    /// Whether objects live in a namespace.
    pub namespaced: bool,
}

/// Implements [`kube::Resource`] for a type with a `metadata: ObjectMeta` field; without a scope objects live in a namespace.
#[macro_export]
macro_rules! resource {
    ($type:ident, $group:expr, $version:expr, $kind:expr, $plural:expr) => {
        $crate::resource!($type, $group, $version, $kind, $plural, kube::core::NamespaceResourceScope);
    };
    ($type:ident, $group:expr, $version:expr, $kind:expr, $plural:expr, $scope:ty) => {
        impl kube::Resource for $type {
            type DynamicType = ();
            type Scope = $scope;
            fn kind(_: &()) -> std::borrow::Cow<'_, str> {
                $kind.into()
            }
            fn group(_: &()) -> std::borrow::Cow<'_, str> {
                $group.into()
            }
            fn version(_: &()) -> std::borrow::Cow<'_, str> {
                $version.into()
            }
            fn plural(_: &()) -> std::borrow::Cow<'_, str> {
                $plural.into()
            }
            fn meta(&self) -> &kube::core::ObjectMeta {
                &self.metadata
            }
            fn meta_mut(&mut self) -> &mut kube::core::ObjectMeta {
                &mut self.metadata
            }
        }
    };
}

/// Implements [`kube::Resource`] and `API` for a type with a `metadata: ObjectMeta` field.
macro_rules! kind {
    ($type:ident, $group:expr, $version:expr, $kind:expr, $plural:expr, cluster) => {
        crate::kind::kind!(@impl $type, $group, $version, $kind, $plural, false, kube::core::ClusterResourceScope);
    };
    ($type:ident, $group:expr, $version:expr, $kind:expr, $plural:expr) => {
        crate::kind::kind!(@impl $type, $group, $version, $kind, $plural, true, kube::core::NamespaceResourceScope);
    };
    (@impl $type:ident, $group:expr, $version:expr, $kind:expr, $plural:expr, $namespaced:expr, $scope:ty) => {
        impl $type {
            /// Group, version, kind, plural and scope.
            pub const API: crate::ApiKind = crate::ApiKind {
                group: $group,
                version: $version,
                kind: $kind,
                plural: $plural,
                namespaced: $namespaced,
            };
        }
        crate::resource!($type, $group, $version, $kind, $plural, $scope);
    };
}
pub(crate) use kind;

#[cfg(test)]
mod tests {
    use kube::Resource;

    use crate::v1beta2::Metal3Machine;

    #[test]
    fn a_kind_knows_its_url_path() {
        assert_eq!(
            Metal3Machine::url_path(&(), Some("metal3")),
            "/apis/infrastructure.cluster.x-k8s.io/v1beta2/namespaces/metal3/metal3machines"
        );
    }
}
