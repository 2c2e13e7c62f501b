//! Open load: each request has a moment at which it is due, and its latency is counted from then on. A server that is slow, or
//! a connection that is busy, makes requests late; it does not make them fewer.

use std::{sync::Arc, thread, time::Duration};

use anyhow::Result;
use tokio::{
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
    task::JoinSet,
    time::timeout,
};

use super::questions::{Question, Questions};
use crate::{real::wait::Stopwatch, webhook_client::Client};

/// What an API server waits for an answer by default.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The first requests are due so long after the start, so that all connections are ready.
const LEAD: Duration = Duration::from_millis(200);

/// How many reviews a second, and for how long.
pub struct Load {
    pub rate: u32,
    pub conversions: u32,
    pub seconds: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    Admission,
    Conversion,
}

/// A request that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Due {
    at: Duration,
    class: Class,
    /// Of all requests, for its uid.
    number: usize,
}

/// What became of a request.
pub struct Answered {
    pub class: Class,
    /// From the moment at which it was due.
    pub latency: Duration,
    pub outcome: Outcome,
}

pub enum Outcome {
    Right,
    /// The answer is not the one that is expected.
    Wrong(String),
    /// No answer within [`TIMEOUT`], or the connection ended.
    Lost(String),
}

impl Load {
    /// Every request, by the time at which it is due.
    fn schedule(&self) -> Vec<Due> {
        let times = |rate: u32, class| {
            let every = Duration::from_secs(1) / rate.max(1);
            (0..rate * self.seconds).map(move |index| (LEAD + every * index, class))
        };
        let mut all: Vec<(Duration, Class)> = times(self.rate, Class::Admission).collect();
        all.extend(times(self.conversions, Class::Conversion));
        all.sort_by_key(|(at, _)| *at);
        all.into_iter().enumerate().map(|(number, (at, class))| Due { at, class, number }).collect()
    }

    /// Asks everything, the connections in turn, and waits for the last answer.
    pub async fn run(&self, questions: Questions, clients: Vec<Client>) -> Result<Vec<Answered>> {
        let schedule = self.schedule();
        let (mut connections, mut senders) = (JoinSet::new(), Vec::new());
        let shared = Arc::new(Shared { questions, watch: Stopwatch::start() });
        for client in clients {
            let (sender, receiver) = unbounded_channel();
            senders.push(sender);
            connections.spawn(ask(client, receiver, Arc::clone(&shared)));
        }
        let watch = shared.watch;
        // A thread of its own: timers of the runtime have whole milliseconds.
        let pace = thread::spawn(move || pace(&schedule, &senders, watch));
        let mut answered = Vec::new();
        while let Some(of_connection) = connections.join_next().await {
            answered.extend(of_connection?);
        }
        pace.join().map_err(|_| anyhow::anyhow!("the pace was not kept"))?;
        Ok(answered)
    }
}

/// Hands each request to its connection when it is due.
fn pace(schedule: &[Due], senders: &[UnboundedSender<Due>], watch: Stopwatch) {
    for (due, sender) in schedule.iter().zip(senders.iter().cycle()) {
        thread::sleep(due.at.saturating_sub(watch.elapsed()));
        // A connection that is gone answers nothing; what is missing is counted at the end.
        let _gone = sender.send(*due);
    }
}

struct Shared {
    questions: Questions,
    watch: Stopwatch,
}

impl Shared {
    fn question(&self, due: &Due) -> Option<&Question> {
        let all = match due.class {
            Class::Admission => &self.questions.admission,
            Class::Conversion => &self.questions.conversion,
        };
        all.get(due.number % all.len().max(1))
    }

    async fn ask(&self, client: &mut Client, due: Due) -> Answered {
        let outcome = match self.question(&due) {
            None => Outcome::Lost("no question".to_owned()),
            Some(question) => {
                match timeout(TIMEOUT, client.post(&question.path, question.body(due.number))).await {
                    Ok(Ok(answer)) => {
                        question.problem(due.number, &answer).map_or(Outcome::Right, Outcome::Wrong)
                    }
                    Ok(Err(error)) => Outcome::Lost(format!("{error:#}")),
                    Err(_) => Outcome::Lost(format!("no answer within {} s", TIMEOUT.as_secs())),
                }
            }
        };
        let latency = self.watch.elapsed().saturating_sub(due.at);
        Answered { class: due.class, latency, outcome }
    }
}

/// One connection. HTTP/1.1 answers one request after the other, HTTP/2 many at a time.
async fn ask(mut client: Client, mut due: UnboundedReceiver<Due>, shared: Arc<Shared>) -> Vec<Answered> {
    let (mut answered, mut streams) = (Vec::new(), JoinSet::new());
    while let Some(due) = due.recv().await {
        match &client {
            Client::Http1(_) => answered.push(shared.ask(&mut client, due).await),
            Client::Http2(connection) => {
                let (mut client, shared) = (Client::Http2(connection.clone()), Arc::clone(&shared));
                streams.spawn(async move { shared.ask(&mut client, due).await });
            }
        }
    }
    answered.extend(streams.join_all().await);
    answered
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_due_evenly_and_conversions_in_between() {
        let schedule = Load { rate: 4, conversions: 2, seconds: 2 }.schedule();
        let at = |class| -> Vec<u128> {
            schedule.iter().filter(|due| due.class == class).map(|due| (due.at - LEAD).as_millis()).collect()
        };
        assert_eq!(at(Class::Admission), [0, 250, 500, 750, 1000, 1250, 1500, 1750]);
        assert_eq!(at(Class::Conversion), [0, 500, 1000, 1500]);
        assert!(schedule.iter().enumerate().all(|(index, due)| due.number == index));
    }

    #[test]
    fn without_conversions_none_is_due() {
        let schedule = Load { rate: 1, conversions: 0, seconds: 3 }.schedule();
        assert_eq!(schedule.len(), 3);
    }
}
