//! The objects of a running cluster.
//!
//! Kinds are read page by page, Secrets as metadata. A kind that is not served or may not be read is remarked, and nothing counts
//! as absent in it.

use std::io::IsTerminal;

use capm3_api::neighbours::Node;
use capm3_engine::{ApiError, Clock, Detail, ObjectKey, ResourceKind};
use capm3_provider::{audit::Inventory, host_crd};

use super::{AuditArgs, Look};
use crate::{
    exit::{self, Failure},
    remote::{Remote, unreadable},
};

/// Whether what could not be read is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Remarks {
    Said,
    Known,
}

/// Reads and judges, a second time if the first look cannot tell whether somebody is at work.
pub(super) fn look(args: &AuditArgs, remote: &Remote, namespace: &str) -> Result<Look, Failure> {
    let first = read(remote, namespace, Remarks::Said)?;
    let report = args.judge(&first, Clock::system().now());
    if report.findings.iter().all(|finding| finding.settled) {
        return Ok(Look { inventory: first, report });
    }
    let seconds = args.settle.as_secs();
    exit::say(format_args!("reads the objects again after {seconds} s, to tell leaks from work in progress"));
    remote.run(|_| tokio::time::sleep(args.settle));
    again(args, remote, namespace, &first)
}

/// Reads once more and judges what stands in both looks.
pub(super) fn again(
    args: &AuditArgs,
    remote: &Remote,
    namespace: &str,
    earlier: &Inventory,
) -> Result<Look, Failure> {
    let mut inventory = read(remote, namespace, Remarks::Known)?;
    inventory.compare_with(earlier);
    let mut report = args.judge(&inventory, Clock::system().now());
    let all = report.findings.len();
    report.findings.retain(|finding| finding.settled);
    report.held_back += all - report.findings.len();
    Ok(Look { inventory, report })
}

fn read(remote: &Remote, namespace: &str, remarks: Remarks) -> Result<Inventory, Failure> {
    let mut reading = Reading { remote, namespace, remarks, inventory: Inventory::default() };
    for (kind, how) in Inventory::kinds() {
        reading.kind(&kind, how.detail, how.is_required)?;
    }
    reading.nodes();
    let definition = remote.document(&host_crd::definitions(), &ObjectKey::new("", host_crd::NAME));
    if let Ok(Some(document)) = definition {
        let _other_kind = reading.inventory.add(&document.value);
    }
    Ok(reading.inventory)
}

struct Reading<'a> {
    remote: &'a Remote,
    namespace: &'a str,
    remarks: Remarks,
    inventory: Inventory,
}

impl Reading<'_> {
    fn kind(&mut self, kind: &ResourceKind, detail: Detail, is_required: bool) -> Result<(), Failure> {
        self.progress(&kind.plural);
        match self.list(kind, self.namespace, detail) {
            Ok(true) => {}
            Ok(false) if is_required => {
                self.remark(format_args!("{} {} is not served", kind.kind, kind.version))
            }
            Ok(false) => {}
            Err(ApiError::Refused { code: 403, .. }) => {
                self.remark(format_args!("{} may not be listed", kind.plural));
            }
            Err(error) => return Err(unreadable(&kind.plural, &error)),
        }
        Ok(())
    }

    /// The Nodes of this very cluster, which are those of its machines if it manages itself.
    fn nodes(&mut self) {
        let read = self.list(&ResourceKind::of::<Node>(), "", Detail::Whole);
        if let Err(error) = read {
            self.remark(format_args!("nodes cannot be listed: {}", error.with_causes()));
        }
    }

    /// Whether the kind is served.
    fn list(&mut self, kind: &ResourceKind, namespace: &str, detail: Detail) -> Result<bool, ApiError> {
        let mut whole = true;
        let is_served = self.remote.each(kind, namespace, detail, |object| {
            if let Err(error) = self.inventory.add(&object) {
                whole = false;
                exit::say(format_args!("left out: {error}"));
            }
        })?;
        if is_served && whole {
            self.inventory.mark_complete(&kind.group, &kind.kind);
        }
        Ok(is_served)
    }

    fn remark(&self, text: std::fmt::Arguments<'_>) {
        if self.remarks == Remarks::Said {
            exit::say(format_args!("{text}: such objects are not judged, and none of them counts as absent"));
        }
    }

    fn progress(&self, plural: &str) {
        if self.remarks == Remarks::Said && std::io::stderr().is_terminal() {
            exit::say(format_args!("reads {plural}"));
        }
    }
}
