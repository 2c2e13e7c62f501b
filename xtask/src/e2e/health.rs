//! The probes of a manager, asked as a kubelet asks.

use anyhow::{Context, Result};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

/// A port on which nobody listened a moment ago.
pub async fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0").await?.local_addr()?.port())
}

/// The whole answer to the question for readiness.
pub async fn readyz(port: u16) -> Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.context("asking for readiness")?;
    stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: manager\r\nConnection: close\r\n\r\n").await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

/// Whether a manager answers and is ready.
pub async fn is_ready(port: u16) -> bool {
    readyz(port).await.is_ok_and(|answer| answer.starts_with("HTTP/1.1 200"))
}
