//! Certificates that the manager makes for its webhooks itself, where nobody else issues them.
//!
//! An authority and a serving certificate are kept in one Secret, which all replicas share. Takes that Secret, the time
//! and the configurations that name the webhooks; gives what is to be written. Does no I/O: whoever calls it reads and
//! writes, guarded by the resourceVersion of the Secret, so that of several replicas one makes each step.

mod decide;
mod issue;
mod material;
mod trust;

pub use self::{
    decide::{Facts, Span, Step, decide},
    issue::{IssueError, carry_out},
    material::Material,
    trust::{Configuration, Service, Trust, configuration, configurations, definition, definitions},
};
