//! Metrics of the process itself: its build, its certificate and what it uses.

use std::fmt;

use super::{Encoder, Series, Source};

pub(super) const EXPIRY: Series = Series::gauge(
    "capm3_certificate_expiry_timestamp_seconds",
    &["certificate"],
    "When the certificate that is served ends, in seconds since 1970",
);
pub(super) const BUILD: Series =
    Series::gauge("capm3_build_info", &["version"], "1, with the version of this manager");
pub(super) const CPU: Series =
    Series::counter("process_cpu_seconds", &[], "Seconds of CPU that the process has used, whole ones");
pub(super) const MEMORY: Series =
    Series::gauge("process_resident_memory_bytes", &[], "Memory of the process that is in RAM");
pub(super) const FILES: Series =
    Series::gauge("process_open_fds", &[], "Files and connections that the process has open");
pub(super) const MOST_FILES: Series =
    Series::gauge("process_max_fds", &[], "Files and connections that the process may have open");

/// A certificate that is served.
pub struct CertificateSource<F> {
    /// What for, such as `webhook`.
    pub name: &'static str,
    /// When it ends, in seconds since 1970; none if there is none.
    pub end: F,
}

impl<F> fmt::Debug for CertificateSource<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CertificateSource").field("name", &self.name).finish_non_exhaustive()
    }
}

impl<F: Fn() -> Option<i64> + Send + Sync + 'static> Source for CertificateSource<F> {
    #[expect(clippy::cast_precision_loss, reason = "2^53 seconds are longer than any certificate")]
    fn encode(&self, encoder: &mut Encoder<'_>) -> fmt::Result {
        encoder.gauges(&EXPIRY, (self.end)().map(|end| ([self.name], end as f64)))
    }
}

/// This process, as Linux reports it; what cannot be read is left out.
#[derive(Debug)]
pub struct ProcessSource {
    /// Version of the program.
    pub version: &'static str,
}

impl Source for ProcessSource {
    fn encode(&self, encoder: &mut Encoder<'_>) -> fmt::Result {
        encoder.gauges(&BUILD, [([self.version], 1.0)])?;
        encoder.counters(&CPU, cpu_seconds().map(|seconds| ([""; 0], seconds)))?;
        let one = |value: Option<u32>, unit: f64| value.map(|value| ([""; 0], unit * f64::from(value)));
        encoder.gauges(&MEMORY, one(number_after("/proc/self/status", "VmRSS:"), 1024.0))?;
        let files =
            std::fs::read_dir("/proc/self/fd").ok().and_then(|files| u32::try_from(files.count()).ok());
        encoder.gauges(&FILES, one(files, 1.0))?;
        encoder.gauges(&MOST_FILES, one(number_after("/proc/self/limits", "Max open files"), 1.0))
    }
}

/// The clock ticks of `/proc/self/stat` are hundredths of a second on every Linux.
fn cpu_seconds() -> Option<u64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the program is in parentheses and may contain anything.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut ticks = || fields.next()?.parse::<u64>().ok();
    Some((ticks()? + ticks()?) / 100)
}

/// The number behind a word at the beginning of a line.
fn number_after(file: &str, word: &str) -> Option<u32> {
    let text = std::fs::read_to_string(file).ok()?;
    text.lines().find_map(|line| line.strip_prefix(word))?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_on_linux_knows_what_it_uses() {
        assert!(cpu_seconds().is_some());
        assert!(number_after("/proc/self/status", "VmRSS:").unwrap() > 1000);
        assert!(number_after("/proc/self/limits", "Max open files").unwrap() > 10);
    }
}
