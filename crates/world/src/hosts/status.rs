//! Small changes of a host's status: entering a state, reporting an error, noting when an operation began and ended.

use capm3_api::metadata::MetadataExt;
use uuid::Uuid;

use super::hardware::DETAILS;
use crate::kinds::{BareMetalHost, HostStatus, Operation, OperationHistory, Provisioning};

/// An operation of which the status keeps begin and end.
#[derive(Debug, Clone, Copy)]
pub(super) enum Kept {
    Register,
    Inspect,
    Provision,
    Deprovision,
}

/// The status of a host that the operator has not looked at yet.
pub(super) fn first(host: &BareMetalHost, state: &str, now: &str) -> HostStatus {
    HostStatus {
        operational_status: if state == "unmanaged" { "discovered" } else { "OK" }.to_owned(),
        provisioning: Provisioning {
            state: state.to_owned(),
            id: Uuid::new_v5(&Uuid::NAMESPACE_OID, host.metadata.uid_str().as_bytes()).to_string(),
            ..Provisioning::default()
        },
        last_updated: Some(now.to_owned()),
        ..HostStatus::default()
    }
}

impl HostStatus {
    /// Enters a state; whatever was wrong in the last one is over.
    pub(super) fn enter(&mut self, state: &str, now: &str) {
        state.clone_into(&mut self.provisioning.state);
        self.error_count = 0;
        self.recover(now);
    }

    /// Takes an error back.
    pub(super) fn recover(&mut self, now: &str) {
        "OK".clone_into(&mut self.operational_status);
        self.error_message.clear();
        self.error_type = None;
        self.last_updated = Some(now.to_owned());
    }

    /// Reports an error; the same error again is no change.
    pub(super) fn fail(&mut self, type_: &str, message: &str, now: &str) {
        if self.error_message == message && self.error_type.as_deref() == Some(type_) {
            return;
        }
        "error".clone_into(&mut self.operational_status);
        message.clone_into(&mut self.error_message);
        self.error_type = Some(type_.to_owned());
        self.error_count += 1;
        self.last_updated = Some(now.to_owned());
    }

    pub(super) fn began(&mut self, operation: Kept, now: &str) {
        *self.kept(operation) = Some(Operation { start: Some(now.to_owned()), end: None });
    }

    pub(super) fn ended(&mut self, operation: Kept, now: &str) {
        self.kept(operation).get_or_insert_default().end = Some(now.to_owned());
    }

    fn kept(&mut self, operation: Kept) -> &mut Option<Operation> {
        let history = self.operation_history.get_or_insert_with(OperationHistory::default);
        match operation {
            Kept::Register => &mut history.register,
            Kept::Inspect => &mut history.inspect,
            Kept::Provision => &mut history.provision,
            Kept::Deprovision => &mut history.deprovision,
        }
    }
}

/// Takes an annotation off a host.
pub(super) fn without(host: &BareMetalHost, annotation: &str) -> BareMetalHost {
    let mut host = host.clone();
    if let Some(annotations) = &mut host.metadata.annotations {
        annotations.remove(annotation);
    }
    host
}

/// Whether supplied hardware details have been taken over and can go.
pub(super) fn details_are_used(host: &BareMetalHost) -> bool {
    host.metadata.annotation(DETAILS).is_some() && host.status.as_ref().is_some_and(|s| s.hardware.is_some())
}
