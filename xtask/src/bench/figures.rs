//! What a benchmark of machines tells, next to the budgets.

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::requests::Counts;

/// The figures of one run.
#[derive(Serialize, Deserialize)]
pub struct Figures {
    pub bench: String,
    /// How many workers; one control-plane machine comes with them.
    pub size: usize,
    /// How many clusters of one machine there are instead, where that was asked for.
    pub clusters: Option<usize>,
    pub seconds: f64,
    /// Seconds of processor time, where everything runs in this process.
    pub processor: Option<f64>,
    /// Requests until everything was at rest.
    pub up: Counts,
    pub writes_at_rest: u64,
    /// What deleting some machines takes, where that was tried.
    pub deletion: Option<Deletion>,
    /// What a machine costs against one of a smaller fleet, where that was asked for.
    pub growth: Option<Growth>,
    /// Everything that was asked of a real server, with the limit.
    pub everything: Option<Everything>,
    /// What was asked how often, the most frequent first.
    pub by_kind: Vec<String>,
    pub peak_rss_mb: u64,
    /// Whose memory that is.
    pub memory_of: String,
}

/// What deleting machines takes.
#[derive(Serialize, Deserialize)]
pub struct Deletion {
    /// All requests to delete one.
    pub requests: f64,
    /// Seconds until the last request of all; the hosts of the benchmark take no time of their own.
    pub seconds: f64,
}

/// Everything that a manager asked of a real server: events, reads, Nodes and workload clusters too.
#[derive(Serialize, Deserialize)]
pub struct Everything {
    /// Requests for each machine that came up.
    pub per_machine: f64,
    /// Requests to delete one, where that was tried.
    pub to_delete_one: Option<f64>,
    /// Seconds of processor time of the manager until all machines were up.
    pub processor: f64,
    /// The raw writer, where it ran too.
    pub limit: Option<Limit>,
}

/// Seconds of all rounds.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Limit {
    pub ours: f64,
    /// Those of a program that sends only the writes that must happen.
    pub raw: f64,
}

/// What a machine costs against one of a smaller fleet.
#[derive(Serialize, Deserialize)]
pub struct Growth {
    pub against: usize,
    pub ratio: f64,
}

/// A figure that has a budget.
struct Judged {
    name: &'static str,
    member: &'static str,
    value: f64,
    budget: f64,
    /// Digits behind the point, for people.
    digits: usize,
}

impl Figures {
    fn machines(&self) -> usize {
        self.clusters.unwrap_or(self.size + 1)
    }

    fn per_machine(&self, count: u64) -> f64 {
        count as f64 / self.machines() as f64
    }

    /// Milliseconds of processor time a machine, or of time on the wall.
    pub fn milliseconds_each(&self) -> f64 {
        self.processor.unwrap_or(self.seconds) * 1000.0 / self.clusters.unwrap_or(self.size).max(1) as f64
    }

    fn judged(&self) -> Vec<Judged> {
        let judged = |name, member, value, budget, digits| Judged { name, member, value, budget, digits };
        let mut all =
            vec![judged("writes in 60 s at rest", "writesAtRest", self.writes_at_rest as f64, 0.0, 0)];
        if self.clusters.is_some() {
            all.push(judged("peak memory, MB", "peakRssMb", self.peak_rss_mb as f64, 80.0, 0));
        } else {
            let [writes, reads] = [self.up.writes, self.up.reads].map(|count| self.per_machine(count));
            all.push(judged("writes per machine", "writesPerMachine", writes, 18.0, 1));
            all.push(judged("reads per machine", "readsPerMachine", reads, 4.0, 1));
        }
        if let Some(Deletion { requests, seconds }) = self.deletion {
            all.push(judged("requests to delete one", "requestsToDeleteOne", requests, 14.0, 1));
            all.push(judged("seconds until it is gone", "secondsToDelete", seconds, 1.0, 2));
        }
        if let Some(Everything { per_machine, to_delete_one, limit, .. }) = &self.everything {
            // Each cluster is connected to, and reports that it is ready.
            let budget = if self.clusters.is_some() { 24.0 } else { 19.0 };
            all.push(judged("requests per machine", "requestsPerMachine", *per_machine, budget, 1));
            let deletion = to_delete_one
                .map(|count| judged("requests to delete one", "requestsToDeleteOne", count, 14.0, 1));
            all.extend(deletion);
            let ratio =
                |limit: &Limit| judged("times the raw writer", "timesLimit", limit.ours / limit.raw, 1.15, 2);
            all.extend(limit.as_ref().map(ratio));
        }
        if let Some(Growth { ratio, .. }) = self.growth {
            all.push(judged("times a smaller fleet", "growth", ratio, 1.2, 2));
        }
        all
    }

    /// One JSON line with every figure and its budget.
    pub fn json(&self) -> String {
        let of_manager = self.everything.as_ref();
        let limit = of_manager.and_then(|everything| everything.limit);
        let mut line = json!({"bench": self.bench, "size": self.size, "seconds": round(self.seconds),
            "processorMsPerMachine": self.processor.map(|_| round(self.milliseconds_each())),
            "managerProcessorSeconds": of_manager.map(|everything| round(everything.processor)),
            "managerSecondsOfAllRounds": limit.map(|limit| round(limit.ours)),
            "rawWriterSecondsOfAllRounds": limit.map(|limit| round(limit.raw)),
            "clusters": self.clusters, "peakRssMb": self.peak_rss_mb});
        let judged = self.judged();
        let members = |number: fn(&Judged) -> f64| -> Map<String, Value> {
            judged.iter().map(|figure| (figure.member.to_owned(), json!(round(number(figure))))).collect()
        };
        if let Some(line) = line.as_object_mut() {
            line.extend(members(|figure| figure.value));
            line.insert("budget".to_owned(), members(|figure| figure.budget).into());
        }
        line.to_string()
    }

    /// The same for people.
    pub fn text(&self) -> String {
        let (size, seconds, each) = (self.size, self.seconds, self.milliseconds_each());
        let whose = if self.processor.is_some() { " of processor time" } else { "" };
        let of_what = match self.clusters {
            Some(clusters) => format!("{clusters} clusters of one machine"),
            None => format!("{size} machines"),
        };
        let mut text = format!("{of_what} in {seconds:.1} s ({each:.1} ms{whose} each)\n");
        for Judged { name, value, budget, digits, .. } in self.judged() {
            text += &format!("{name:<24} {value:>6.digits$}   budget {budget}\n");
        }
        if let Some(Growth { against, .. }) = self.growth {
            text += &format!(
                "  (the smaller fleet has {against} machines, measured in the pauses of this one)\n"
            );
        }
        if let Some(Everything { processor, limit, .. }) = &self.everything {
            text += &format!("{:<24} {processor:>6.1} s, the manager alone\n", "processor time");
            if let Some(Limit { ours, raw }) = limit {
                text +=
                    &format!("{:<24} {ours:>6.1} s, the raw writer {raw:.1} s\n", "seconds of all rounds");
            }
        }
        text + &format!("{:<24} {:>6} MB, {}", "peak memory", self.peak_rss_mb, self.memory_of)
    }

    /// Prints everything as one line for [`Self::read`].
    pub fn print_raw(&self) -> Result<()> {
        println!("{}", serde_json::to_string(self)?);
        Ok(())
    }

    /// Reads what [`Self::print_raw`] printed.
    pub fn read(output: &[u8]) -> Result<Self> {
        serde_json::from_slice(output).context("a benchmark without figures")
    }

    /// Prints the figures.
    pub fn print(&self, as_json: bool, by_kind: bool) {
        if by_kind {
            self.by_kind.iter().for_each(|line| eprintln!("{line}"));
        }
        println!("{}", if as_json { self.json() } else { self.text() });
    }

    /// Fails if a figure is over its budget.
    pub fn judge(&self) -> Result<()> {
        let over = |figure: &Judged| figure.value > figure.budget;
        let say = |figure: Judged| format!("{} {:.2} > {}", figure.name, figure.value, figure.budget);
        let over: Vec<String> = self.judged().into_iter().filter(over).map(say).collect();
        if !over.is_empty() {
            bail!("over budget: {}", over.join(", "));
        }
        Ok(())
    }
}

fn round(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Figures {
        Figures {
            bench: "machines".to_owned(),
            size: 1,
            clusters: None,
            seconds: 1.234,
            processor: Some(0.5),
            up: Counts { writes: 35, reads: 2 },
            writes_at_rest: 0,
            deletion: Some(Deletion { requests: 12.0, seconds: 0.04 }),
            growth: None,
            everything: None,
            by_kind: Vec::new(),
            peak_rss_mb: 7,
            memory_of: "the manager".to_owned(),
        }
    }

    #[test]
    fn counts_are_divided_by_all_machines_and_stand_next_to_their_budgets() {
        let figures = figures();
        let line: Value = serde_json::from_str(&figures.json()).unwrap();
        assert_eq!(line["writesPerMachine"], 17.5);
        assert_eq!(line["seconds"], 1.23);
        assert_eq!(
            (&line["processorMsPerMachine"], &line["requestsToDeleteOne"]),
            (&json!(500.0), &json!(12.0))
        );
        assert_eq!(line["budget"]["writesPerMachine"], 18.0);
        assert!(
            figures.text().contains("writes per machine         17.5   budget 18\n"),
            "{}",
            figures.text()
        );
        assert!(figures.judge().is_ok());
    }

    #[test]
    fn everything_that_was_asked_of_a_real_server_has_budgets_and_is_compared_with_the_limit() {
        let limit = Some(Limit { ours: 24.0, raw: 20.0 });
        let everything = Everything { per_machine: 18.5, to_delete_one: Some(15.0), processor: 3.0, limit };
        let figures = Figures { everything: Some(everything), deletion: None, ..figures() };
        let error = figures.judge().unwrap_err().to_string();
        assert_eq!(error, "over budget: requests to delete one 15.00 > 14, times the raw writer 1.20 > 1.15");
        assert!(
            figures.text().contains("requests per machine       18.5   budget 19\n"),
            "{}",
            figures.text()
        );
        let line: Value = serde_json::from_str(&figures.json()).unwrap();
        assert_eq!(line["managerProcessorSeconds"], 3.0);
        assert_eq!((&line["timesLimit"], &line["budget"]["timesLimit"]), (&json!(1.2), &json!(1.15)));
        let seconds = [&line["managerSecondsOfAllRounds"], &line["rawWriterSecondsOfAllRounds"]];
        assert_eq!(seconds, [&json!(24.0), &json!(20.0)]);
    }

    #[test]
    fn clusters_of_one_machine_have_budgets_of_their_own() {
        let everything = Everything { per_machine: 24.5, to_delete_one: None, processor: 3.0, limit: None };
        let many = || Figures { clusters: Some(4), size: 0, deletion: None, peak_rss_mb: 81, ..figures() };
        let figures = Figures { everything: Some(everything), ..many() };
        let error = figures.judge().unwrap_err().to_string();
        assert_eq!(error, "over budget: peak memory, MB 81.00 > 80, requests per machine 24.50 > 24");
        assert!(figures.text().starts_with("4 clusters of one machine in 1.2 s"), "{}", figures.text());
        assert!(Figures { peak_rss_mb: 80, ..many() }.judge().is_ok());
    }

    #[test]
    fn a_figure_over_its_budget_fails_the_run_by_name() {
        let growth = Some(Growth { against: 100, ratio: 1.25 });
        let figures = Figures { writes_at_rest: 3, growth, ..figures() };
        let error = figures.judge().unwrap_err().to_string();
        assert_eq!(error, "over budget: writes in 60 s at rest 3.00 > 0, times a smaller fleet 1.25 > 1.2");
    }
}
