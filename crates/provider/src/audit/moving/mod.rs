//! What a `clusterctl move` would lose or leave behind, reported before it is started.
//!
//! A move creates every object again in another management cluster, without its status, and takes along only what an owner
//! reference, or a label of the object or of its CRD, leads it to. These rules look at what is there now, however young.

mod hosts;
mod left_behind;
mod machines;

use super::Rule;

/// The rules of `audit --before-move`, by code.
pub const RULES: &[Rule] = &[
    machines::UNFINISHED,
    hosts::IN_MOTION,
    hosts::CREDENTIALS,
    left_behind::WITHOUT_OWNER,
    left_behind::USER_SECRET,
    machines::REMEDIATION,
    hosts::STATUS,
    hosts::DEFINITION,
    machines::PAUSED_CLUSTER,
];
