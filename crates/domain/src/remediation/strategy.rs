//! What a Metal3Remediation asks for, with every default filled in.

use std::fmt;

use capm3_api::v1beta2::Metal3RemediationSpec;
use jiff::SignedDuration;

/// The only type of strategy that there is.
const REBOOT: &str = "Reboot";
/// How long an attempt takes by default.
const TIMEOUT: SignedDuration = SignedDuration::from_secs(600);

/// A strategy with every default filled in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Strategy {
    /// How many attempts follow the first one.
    pub retry_limit: u32,
    /// How long an attempt takes at most, counted from its beginning.
    pub timeout: SignedDuration,
    /// How the host is powered off.
    pub power_off: PowerOff,
    /// What happens after the last attempt.
    pub on_exhausted: OnExhausted,
}

/// How a host is powered off.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum PowerOff {
    /// The operating system is asked to shut down first.
    Soft,
    /// At once.
    #[default]
    Hard,
}

/// What happens after the last attempt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum OnExhausted {
    /// The host is marked, the Machine is replaced.
    #[default]
    MarkUnhealthyAndReplace,
    /// The host is marked.
    MarkUnhealthyOnly,
    /// The Machine is replaced.
    ReplaceOnly,
}

/// A strategy of another type, or none: nothing is done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct UnsupportedStrategy(pub Option<String>);

impl fmt::Display for UnsupportedStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Some(found) => write!(f, "spec.strategy.type is {found:?}; only {REBOOT} is supported"),
            None => write!(f, "spec.strategy.type is not set; set it to {REBOOT}"),
        }
    }
}

impl Strategy {
    /// Reads a spec. A member that is out of bounds, as old objects may have, counts as its nearest bound.
    ///
    /// # Errors
    /// If the type of the strategy is not `Reboot`.
    pub fn of(spec: &Metal3RemediationSpec) -> Result<Self, UnsupportedStrategy> {
        let strategy = spec.strategy.as_ref();
        let type_ = strategy.and_then(|it| it.type_.as_deref()).filter(|it| !it.is_empty());
        let (Some(strategy), Some(REBOOT)) = (strategy, type_) else {
            return Err(UnsupportedStrategy(type_.map(str::to_owned)));
        };
        let timeout = strategy.timeout_seconds.filter(|seconds| *seconds > 0);
        Ok(Self {
            // The API server sets 1 where nothing is given; an object that it did not default asks for none.
            retry_limit: u32::try_from(strategy.retry_limit.unwrap_or_default()).unwrap_or_default(),
            timeout: timeout.map_or(TIMEOUT, |seconds| SignedDuration::from_secs(seconds.into())),
            power_off: match strategy.power_off.as_deref() {
                Some("soft") => PowerOff::Soft,
                _ => PowerOff::Hard,
            },
            on_exhausted: match strategy.on_exhausted.as_deref() {
                Some("MarkUnhealthyOnly") => OnExhausted::MarkUnhealthyOnly,
                Some("ReplaceOnly") => OnExhausted::ReplaceOnly,
                _ => OnExhausted::MarkUnhealthyAndReplace,
            },
        })
    }

    /// How many attempts there are at most.
    pub const fn attempts(&self) -> u32 {
        self.retry_limit.saturating_add(1)
    }

    /// Whether `count` attempts after the first one are all there are. The limit may be lowered while attempts are made.
    pub const fn is_exhausted(&self, count: u32) -> bool {
        count >= self.retry_limit
    }

    /// How long an operating system may take to shut down before the host is powered off at once, and how long what runs on
    /// its Node may take to end before the host is powered on anyway: the other half is for the Node to come back.
    pub fn half(&self) -> SignedDuration {
        self.timeout / 2
    }
}

impl PowerOff {
    /// Value of the annotation that asks the host operator for it.
    pub const fn annotation(self) -> &'static str {
        match self {
            Self::Soft => r#"{"mode":"soft","force":false}"#,
            Self::Hard => r#"{"mode":"hard","force":false}"#,
        }
    }

    /// What the annotation asks for; whatever is not soft is hard, as the host operator reads it.
    pub fn of_annotation(value: &str) -> Self {
        let mode = serde_json::from_str::<serde_json::Value>(value).ok();
        match mode.as_ref().and_then(|it| it.get("mode")?.as_str()) {
            Some("soft") => Self::Soft,
            _ => Self::Hard,
        }
    }
}

impl OnExhausted {
    /// Whether the host is marked as unhealthy.
    pub const fn marks_host(self) -> bool {
        matches!(self, Self::MarkUnhealthyAndReplace | Self::MarkUnhealthyOnly)
    }

    /// Whether the owner of the Machine is asked to replace it.
    pub const fn replaces_machine(self) -> bool {
        matches!(self, Self::MarkUnhealthyAndReplace | Self::ReplaceOnly)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn strategy(strategy: serde_json::Value) -> Result<Strategy, UnsupportedStrategy> {
        Strategy::of(&serde_json::from_value(json!({"strategy": strategy})).unwrap())
    }

    #[test]
    fn a_type_other_than_reboot_is_not_supported() {
        assert!(strategy(json!({"type": "Reboot"})).is_ok());
        for (given, found) in [
            (json!({"type": ""}), None),
            (json!({}), None),
            (json!(null), None),
            (json!({"type": "Replace"}), Some("Replace")),
        ] {
            assert_eq!(
                strategy(given.clone()),
                Err(UnsupportedStrategy(found.map(str::to_owned))),
                "{given}"
            );
        }
    }

    #[test]
    fn limits_and_timeouts_that_are_not_set_have_defaults() {
        for (given, retries, seconds) in [
            (json!({"type": "Reboot", "retryLimit": 1, "timeoutSeconds": 300}), 1, 300),
            (json!({"type": "Reboot", "retryLimit": 0, "timeoutSeconds": 0}), 0, 600),
            (json!({"type": "Reboot", "retryLimit": -1, "timeoutSeconds": -5}), 0, 600),
            (json!({"type": "Reboot"}), 0, 600),
        ] {
            let read = strategy(given.clone()).unwrap();
            assert_eq!((read.retry_limit, read.timeout.as_secs()), (retries, seconds), "{given}");
        }
    }

    #[test]
    fn attempts_are_exhausted_at_the_limit_and_above_it() {
        for (limit, count, expected) in
            [(1, 1, true), (1, 0, false), (0, 0, true), (1, 2, true), (3, 2, false)]
        {
            let read = strategy(json!({"type": "Reboot", "retryLimit": limit})).unwrap();
            assert_eq!(read.is_exhausted(count), expected, "limit {limit}, count {count}");
        }
    }

    #[test]
    fn each_choice_after_the_last_attempt_marks_the_host_or_replaces_the_machine() {
        for (given, marks, replaces) in [
            (json!(null), true, true),
            (json!("MarkUnhealthyAndReplace"), true, true),
            (json!("MarkUnhealthyOnly"), true, false),
            (json!("ReplaceOnly"), false, true),
        ] {
            let read = strategy(json!({"type": "Reboot", "onExhausted": given})).unwrap().on_exhausted;
            assert_eq!((read.marks_host(), read.replaces_machine()), (marks, replaces), "{given}");
        }
    }

    #[test]
    fn the_annotation_of_a_power_off_is_read_as_it_was_written() {
        for mode in [PowerOff::Soft, PowerOff::Hard] {
            assert_eq!(PowerOff::of_annotation(mode.annotation()), mode);
        }
        assert_eq!(PowerOff::of_annotation(""), PowerOff::Hard);
    }
}
