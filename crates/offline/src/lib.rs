//! Manifests in, answers out, with no server: functions that take what a user wrote and give data.
//!
//! Presentation is the binary's; rules that controllers and webhooks share are `domain`'s.

pub mod explain;
pub mod lint;
pub mod migrate;
mod nearest;
pub mod plan;
pub mod planner;
pub mod render;
pub mod stored;
