//! What machines wait for, and data that cannot be rendered, by the codes of `docs/troubleshooting.md`.

use std::{collections::BTreeMap, fmt, time::Duration};

use capm3_domain::wait::Wait;
use capm3_engine::metrics::{Encoder, Series};

use super::number;
use crate::{metal3data, metal3machine, waits::Waits};

pub(super) const MACHINES: Series = Series::gauge(
    "capm3_machines_waiting",
    &["code"],
    "Metal3Machines that wait, by the code of docs/troubleshooting.md; only the leader knows",
);
pub(super) const LONGEST: Series = Series::gauge(
    "capm3_machine_longest_wait_seconds",
    &["code"],
    "Seconds for which the Metal3Machine that has waited longest has had this code, since this manager leads",
);
pub(super) const RENDER_ERRORS: Series = Series::gauge(
    "capm3_render_errors",
    &["code"],
    "Metal3Data that cannot be rendered until an input is corrected, by the code of docs/troubleshooting.md",
);

pub(super) fn encode(encoder: &mut Encoder<'_>, waits: &Waits) -> fmt::Result {
    let mut machines: BTreeMap<&'static str, (usize, Duration)> = BTreeMap::new();
    let mut errors: BTreeMap<&'static str, usize> = BTreeMap::new();
    waits.each(|controller, wait, lasts| match wait {
        Wait::DataError(error) if controller == metal3data::CONTROLLER => {
            *errors.entry(error.code().as_str()).or_default() += 1;
        }
        wait if controller == metal3machine::CONTROLLER => {
            let (count, longest) = machines.entry(wait.code().as_str()).or_default();
            *count += 1;
            *longest = lasts.max(*longest);
        }
        _ => {}
    });
    encoder.gauges(&MACHINES, machines.iter().map(|(code, (count, _))| ([code], number(*count))))?;
    encoder.gauges(&LONGEST, machines.iter().map(|(code, (_, longest))| ([code], longest.as_secs_f64())))?;
    encoder.gauges(&RENDER_ERRORS, errors.iter().map(|(code, count)| ([code], number(*count))))
}
