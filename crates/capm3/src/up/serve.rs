//! `up` without `--once`: real time, kubectl through HTTPS, until it is stopped.

use std::time::Duration;

use capm3_apiserver::https::{self, ListenError, ListenOptions, Listener};
use capm3_engine::{clock::Stopwatch, manifests::Reading};
use capm3_lab::{
    Lab, Settled,
    report::{Report, report},
    stuck::{StuckMachine, stuck_machines},
};

use super::{
    UpArgs, explain, hints,
    kubeconfig::{self, KubeconfigFile},
    live::Live,
    print, put, start,
};
use crate::{
    exit::{self, Failure},
    stop::stop_signal,
};

/// How long the first result is waited for before the table is printed anyway.
const FIRST_RESULT: Duration = Duration::from_secs(3600);

/// Brings everything up and serves until Ctrl-C or SIGTERM.
pub fn run(args: &UpArgs, manifests: &Reading, stopwatch: Stopwatch) -> Result<(), Failure> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(|e| Failure::CouldNotRun(format!("cannot start the runtime: {e}")))?;
    let result = runtime.block_on(serve(args, manifests, stopwatch));
    runtime.shutdown_background();
    result
}

async fn serve(args: &UpArgs, manifests: &Reading, stopwatch: Stopwatch) -> Result<(), Failure> {
    let stop = stop_signal().map_err(|e| Failure::CouldNotRun(format!("cannot wait for signals: {e}")))?;
    tokio::pin!(stop);
    let (lab, feed) = start(args, manifests).await?;
    // Before anything else, so that a port that is taken is reported at once.
    let listener = listen(args, &lab)?;
    put(&lab, manifests).await?;
    let port = listener.local_addr().port();
    let contexts = kubeconfig::contexts(&manifests.documents);
    let clusters: Vec<(&str, &str)> =
        contexts.iter().map(|it| (it.name.as_str(), it.cluster.as_str())).collect();
    let text = listener.kubeconfig_with(&kubeconfig::namespace(&manifests.documents), &clusters);
    let file = KubeconfigFile::write(&std::env::temp_dir(), port, &text);
    let file = file.map_err(|e| Failure::CouldNotRun(format!("cannot write the kubeconfig: {e}")))?;
    let export = file.export();
    let live = Live::if_terminal(lab.server(), export.clone());
    if live.is_none() {
        exit::say(&export);
    }
    let showing = feed.show(live);
    let settled = tokio::select! {
        biased;
        _ = &mut stop => None,
        () = feed.keep_drawing() => None,
        settled = lab.settle(FIRST_RESULT) => Some(settled),
    };
    drop(showing);
    if let Some(settled) = settled {
        let stuck = stuck_machines(&lab);
        let waits = stuck.iter().map(StuckMachine::row).collect();
        let report = Report { waits, ..report(&lab, stopwatch.elapsed().as_millis()) };
        print(args.output, &report)?;
        // What is stuck may be put right with kubectl, so this is no reason to end.
        let is_stuck = explain::judge(&lab, &report, &stuck, settled == Settled::Quiet).is_err();
        exit::say(hints::invitation(&lab.server().objects(None), &export, is_stuck));
        stop.await;
    }
    listener.stop().await;
    exit::say("stopped");
    Ok(())
}

fn listen(args: &UpArgs, lab: &Lab) -> Result<Listener, Failure> {
    let options = ListenOptions { address: args.listen, ..ListenOptions::default() };
    https::serve(lab.server().clone(), options).map_err(|error| match error {
        ListenError::AddressInUse(address) => Failure::CouldNotRun(format!(
            "{address} is already in use, perhaps by another `capm3 up`: stop it, or choose a port with --listen 127.0.0.1:0"
        )),
        ListenError::NotLoopback(address) => {
            Failure::Usage(format!("--listen {address} is not a loopback address; use 127.0.0.1 or [::1]"))
        }
        other => Failure::CouldNotRun(other.to_string()),
    })
}
