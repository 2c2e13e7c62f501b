//! What a benchmark of machines tells, next to the budgets.

use serde_json::json;

use crate::requests::Counts;

/// Budgets: writes and reads per machine, all requests to delete one; at rest nothing is written.
const WRITES: f64 = 18.0;
const READS: f64 = 4.0;
const TO_DELETE: f64 = 14.0;

/// The figures of one run.
pub struct Figures {
    pub bench: &'static str,
    /// How many workers; one control-plane machine comes with them.
    pub size: usize,
    pub seconds: f64,
    /// Seconds of processor time, where everything runs in this process.
    pub processor: Option<f64>,
    /// Requests until everything was at rest.
    pub up: Counts,
    pub writes_at_rest: u64,
    /// All requests to delete one machine, where that was tried.
    pub to_delete_one: Option<f64>,
    /// What was asked how often, the most frequent first.
    pub by_kind: Vec<String>,
    pub peak_rss_mb: u64,
    /// Whose memory that is.
    pub memory_of: &'static str,
}

impl Figures {
    fn per_machine(&self, count: u64) -> f64 {
        count as f64 / (self.size + 1) as f64
    }

    /// One JSON line with every figure and its budget.
    pub fn json(&self) -> String {
        let (writes, reads) = (self.per_machine(self.up.writes), self.per_machine(self.up.reads));
        let each = self.processor.map(|seconds| round(seconds * 1000.0 / self.size.max(1) as f64));
        let line = json!({"bench": self.bench, "size": self.size, "seconds": round(self.seconds),
            "processorMsPerMachine": each, "requestsToDeleteOne": self.to_delete_one.map(round),
            "writesPerMachine": round(writes), "readsPerMachine": round(reads), "writesAtRest": self.writes_at_rest,
            "peakRssMb": self.peak_rss_mb,
            "budget": {"writesPerMachine": WRITES, "readsPerMachine": READS, "writesAtRest": 0, "requestsToDeleteOne": TO_DELETE}});
        line.to_string()
    }

    /// The same for people.
    pub fn text(&self) -> String {
        let (size, seconds) = (self.size, self.seconds);
        let each = self.processor.unwrap_or(seconds) * 1000.0 / size.max(1) as f64;
        let delete = self.to_delete_one.map_or("not tried".to_owned(), |count| format!("{count:>6.1}"));
        let (writes, reads) = (self.per_machine(self.up.writes), self.per_machine(self.up.reads));
        let (rest, peak, whose) = (self.writes_at_rest, self.peak_rss_mb, self.memory_of);
        format!(
            "{size} machines in {seconds:.1} s ({each:.1} ms each)\n\
             writes per machine     {writes:>6.1}   budget {WRITES}\n\
             reads per machine      {reads:>6.1}   budget {READS}\n\
             requests to delete one {delete}   budget {TO_DELETE}\n\
             writes in 60 s at rest {rest:>6}   budget 0\n\
             peak memory            {peak:>6} MB, {whose}"
        )
    }

    pub fn print(&self, as_json: bool, by_kind: bool) {
        if by_kind {
            self.by_kind.iter().for_each(|line| eprintln!("{line}"));
        }
        println!("{}", if as_json { self.json() } else { self.text() });
    }
}

fn round(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_divided_by_all_machines_and_stand_next_to_their_budgets() {
        let up = Counts { writes: 35, reads: 2 };
        let figures = Figures {
            bench: "machines",
            size: 1,
            seconds: 1.234,
            processor: Some(0.5),
            up,
            writes_at_rest: 0,
            to_delete_one: Some(12.0),
            by_kind: Vec::new(),
            peak_rss_mb: 7,
            memory_of: "the manager",
        };
        let line: serde_json::Value = serde_json::from_str(&figures.json()).unwrap();
        assert_eq!(line["writesPerMachine"], 17.5);
        assert_eq!(line["seconds"], 1.23);
        assert_eq!(
            (&line["processorMsPerMachine"], &line["requestsToDeleteOne"]),
            (&json!(500.0), &json!(12.0))
        );
        assert_eq!(line["budget"]["writesPerMachine"], 18.0);
        assert!(figures.text().contains("writes per machine       17.5   budget 18\n"), "{}", figures.text());
    }
}
