//! `up --once`: virtual time, result, end.
//!
//! Time is paused, so it advances only when all queues are idle. "It cannot come up" is therefore found by idleness, not by a
//! time-out, and no controller may poll.

use std::time::Duration;

use capm3_engine::{clock::Stopwatch, manifests::Reading};
use capm3_lab::{
    Settled,
    report::{Report, report},
    stuck::{StuckMachine, stuck_machines},
};

use super::{UpArgs, explain, live::Live, print, put, start};
use crate::exit::Failure;

/// Virtual time after which a run that never comes to rest is given up.
const LONGEST_RUN: Duration = Duration::from_secs(6 * 3600);

/// Brings everything up and ends.
pub fn run(args: &UpArgs, manifests: &Reading, stopwatch: Stopwatch) -> Result<(), Failure> {
    // Time passes when nobody has anything to do, so even realistic hosts are ready at once.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
    let runtime = runtime.map_err(|e| Failure::CouldNotRun(format!("cannot start the runtime: {e}")))?;
    runtime.block_on(async {
        let (lab, feed) = start(args, manifests).await?;
        put(&lab, manifests).await?;
        let showing = feed.show(Live::if_terminal(lab.server(), String::new()));
        let settled = lab.settle(LONGEST_RUN).await;
        drop(showing);
        let stuck = stuck_machines(&lab);
        let waits = stuck.iter().map(StuckMachine::row).collect();
        let report = Report { waits, ..report(&lab, stopwatch.elapsed().as_millis()) };
        print(args.output, &report)?;
        explain::judge(&lab, &report, &stuck, settled == Settled::Quiet)
    })
}
