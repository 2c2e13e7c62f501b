//! What a benchmark of machines tells, next to the budgets.

use serde_json::json;

use crate::requests::Counts;

/// Budgets: writes and reads per machine; at rest nothing is written.
const WRITES: f64 = 18.0;
const READS: f64 = 4.0;

/// The figures of one run.
pub struct Figures {
    pub bench: &'static str,
    /// How many workers; one control-plane machine comes with them.
    pub size: usize,
    pub seconds: f64,
    /// Requests until everything was at rest.
    pub up: Counts,
    pub writes_at_rest: u64,
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
        let line = json!({"bench": self.bench, "size": self.size, "seconds": round(self.seconds),
            "writesPerMachine": round(writes), "readsPerMachine": round(reads), "writesAtRest": self.writes_at_rest,
            "peakRssMb": self.peak_rss_mb,
            "budget": {"writesPerMachine": WRITES, "readsPerMachine": READS, "writesAtRest": 0}});
        line.to_string()
    }

    /// The same for people.
    pub fn text(&self) -> String {
        let (size, seconds) = (self.size, self.seconds);
        let each = seconds * 1000.0 / size.max(1) as f64;
        let (writes, reads) = (self.per_machine(self.up.writes), self.per_machine(self.up.reads));
        let (rest, peak, whose) = (self.writes_at_rest, self.peak_rss_mb, self.memory_of);
        format!(
            "{size} machines in {seconds:.1} s ({each:.1} ms each)\n\
             writes per machine     {writes:>6.1}   budget {WRITES}\n\
             reads per machine      {reads:>6.1}   budget {READS}\n\
             writes in 60 s at rest {rest:>6}   budget 0\n\
             peak memory            {peak:>6} MB, {whose}"
        )
    }

    pub fn print(&self, as_json: bool) {
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
            up,
            writes_at_rest: 0,
            peak_rss_mb: 7,
            memory_of: "the manager",
        };
        let line: serde_json::Value = serde_json::from_str(&figures.json()).unwrap();
        assert_eq!(line["writesPerMachine"], 17.5);
        assert_eq!(line["seconds"], 1.23);
        assert_eq!(line["budget"]["writesPerMachine"], 18.0);
        assert!(figures.text().contains("writes per machine       17.5   budget 18\n"), "{}", figures.text());
    }
}
