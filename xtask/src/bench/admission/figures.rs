//! What the webhooks took, next to the budgets.

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use serde_json::{Value, json};

use super::{
    Options,
    load::{Answered, Class, Outcome},
    questions::CONVERTED,
};

/// Milliseconds in which 99 of 100 admission reviews are answered.
const P99_MS: f64 = 20.0;
/// Megabytes of the whole manager, which has a limit of 512.
const PEAK_MB: u64 = 128;

/// The figures of one run.
pub struct Figures {
    options: Options,
    admission: Latencies,
    conversion: Latencies,
    asked: usize,
    wrong: usize,
    lost: usize,
    /// The first thing that was wrong.
    problem: Option<String>,
    at_rest_mb: u64,
    peak_mb: u64,
}

/// Latencies of one kind of reviews, in milliseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Latencies {
    p50: f64,
    p99: f64,
    max: f64,
}

impl Latencies {
    fn of(answered: &[Answered], class: Class) -> Self {
        let of_class = answered.iter().filter(|answer| answer.class == class);
        let mut all: Vec<Duration> = of_class.map(|answer| answer.latency).collect();
        all.sort();
        let rank = |percent: usize| {
            let rank = (all.len() * percent).div_ceil(100).saturating_sub(1);
            all.get(rank).map_or(0.0, |latency| latency.as_secs_f64() * 1000.0)
        };
        Self { p50: rank(50), p99: rank(99), max: rank(100) }
    }

    fn json(self) -> Value {
        json!({"p50Ms": round(self.p50), "p99Ms": round(self.p99), "maxMs": round(self.max)})
    }

    fn text(self) -> String {
        format!("p50 {:.2} ms, p99 {:.2} ms, max {:.2} ms", self.p50, self.p99, self.max)
    }
}

fn round(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

impl Figures {
    pub fn new(options: &Options, answered: &[Answered], at_rest_mb: u64, peak_mb: u64) -> Self {
        let asked = (options.rate + options.conversions) * options.seconds;
        let (mut right, mut wrong, mut problem) = (0, 0, None);
        for answer in answered {
            match &answer.outcome {
                Outcome::Right => right += 1,
                Outcome::Wrong(what) => {
                    wrong += 1;
                    problem.get_or_insert_with(|| what.clone());
                }
                Outcome::Lost(why) => {
                    problem.get_or_insert_with(|| why.clone());
                }
            }
        }
        let asked = asked as usize;
        Self {
            options: options.clone(),
            admission: Latencies::of(answered, Class::Admission),
            conversion: Latencies::of(answered, Class::Conversion),
            asked,
            wrong,
            lost: asked - right - wrong,
            problem,
            at_rest_mb,
            peak_mb,
        }
    }

    /// One JSON line with every figure and its budget.
    pub fn json(&self) -> String {
        let Options { rate, seconds, connections, conversions, .. } = self.options;
        json!({
            "bench": "admission", "rate": rate, "seconds": seconds, "connections": connections,
            "conversions": conversions, "asked": self.asked, "lost": self.lost, "wrong": self.wrong,
            "admission": self.admission.json(), "conversion": self.conversion.json(), "atRestMb": self.at_rest_mb,
            "peakRssMb": self.peak_mb, "budget": {"lost": 0, "wrong": 0, "p99Ms": P99_MS, "peakRssMb": PEAK_MB},
        })
        .to_string()
    }

    /// The same for people.
    pub fn text(&self) -> String {
        let Options { rate, seconds, connections, conversions, .. } = self.options;
        let of_lists = format!("of {CONVERTED} objects");
        [
            format!(
                "{rate} admission reviews and {conversions} conversion reviews {of_lists} a second for {seconds} s, \
                 {connections} connections"
            ),
            format!("{:<24} {}   budget p99 {P99_MS} ms", "admission", self.admission.text()),
            format!("{:<24} {}", "conversion", self.conversion.text()),
            format!("{:<24} {} of {} lost, {} wrong   budget 0", "answers", self.lost, self.asked, self.wrong),
            format!(
                "{:<24} {} MB, {} MB before   budget {PEAK_MB} MB",
                "peak memory, manager", self.peak_mb, self.at_rest_mb
            ),
        ]
        .join("\n")
    }

    /// Fails if an answer is missing or wrong, or a figure is over its budget. Latency and memory count only of what users run.
    pub fn judge(&self) -> Result<()> {
        if let Some(problem) = &self.problem {
            bail!("{} answers are lost and {} wrong; the first: {problem}", self.lost, self.wrong);
        }
        ensure!(self.lost == 0, "{} answers are lost", self.lost);
        if cfg!(debug_assertions) { Ok(()) } else { self.judge_cost() }
    }

    fn judge_cost(&self) -> Result<()> {
        ensure!(self.peak_mb <= PEAK_MB, "over budget: memory {} MB > {PEAK_MB}", self.peak_mb);
        let p99 = self.admission.p99;
        ensure!(p99 <= P99_MS, "over budget: p99 {p99:.2} ms > {P99_MS}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options() -> Options {
        Options { rate: 99, seconds: 1, connections: 1, conversions: 1, json: false }
    }

    fn answered(class: Class, microseconds: u64, outcome: Outcome) -> Answered {
        Answered { class, latency: Duration::from_micros(microseconds), outcome }
    }

    fn hundred() -> Vec<Answered> {
        let mut all: Vec<_> = (1..=99).map(|n| answered(Class::Admission, n * 100, Outcome::Right)).collect();
        all.push(answered(Class::Conversion, 500_000, Outcome::Right));
        all
    }

    #[test]
    fn ranks_are_those_of_one_kind_of_reviews() {
        let figures = Figures::new(&options(), &hundred(), 10, 20);
        assert_eq!(figures.admission, Latencies { p50: 5.0, p99: 9.9, max: 9.9 });
        assert_eq!(figures.conversion, Latencies { p50: 500.0, p99: 500.0, max: 500.0 });
        let line: Value = serde_json::from_str(&figures.json()).unwrap();
        assert_eq!(
            (&line["asked"], &line["lost"], &line["admission"]["p50Ms"]),
            (&json!(100), &json!(0), &json!(5.0))
        );
    }

    #[test]
    fn a_lost_or_wrong_answer_fails_the_run() {
        let mut lost = hundred();
        lost.pop();
        assert_eq!(judged(&lost), "1 answers are lost");
        let mut answers = hundred();
        answers[0].outcome = Outcome::Lost("cut".to_owned());
        assert_eq!(judged(&answers), "1 answers are lost and 0 wrong; the first: cut");
        answers[0].outcome = Outcome::Wrong("/convert: 500".to_owned());
        assert_eq!(judged(&answers), "0 answers are lost and 1 wrong; the first: /convert: 500");
        assert_eq!(Figures::new(&options(), &hundred(), 10, 20).judge().map_err(|e| e.to_string()), Ok(()));
    }

    #[test]
    fn memory_and_latency_have_budgets() {
        let judged = |answered: &[Answered], peak_mb| {
            Figures::new(&options(), answered, 10, peak_mb).judge_cost().map_err(|error| error.to_string())
        };
        assert_eq!(judged(&hundred(), PEAK_MB), Ok(()));
        assert_eq!(judged(&hundred(), PEAK_MB + 1), Err("over budget: memory 129 MB > 128".to_owned()));
        let slow: Vec<_> = (1..=99).map(|n| answered(Class::Admission, n * 1000, Outcome::Right)).collect();
        assert_eq!(judged(&slow, PEAK_MB), Err("over budget: p99 99.00 ms > 20".to_owned()));
    }

    fn judged(answered: &[Answered]) -> String {
        Figures::new(&options(), answered, 10, 20).judge().unwrap_err().to_string()
    }
}
