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
}
