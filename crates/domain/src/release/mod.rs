//! How a machine gives its host back.
//!
//! Takes the machine, its host and what is known of the Cluster, gives the next step: clear the host, wait for its
//! operator, or release it. Needs neither the machine's status nor Machine, Cluster or template to exist: a host is
//! given back with what is known. Must not write: patches are data, guarded by the caller with the resource version.
//!
//! ```
//! use capm3_domain::release::{ReleaseRequest, ReleaseStep, release_step};
//!
//! let machine = serde_json::from_str(r#"{"metadata": {"name": "m", "namespace": "ns"}}"#).unwrap();
//! let host = serde_json::from_str(r#"{"metadata": {"name": "h", "namespace": "ns"}, "spec": {
//!     "image": {"url": "http://i"}, "consumerRef": {"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta2",
//!     "kind": "Metal3Machine", "name": "m", "namespace": "ns"}}}"#).unwrap();
//! let request = ReleaseRequest { machine: &machine, cluster_name: None, fast_track: false, reservation: None };
//! let ReleaseStep::Clear(patch) = release_step(&request, &host) else { panic!() };
//! assert_eq!(patch, serde_json::json!({"spec": {"image": null}}));
//! ```

mod clear;
mod release_patch;
mod reservation;
mod wait;

use capm3_api::{neighbours::BareMetalHost, v1beta2::Metal3Machine};
use serde_json::Value;

pub use clear::{clear, online_at_release};
pub use release_patch::{owners_without_machines, release_patch};
pub use reservation::{Reservation, is_reservation_lost, remove_reservation, reservation};
pub use wait::{HostWait, must_wait, wait};

use crate::host::Consumer;

/// What is known when a host is given back.
#[derive(Debug, Clone)]
pub struct ReleaseRequest<'a> {
    /// The machine that goes.
    pub machine: &'a Metal3Machine,
    /// Name of its Cluster, if known.
    pub cluster_name: Option<&'a str>,
    /// Whether hosts stay powered on for faster provisioning.
    pub fast_track: bool,
    /// The reservation for the next machine of the same owner, from [`reservation`].
    pub reservation: Option<Reservation>,
}

/// The next step in giving a host back. Patches are JSON merge patches of the host.
#[derive(Debug, Clone, PartialEq)]
pub enum ReleaseStep {
    /// The host is not this machine's: leave it alone, the machine may go.
    NotOurs,
    /// Write this, which makes the operator deprovision the host; then reconcile again.
    Clear(Value),
    /// The operator is not done yet.
    Wait(HostWait),
    /// Write this; then the host is no longer the machine's.
    Release(Value),
}

/// The next step in giving a host back. Every pass repeats all tests, so a crash in between costs nothing.
pub fn release_step(request: &ReleaseRequest<'_>, host: &BareMetalHost) -> ReleaseStep {
    let consumer = host.spec.consumer_ref.as_ref();
    if !consumer.is_some_and(|consumer| Consumer::is_machine(consumer, request.machine)) {
        return ReleaseStep::NotOurs;
    }
    if let Some(patch) = clear(request.machine, host, request.fast_track) {
        return ReleaseStep::Clear(patch);
    }
    if let Some(wait) = wait(host) {
        return ReleaseStep::Wait(wait);
    }
    let known = request.cluster_name;
    ReleaseStep::Release(release_patch(request.machine, host, known, request.reservation.as_ref()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn step(spec: Value, state: &str) -> ReleaseStep {
        let machine: Metal3Machine =
            serde_json::from_value(json!({"metadata": {"name": "m", "namespace": "ns"}})).unwrap();
        let host: BareMetalHost = serde_json::from_value(json!({
            "metadata": {"name": "h", "namespace": "ns"},
            "spec": spec,
            "status": {"provisioning": {"state": state}}
        }))
        .unwrap();
        let request =
            ReleaseRequest { machine: &machine, cluster_name: None, fast_track: false, reservation: None };
        release_step(&request, &host)
    }

    fn consumer(name: &str) -> Value {
        json!({"apiVersion": "infrastructure.cluster.x-k8s.io/v1beta1", "kind": "Metal3Machine", "name": name, "namespace": "ns"})
    }

    #[test]
    fn a_host_of_somebody_else_or_of_nobody_is_left_alone() {
        assert_eq!(step(json!({"image": {"url": "x"}}), "provisioned"), ReleaseStep::NotOurs);
        assert_eq!(step(json!({"consumerRef": consumer("other")}), "provisioned"), ReleaseStep::NotOurs);
    }

    #[test]
    fn a_host_is_cleared_then_waited_for_then_released() {
        let full = json!({"consumerRef": consumer("m"), "image": {"url": "x"}, "online": true});
        assert!(matches!(step(full, "provisioned"), ReleaseStep::Clear(_)));
        let clear = json!({"consumerRef": consumer("m")});
        assert!(matches!(step(clear.clone(), "provisioned"), ReleaseStep::Wait(_)));
        assert!(matches!(step(clear.clone(), "deprovisioning"), ReleaseStep::Wait(_)));
        assert!(matches!(step(clear, "available"), ReleaseStep::Release(_)));
    }
}
