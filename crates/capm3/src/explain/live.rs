//! The objects of one namespace of a running cluster, and which kinds could not be read.
//!
//! A kind that is not served is reported as such: it is never taken for a kind without objects.

use std::collections::BTreeMap;

use capm3_api::v1beta2::Metal3Machine;
use capm3_engine::{ApiError, ObjectKey, ResourceKind, manifests::Document};
use capm3_offline::explain::{Site, Target, event_kind, find, is_orphaned, wanted, wanted_for_host};
use capm3_provider::host_crd;

use crate::{
    exit::Failure,
    remote::{Remote, unreadable},
};

/// What the explanation of a machine looks at. Whoever may not list Secrets still gets the rest.
pub fn of_machines(remote: &Remote, namespace: &str, remarks: &mut Vec<String>) -> Result<Site, Failure> {
    let (mut documents, mut knows_secrets): (Vec<Document>, bool) = (Vec::new(), true);
    let mut unread = BTreeMap::new();
    for (kind, detail) in wanted() {
        match remote.list(&kind, namespace, detail) {
            Ok(Some(listed)) => documents.extend(listed),
            Ok(None) => note(&mut unread, remarks, &kind, "is not served"),
            Err(ApiError::Refused { code: 403, .. }) if kind.kind == "Secret" => {
                remarks.push(
                    "Secrets may not be listed: cannot check whether the Secrets that the machine needs exist"
                        .to_owned(),
                );
                knows_secrets = false;
            }
            Err(error) => return Err(cannot_list(&kind, namespace, &error)),
        }
    }
    // Whoever may not read it takes it as complete, as the controllers do.
    let crd = remote.document(&host_crd::definitions(), &ObjectKey::new("", host_crd::NAME));
    documents.extend(crd.ok().flatten());
    Ok(Site::read(&documents, knows_secrets).lacking(unread))
}

/// What the explanation and the release of a host look at. Without hosts there is nothing to say; without another kind
/// there is, so that it may not be read is only remarked.
pub fn of_hosts(
    remote: &Remote,
    namespace: &str,
    target: &Target,
    remarks: &mut Vec<String>,
) -> Result<Site, Failure> {
    let (mut documents, mut unread) = (Vec::new(), BTreeMap::new());
    for (kind, detail) in wanted_for_host() {
        match remote.list(&kind, namespace, detail) {
            Ok(Some(listed)) => documents.extend(listed),
            Ok(None) => note(&mut unread, remarks, &kind, "is not served"),
            Err(ApiError::Refused { code: 403, .. }) if kind.kind != "BareMetalHost" => {
                note(&mut unread, remarks, &kind, "may not be read");
            }
            Err(error) => return Err(cannot_list(&kind, namespace, &error)),
        }
    }
    let site = Site::read(&documents, true);
    let is_reported = find(&site, target, Some(namespace)).is_ok_and(|host| is_orphaned(&site, &host));
    if is_reported && let Ok(Some(events)) = remote.list(&event_kind(), namespace, Default::default()) {
        // Only its events show since when a host is orphaned. Whoever may not read them gets the rest.
        documents.extend(events);
        return Ok(Site::read(&documents, true).lacking(unread));
    }
    Ok(site.lacking(unread))
}

/// Takes note of a kind that could not be read.
fn note(unread: &mut BTreeMap<String, String>, remarks: &mut Vec<String>, kind: &ResourceKind, state: &str) {
    let what = match kind.kind == Metal3Machine::API.kind {
        true => "cannot check whether a machine is gone",
        false => "such objects are unknown",
    };
    remarks.push(format!("{} {} {state}: {what}", kind.kind, kind.version));
    unread.insert(kind.kind.clone(), state.to_owned());
}

fn cannot_list(kind: &ResourceKind, namespace: &str, error: &ApiError) -> Failure {
    unreadable(&format!("{} of namespace {namespace}", kind.plural), error)
}
