//! What a Metal3Remediation waits for.

use std::fmt;

use jiff::Timestamp;

use super::UnsupportedStrategy;
use crate::wait::Text;

/// How many names of a list are given.
const NAMED: usize = 3;

/// What a Metal3Remediation waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemediationWait {
    /// No owner reference to a Machine, or the Machine of this name is not there.
    Machine(Option<String>),
    /// The Machine has no Metal3Machine, or the one of this name is not there.
    Metal3Machine {
        /// The Machine.
        machine: String,
        /// The Metal3Machine that it names.
        name: Option<String>,
    },
    /// The Metal3Machine has no host that could be powered off.
    Host {
        /// The Metal3Machine.
        metal3_machine: String,
        /// Why not.
        problem: HostProblem,
    },
    /// The strategy is not supported.
    Strategy(UnsupportedStrategy),
    /// The host is switched off on purpose.
    HostOffline(String),
    /// The host is still powered on.
    PowerOff {
        /// The host.
        host: String,
        /// Whether its operating system was asked to shut down.
        is_soft: bool,
    },
    /// What ran on the Node is still there.
    Drain(Drain),
    /// The Node is being deleted.
    NodeDeletion(String),
    /// The host is not powered on yet.
    PowerOn(String),
    /// The Node has not joined again.
    NodeReturn(String),
    /// The Machine should become healthy.
    Health {
        /// The Machine.
        machine: String,
        /// How many attempts were made.
        attempt: u32,
        /// How many there are at most.
        attempts: u32,
        /// When the next one begins, or when the remediation ends.
        until: Option<Timestamp>,
    },
}

/// Why a host cannot be powered off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostProblem {
    /// The machine has none yet.
    NotRecorded,
    /// It is not there.
    Missing(String),
    /// It is not this machine's.
    OfAnother(String),
}

/// What is left of a Node that is powered off.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Drain {
    /// The Node.
    pub node: String,
    /// Pods that are being deleted or are still to be evicted, as `namespace/name`.
    pub pods: Vec<String>,
    /// VolumeAttachments.
    pub volumes: Vec<String>,
    /// Why it is not known what is left.
    pub unknown: Option<Text>,
}

impl fmt::Display for Drain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "waiting for Node {} to be drained", self.node)?;
        let mut parts: Vec<String> = [("Pods", &self.pods), ("VolumeAttachments", &self.volumes)]
            .into_iter()
            .filter(|(_, names)| !names.is_empty())
            .map(|(kind, names)| format!("{kind} {}", few(names)))
            .collect();
        if let Some(cause) = &self.unknown {
            parts.push(format!("what is left is not known: {cause}"));
        }
        if parts.is_empty() { Ok(()) } else { write!(f, ": {}", parts.join("; ")) }
    }
}

fn few(names: &[String]) -> String {
    let shown = names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > NAMED { format!("{shown} and others") } else { shown }
}

impl fmt::Display for RemediationWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Machine(None) => f.write_str(
                "the remediation has no owner reference to a Machine; a MachineHealthCheck sets one",
            ),
            Self::Machine(Some(name)) => {
                write!(f, "Machine {name} of the owner reference is not found")
            }
            Self::Metal3Machine { machine, name: Some(name) } => {
                write!(f, "Metal3Machine {name} of Machine {machine} is not found")
            }
            Self::Metal3Machine { machine, name: None } => {
                write!(f, "spec.infrastructureRef of Machine {machine} does not name a Metal3Machine")
            }
            Self::Host { metal3_machine, problem } => match problem {
                HostProblem::NotRecorded => {
                    write!(f, "Metal3Machine {metal3_machine} has no host that could be powered off")
                }
                HostProblem::Missing(host) => {
                    write!(f, "BareMetalHost {host} of Metal3Machine {metal3_machine} is not found")
                }
                HostProblem::OfAnother(host) => write!(
                    f,
                    "Metal3Machine {metal3_machine} records BareMetalHost {host}, but spec.consumerRef of the host is \
                     another consumer; the host is not powered off"
                ),
            },
            Self::Strategy(problem) => problem.fmt(f),
            Self::HostOffline(host) => write!(
                f,
                "spec.online of BareMetalHost {host} is false: the host is powered off on purpose and not remediated; \
                 set spec.online to true to continue"
            ),
            Self::PowerOff { host, is_soft: false } => {
                write!(f, "waiting for host {host} to be powered off")
            }
            Self::PowerOff { host, is_soft: true } => {
                write!(f, "waiting for the operating system of host {host} to shut down")
            }
            Self::Drain(drain) => drain.fmt(f),
            Self::NodeDeletion(node) => write!(f, "waiting for Node {node} to be deleted"),
            Self::PowerOn(host) => write!(f, "waiting for host {host} to be powered on"),
            Self::NodeReturn(node) => write!(f, "waiting for Node {node} to join again"),
            Self::Health { machine, attempt, attempts, until } => {
                write!(
                    f,
                    "waiting for Machine {machine} to be healthy after attempt {attempt} of {attempts}"
                )?;
                match until {
                    Some(until) if attempt < attempts => write!(f, "; the next one begins at {until}"),
                    Some(until) => write!(f, "; it is given up at {until}"),
                    None => Ok(()),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drain_names_a_few_of_what_is_left() {
        let names = |kind: &str, count: usize| (1..=count).map(|n| format!("{kind}-{n}")).collect();
        for (drain, expected) in [
            (Drain::default(), "waiting for Node  to be drained"),
            (
                Drain { node: "n".into(), pods: names("ns/p", 1), ..Drain::default() },
                "waiting for Node n to be drained: Pods ns/p-1",
            ),
            (
                Drain {
                    node: "n".into(),
                    pods: names("ns/p", 4),
                    volumes: names("v", 1),
                    unknown: Some(Text::new("no answer")),
                },
                "waiting for Node n to be drained: Pods ns/p-1, ns/p-2, ns/p-3 and others; VolumeAttachments v-1; \
                 what is left is not known: no answer",
            ),
        ] {
            assert_eq!(drain.to_string(), expected);
        }
    }

    #[test]
    fn a_wait_for_health_says_what_comes_next() {
        let until = Timestamp::from_second(1_700_000_000).ok();
        let health = |attempt| RemediationWait::Health { machine: "m".into(), attempt, attempts: 2, until };
        assert_eq!(
            health(1).to_string(),
            "waiting for Machine m to be healthy after attempt 1 of 2; the next one begins at 2023-11-14T22:13:20Z"
        );
        assert!(health(2).to_string().ends_with("; it is given up at 2023-11-14T22:13:20Z"));
    }
}
