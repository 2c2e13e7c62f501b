//! Leader election of the manager: takes its flags, gives a candidate for the Lease that the Go manager uses too.

use std::time::Duration;

use capm3_engine::{
    ApiClient, Clock, ObjectKey, WriteGate,
    client::ServiceAccount,
    lease::{Candidate, Elector, Timing},
    rng::{self, Rng},
};
use clap::{ArgAction, Args};

use super::flags;
use crate::exit::Failure;

/// Name of the Lease.
const LEASE: &str = "controller-leader-election-capm3";

/// Flags of the election, as the Go manager names them.
#[derive(Debug, Args)]
pub struct ElectionArgs {
    /// Contend for a Lease, so that only one of several replicas acts
    #[arg(long, action = ArgAction::Set, num_args = 0..=1, require_equals = true, default_value = "false",
        default_missing_value = "true", value_parser = flags::boolean, value_name = "BOOL")]
    leader_elect: bool,

    /// How long others wait before they take a Lease that is not renewed
    #[arg(long, default_value = "15s", value_parser = flags::duration, value_name = "DURATION")]
    leader_elect_lease_duration: Duration,

    /// How long the leader tries to renew before it stops writing and exits; shorter than the lease duration
    #[arg(long, default_value = "10s", value_parser = flags::duration, value_name = "DURATION")]
    leader_elect_renew_deadline: Duration,

    /// The longest pause between two tries
    #[arg(long, default_value = "2s", value_parser = flags::duration, value_name = "DURATION")]
    leader_elect_retry_period: Duration,

    /// Namespace of the Lease; without it, that of the pod
    #[arg(long, value_name = "NAMESPACE")]
    leader_elect_namespace: Option<String>,
}

impl ElectionArgs {
    /// Who contends for which Lease; none without an election. `account` is that of the pod.
    pub fn candidate(&self, account: &ServiceAccount) -> Result<Option<Candidate>, Failure> {
        if !self.leader_elect {
            return Ok(None);
        }
        let timing = Timing::new(
            self.leader_elect_lease_duration,
            self.leader_elect_renew_deadline,
            self.leader_elect_retry_period,
        );
        let timing = timing.map_err(|error| {
            let flags =
                "--leader-elect-lease-duration, --leader-elect-renew-deadline, --leader-elect-retry-period";
            Failure::Usage(format!("{error}: see {flags}"))
        })?;
        let lease = ObjectKey::new(self.namespace(account)?, LEASE);
        Ok(Some(Candidate { lease, identity: identity()?, timing }))
    }

    fn namespace(&self, account: &ServiceAccount) -> Result<String, Failure> {
        let named = self.leader_elect_namespace.clone().filter(|namespace| !namespace.is_empty());
        named.map_or_else(|| account.namespace(), Ok).map_err(|error| {
            Failure::Usage(format!(
                "the namespace of the Lease is not known: set --leader-elect-namespace NAMESPACE ({error})"
            ))
        })
    }
}

/// An elector that opens `gate` when it leads.
pub fn elector(
    client: ApiClient,
    clock: Clock,
    candidate: Candidate,
    gate: WriteGate,
) -> Result<Elector, Failure> {
    // Replicas that are started together must not try together.
    let seed = rng::unguessable().map_err(no_chance)?;
    let seed = seed.get(..16).and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or_default();
    Ok(Elector::new(client, clock, Rng::seeded(seed), candidate, gate))
}

/// `<hostname>_<uuid>`: the name of the pod, and something that no other process has, not even the next one in the same pod.
fn identity() -> Result<String, Failure> {
    let uname = rustix::system::uname();
    let hostname = uname.nodename().to_string_lossy();
    Ok(format!("{hostname}_{}", rng::uuid().map_err(no_chance)?))
}

fn no_chance(error: std::io::Error) -> Failure {
    Failure::CouldNotRun(format!("cannot read random bytes: {error}"))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Command {
        #[command(flatten)]
        election: ElectionArgs,
    }

    fn candidate(arguments: &[&str]) -> Result<Option<Candidate>, String> {
        let arguments = ["manager"].iter().chain(arguments);
        let command = Command::try_parse_from(arguments).map_err(|error| error.to_string())?;
        let nowhere = ServiceAccount::at("/nonexistent");
        command.election.candidate(&nowhere).map_err(|error| error.to_string())
    }

    #[test]
    fn arguments_of_the_go_manager_are_taken() {
        for arguments in [&[] as &[&str], &["--leader-elect=false"], &["--leader-elect=0"]] {
            assert!(candidate(arguments).unwrap().is_none(), "{arguments:?}");
        }
        for leader_elect in ["--leader-elect", "--leader-elect=true"] {
            let found = candidate(&[leader_elect, "--leader-elect-namespace=capm3-system"]).unwrap().unwrap();
            assert_eq!(found.lease.to_string(), "capm3-system/controller-leader-election-capm3");
            assert_eq!(found.timing, Timing::default());
            let (hostname, uuid) = found.identity.rsplit_once('_').unwrap();
            assert!(!hostname.is_empty() && uuid.len() == 36, "{}", found.identity);
        }
        let slow = candidate(&[
            "--leader-elect",
            "--leader-elect-namespace=n",
            "--leader-elect-lease-duration=1m0s",
            "--leader-elect-renew-deadline",
            "40s",
            "--leader-elect-retry-period=5s",
        ]);
        assert_eq!(slow.unwrap().unwrap().timing.lease(), Duration::from_secs(60));
    }

    #[test]
    fn without_a_pod_the_namespace_must_be_given() {
        for arguments in [&["--leader-elect"] as &[&str], &["--leader-elect", "--leader-elect-namespace="]] {
            let message = candidate(arguments).unwrap_err();
            assert!(message.contains("set --leader-elect-namespace NAMESPACE"), "{message}");
            assert!(message.contains("/nonexistent/namespace"), "{message}");
        }
    }

    #[test]
    fn times_that_do_not_fit_are_refused_by_their_flags() {
        let message =
            candidate(&["--leader-elect", "--leader-elect-namespace=n", "--leader-elect-renew-deadline=15s"]);
        let message = message.unwrap_err();
        assert!(message.contains("must be longer than the renew deadline"), "{message}");
        assert!(message.contains("--leader-elect-renew-deadline"), "{message}");
    }
}
