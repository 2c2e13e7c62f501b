//! How a running command is told to stop.

use tokio::signal::unix::{SignalKind, signal};

/// Ends with the name of the signal that came, Ctrl-C or SIGTERM.
pub fn stop_signal() -> std::io::Result<impl Future<Output = &'static str>> {
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    Ok(async move {
        tokio::select! {
            biased;
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        }
    })
}
