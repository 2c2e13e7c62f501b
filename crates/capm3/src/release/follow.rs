//! Follows a release that is requested, until the host is free or it is clear that it does not become so.

use std::{collections::BTreeSet, time::Duration};

use capm3_api::{neighbours::BareMetalHost, vocabulary::event};
use capm3_engine::{ApiClient, ApiError, Detail, ObjectKey};
use capm3_offline::explain::{HostEvent, Progress, event_kind, events_about};
use tokio::time::{Instant, sleep, timeout_at};

use super::{
    seen::{Seen, seen},
    text::{stopped, withdraw},
};
use crate::{
    exit::{self, Failure},
    remote,
    stop::stop_signal,
};

/// How often the host is read.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// How long the manager may take before its absence is suspected: it proves for a minute after its start.
const REACTION: Duration = Duration::from_secs(90);

/// How often the event of a refusal is read at most: it is written after the request is removed.
const MAX_POLLS: usize = 5;

/// Prints each step until the release ends.
pub async fn follow(
    client: &ApiClient,
    host: &ObjectKey,
    machine: &ObjectKey,
    timeout: Duration,
) -> Result<(), Failure> {
    let stop = stop_signal().map_err(|e| Failure::CouldNotRun(format!("cannot wait for signals: {e}")))?;
    let known = refusals(client, host).await.into_iter().map(|event| event.name).collect();
    exit::print(&format!("requested: the manager now checks that Metal3Machine {machine} is gone\n"))?;
    let deadline = Instant::now() + timeout;
    let steps = Steps { client, host, machine, known };
    tokio::select! {
        biased;
        signal = stop => Err(Failure::Stopped(signal, stopped(signal, host))),
        ended = timeout_at(deadline, steps.run()) => ended.unwrap_or_else(|_| {
            Err(Failure::Invalid(format!("host {host} is not released within {} s; {}", timeout.as_secs(), withdraw(host))))
        }),
    }
}

struct Steps<'a> {
    client: &'a ApiClient,
    host: &'a ObjectKey,
    machine: &'a ObjectKey,
    /// Refusals of earlier requests.
    known: BTreeSet<String>,
}

impl Steps<'_> {
    async fn run(&self) -> Result<(), Failure> {
        let (started, mut is_suspected) = (Instant::now(), false);
        let (mut first, mut last): (Option<Seen>, Option<Seen>) = (None, None);
        let mut problem = String::new();
        loop {
            match self.read_host().await {
                Ok(now) => {
                    problem.clear();
                    if last.as_ref() != Some(&now) {
                        if let Some(end) = self.print_change(last.as_ref(), &now).await {
                            return end;
                        }
                        first.get_or_insert_with(|| now.clone());
                        last = Some(now);
                    }
                }
                Err(error) => self.report_error(&error, &mut problem)?,
            }
            if !is_suspected && first == last && started.elapsed() >= REACTION {
                is_suspected = true;
                exit::say("no manager has reacted; check whether `capm3 manager` runs, and read its log");
            }
            sleep(POLL_INTERVAL).await;
        }
    }

    async fn read_host(&self) -> Result<Seen, ApiError> {
        let host = self.client.get_object::<BareMetalHost>(self.host).await?;
        Ok(seen(host.as_ref(), self.machine))
    }

    /// Prints what is new; returns the end if it is reached.
    async fn print_change(&self, last: Option<&Seen>, now: &Seen) -> Option<Result<(), Failure>> {
        let host = self.host;
        let printed = match (last, now) {
            (_, Seen::Released(None)) => {
                return Some(exit::print(&format!("released: host {host} is free\n")));
            }
            (_, Seen::Released(Some(next))) => {
                return Some(exit::print(&format!("released: host {host} is in use by {next} already\n")));
            }
            (_, Seen::Gone) => {
                return Some(Err(Failure::Invalid(format!("BareMetalHost {host} is deleted"))));
            }
            (_, Seen::Refused) => return Some(Err(self.refused().await)),
            // The first read finds the host as it was shown.
            (None, Seen::Stands(Progress::Clear | Progress::Release, _)) => Ok(()),
            (Some(Seen::Stands(Progress::Clear, _)), Seen::Stands(Progress::Wait, text)) => {
                exit::print(&format!("cleared: the image is removed from the spec\ndeprovisioning: {text}\n"))
            }
            (_, Seen::Stands(step, text)) => exit::print(&format!("{}: {text}\n", word(*step))),
        };
        printed.err().map(Err)
    }

    /// A request that is removed without a release: the manager gives the reason in an event.
    async fn refused(&self) -> Failure {
        let mut newest = None;
        for poll in 0..MAX_POLLS {
            if poll > 0 {
                sleep(POLL_INTERVAL).await;
            }
            let events = refusals(self.client, self.host).await;
            let is_new = events.last().is_some_and(|event| !self.known.contains(&event.name));
            newest = events.into_iter().next_back().or(newest);
            if is_new {
                break;
            }
        }
        let host = self.host;
        match newest {
            Some(event) => {
                Failure::Invalid(format!("the manager refuses the release of host {host}: {}", event.message))
            }
            None => Failure::Invalid(format!(
                "host {host} is not released: the request was removed, and no event gives the reason"
            )),
        }
    }

    /// Prints once that the host cannot be read; an error that a retry cannot solve ends everything.
    fn report_error(&self, error: &ApiError, problem: &mut String) -> Result<(), Failure> {
        let text = error.with_causes();
        if let ApiError::Refused { code: 401 | 403, .. } | ApiError::NotServed { .. } = error {
            let text = format!("cannot read BareMetalHost {}: {text}; {}", self.host, withdraw(self.host));
            return Err(Failure::CouldNotRun(text));
        }
        if problem.is_empty() {
            exit::say(format_args!("cannot read BareMetalHost {}: {text}; retries", self.host));
            *problem = text;
        }
        Ok(())
    }
}

fn word(step: Progress) -> &'static str {
    match step {
        Progress::Clear | Progress::Refused => "requested",
        Progress::Paused => "paused",
        Progress::Wait => "deprovisioning",
        Progress::Release => "deprovisioned",
    }
}

/// Refusals of requests for a host, the newest last; none where events may not be read.
async fn refusals(client: &ApiClient, host: &ObjectKey) -> Vec<HostEvent> {
    let listed = remote::list(client, &event_kind(), &host.namespace, Detail::Whole).await;
    let documents = listed.ok().flatten().unwrap_or_default();
    events_about(documents.iter().map(|document| &document.value), host, event::RELEASE_REFUSED)
}
