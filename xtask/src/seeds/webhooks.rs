//! The webhooks that the real server asks: the server of the manager, in this process and without controllers, so that
//! nobody but the rows writes.

use anyhow::{Context, Result};
use capm3_admission::{
    Webhooks,
    https::{self, Limits, Served, TlsOptions, certified},
};
use tokio::net::TcpListener;

use crate::install::Loopback;

/// Serves them on a port of this machine until the server is dropped.
pub async fn serve() -> Result<(https::Server, Loopback)> {
    let listener = TcpListener::bind("127.0.0.1:0").await.context("looking for a port for the webhooks")?;
    let here = Loopback::at(listener.local_addr()?.port())?;
    let pair = here.pair();
    let served = Served::new(certified(pair.certificate.as_bytes(), pair.key.as_bytes())?);
    let tls = TlsOptions::default().server(served)?;
    let server = https::serve(listener, Some(tls), Webhooks, Limits::default())?;
    Ok((server, here))
}
