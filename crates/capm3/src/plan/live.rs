//! The objects of one namespace of a running cluster that a plan starts from.

use capm3_engine::{ApiError, Detail, manifests::Document};
use capm3_offline::plan;

use crate::{
    exit::{self, Failure},
    remote::{RemoteArgs, unreadable},
};

/// Name under which the server counts the requests.
const USER_AGENT: &str = "capm3-plan";

/// What to do without a kubeconfig.
const WAYS: &str = "use --kubeconfig PATH, set KUBECONFIG, or give the objects of the cluster with --from";

/// Every object that the controllers read; of Secrets only the metadata.
pub fn objects(remote: &RemoteArgs, namespace: Option<&str>) -> Result<Vec<Document>, Failure> {
    let remote = remote.connect(USER_AGENT, WAYS)?;
    let namespace = namespace.unwrap_or_else(|| remote.namespace()).to_owned();
    let mut documents = Vec::new();
    for kind in plan::wanted() {
        let detail = if kind.kind == "Secret" { Detail::Metadata } else { Detail::Whole };
        match remote.list(&kind, &namespace, detail) {
            Ok(Some(listed)) => documents.extend(listed),
            Ok(None) => exit::say(format_args!(
                "{} {} is not served: such objects are unknown",
                kind.kind, kind.version
            )),
            Err(ApiError::Refused { code: 403, .. }) if kind.kind == "Secret" => {
                exit::say("Secrets may not be listed: the plan takes none as existing");
            }
            Err(error) => {
                return Err(unreadable(&format!("{} of namespace {namespace}", kind.plural), &error));
            }
        }
    }
    Ok(documents)
}
