//! How much processor time this thread has used, whoever else uses the machine meanwhile.

use std::{fs, time::Duration};

use anyhow::{Context, Result};

/// Processor time of the calling thread so far.
pub fn used() -> Result<Duration> {
    let path = "/proc/thread-self/schedstat";
    let text = fs::read_to_string(path).with_context(|| format!("reading {path}"))?;
    let nanos = text.split_whitespace().next().and_then(|word| word.parse().ok());
    Ok(Duration::from_nanos(nanos.with_context(|| format!("{path} says {text:?}"))?))
}

/// Processor time of a process so far, all its threads together.
pub fn of_process(process: u32) -> Result<Duration> {
    let path = format!("/proc/{process}/stat");
    let text = fs::read_to_string(&path).with_context(|| format!("reading {path}"))?;
    // The name of the program is in brackets and may contain anything.
    let words: Vec<&str> = text.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
    let (user, system) = ticks(11).zip(ticks(12)).with_context(|| format!("{path} says {text:?}"))?;
    Ok(Duration::from_millis((user + system) * 1000 / TICKS_PER_SECOND))
}

/// What Linux tells programs, whatever it counts itself.
const TICKS_PER_SECOND: u64 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_uses_processor_time() {
        let before = used().unwrap();
        let mut sum = 0_u64;
        while used().unwrap() == before {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        assert!(used().unwrap() > before);
    }

    #[test]
    fn a_process_has_used_at_least_what_is_spent_while_it_is_watched() {
        let (own, mut sum) = (std::process::id(), 0_u64);
        let before = of_process(own).unwrap();
        while of_process(own).unwrap() == before {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
    }
}
