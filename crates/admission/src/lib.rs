//! Admission: defaulting, validation and conversion of the provider's kinds, JSON in, verdict or JSON out.
//!
//! Takes what an API server hands to a webhook and gives what the webhook answers, in the words of a `Status`. The
//! rules themselves are in `capm3_domain::validation`, the versions in `capm3_api`; here is only what stands between
//! them and a server: which objects are ours, in which version they come, how a refusal is reported. Whoever serves it,
//! in process or over HTTPS, adds nothing to the answer. [`review`] is the form of a webhook, [`Webhooks`] answers
//! it, [`https`] serves it.

mod conversion;
mod denial;
pub mod https;
mod judge;
mod kinds;
pub mod review;
pub mod self_managed;
mod webhooks;

pub use self::{
    conversion::convert,
    denial::{Denial, Finding},
    judge::{AdmissionAnswer, fill_in, judge},
    kinds::{defaulter_name, is_ours, validator_name},
    webhooks::Webhooks,
};
