//! Two managers that contend for one Lease, as the Deployment would keep them: one that ends is started again. Each process has
//! a token of its own, by which the audit log shows what it wrote.

use std::{
    net::{Ipv4Addr, Ipv6Addr, TcpListener},
    ops::Range,
    path::PathBuf,
    process::ExitStatus,
    time::Duration,
};

use anyhow::{Context, Result, bail, ensure};
use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use capm3_install::NAMESPACE;
use rustix::process::Signal;
use serde_json::Value;

use super::{Options, history::text};
use crate::{
    install,
    manager_process::ManagerProcess,
    real::{Cluster, wait},
};

/// What the Deployment leaves a process to end.
const GRACE: Duration = Duration::from_secs(10);

/// Where ports of the webhooks are looked for: connections do not get theirs there, so a port stays free for a restart.
const PORTS: Range<u16> = 20_000..30_000;

/// Further arguments of every replica.
pub struct Common<'a> {
    pub binary: PathBuf,
    pub cluster: &'a Cluster,
    pub options: &'a Options,
    /// Where the certificate of the webhooks is, and files of the replicas may be.
    pub folder: PathBuf,
}

/// A process.
pub struct Replica {
    pub process: ManagerProcess,
    /// Port of its webhooks.
    pub port: u16,
    /// Id of its token.
    pub token: String,
    /// Its name in the Lease, once it has logged it.
    identity: Option<String>,
    /// Whether it has logged that it waits.
    waits: bool,
}

/// Both replicas, by place. A place keeps its port, whichever process is there.
pub struct Replicas<'a> {
    common: Common<'a>,
    places: [Replica; 2],
    started: usize,
    /// How processes ended that nobody killed.
    pub ended: Vec<ExitStatus>,
}

impl Replica {
    /// Its name in the Lease; none before it contends.
    pub fn identity(&mut self) -> Result<Option<&str>> {
        if self.identity.is_none() {
            self.identity = self
                .logged("contends for the Lease")?
                .map(|entry| text(&entry, "/fields/identity").to_owned());
        }
        Ok(self.identity.as_deref())
    }

    /// Whether it has seen that another one leads.
    pub fn waits(&mut self) -> Result<bool> {
        self.waits = self.waits || self.logged("waits for the Lease: held by ")?.is_some();
        Ok(self.waits)
    }

    /// The first log entry that begins like this.
    fn logged(&self, start: &str) -> Result<Option<Value>> {
        let entries = self.process.logged()?;
        Ok(entries.into_iter().find(|entry| text(entry, "/fields/message").starts_with(start)))
    }
}

impl<'a> Replicas<'a> {
    pub fn start(common: Common<'a>) -> Result<Self> {
        let mut ports = PORTS.filter(|port| is_free(*port));
        let mut port = || ports.next().context("no free port for the webhooks");
        let places = [start(&common, 1, port()?)?, start(&common, 2, port()?)?];
        Ok(Self { common, places, started: 2, ended: Vec::new() })
    }

    /// Ports of the webhooks, by place.
    pub fn ports(&self) -> [u16; 2] {
        self.places.each_ref().map(|replica| replica.port)
    }

    /// Asks both to end, as when their Deployment is scaled to zero.
    pub fn end(&mut self) -> Result<()> {
        for replica in &mut self.places {
            replica.process.signal(Signal::TERM)?;
        }
        for replica in &mut self.places {
            let ended = wait::until(GRACE, || replica.process.ended())?.context("a replica does not end")?;
            ensure!(ended.success(), "a replica ended with {ended}");
        }
        Ok(())
    }

    /// The place of the replica with this name in the Lease.
    pub fn place_of(&mut self, identity: &str) -> Result<Option<usize>> {
        for (place, replica) in self.places.iter_mut().enumerate() {
            if replica.identity()? == Some(identity) {
                return Ok(Some(place));
            }
        }
        Ok(None)
    }

    pub fn at(&mut self, place: usize) -> Result<&mut Replica> {
        self.places.get_mut(place).context("there are two places")
    }

    /// Starts another process in a place; gives the one before, which must have ended.
    pub fn restart(&mut self, place: usize) -> Result<Replica> {
        self.started += 1;
        let port = self.at(place)?.port;
        let next = start(&self.common, self.started, port)?;
        Ok(std::mem::replace(self.at(place)?, next))
    }

    /// Starts again what has ended by itself. A leader ends with code 1 when it could not renew in time, which a busy machine may
    /// bring about; anything else is an error.
    pub fn tend(&mut self) -> Result<()> {
        for place in 0..self.places.len() {
            let Some(status) = self.at(place)?.process.ended()? else { continue };
            let replica = self.restart(place)?;
            let logged = replica.process.logged()?;
            let last = logged.iter().rev().take(5).map(Value::to_string).collect::<Vec<_>>().join("\n");
            ensure!(status.code() == Some(1) && last.contains("leadership is lost: "), "{status}: {last}");
            self.ended.push(status);
        }
        Ok(())
    }
}

fn is_free(port: u16) -> bool {
    TcpListener::bind((Ipv6Addr::UNSPECIFIED, port)).is_ok()
        && TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)).is_ok()
}

fn start(common: &Common<'_>, number: usize, port: u16) -> Result<Replica> {
    let name = format!("replica-{number}");
    let kubeconfig = common.folder.join(format!("{name}.kubeconfig"));
    install::account_kubeconfig(common.cluster, &kubeconfig)?;
    let token = token_id(&std::fs::read_to_string(&kubeconfig)?)?;
    let seconds = |flag: &str, time: Duration| format!("--leader-elect-{flag}={}s", time.as_secs());
    let [lease, renew, retry] = common.options.election();
    let flags = [
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--webhook-cert-dir={}", common.folder.display()),
        format!("--webhook-port={port}"),
        "--enable-ipam".to_owned(),
        "--leader-elect".to_owned(),
        format!("--leader-elect-namespace={NAMESPACE}"),
        seconds("lease-duration", lease),
        seconds("renew-deadline", renew),
        seconds("retry-period", retry),
    ];
    let process = ManagerProcess::start(&common.binary, &flags, &common.cluster.log(&name))?;
    Ok(Replica { process, port, token, identity: None, waits: false })
}

/// The id of the token in a kubeconfig, as the audit log has it.
fn token_id(kubeconfig: &str) -> Result<String> {
    let config: Value = serde_json::from_str(kubeconfig).context("the kubeconfig is not ours")?;
    let claims = text(&config, "/users/0/user/token").split('.').nth(1).context("no token of three parts")?;
    let claims: Value = serde_json::from_slice(&BASE64_URL_SAFE_NO_PAD.decode(claims)?)?;
    match text(&claims, "/jti") {
        "" => bail!("the token has no id"),
        id => Ok(format!("JTI={id}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_id_of_a_token_is_in_its_second_part() {
        let claims = BASE64_URL_SAFE_NO_PAD.encode(r#"{"jti":"a-b","sub":"s"}"#);
        let config = |token: String| json!({"users": [{"user": {"token": token}}]}).to_string();
        assert_eq!(token_id(&config(format!("h.{claims}.s"))).unwrap(), "JTI=a-b");
        for wrong in [config("h".to_owned()), config("h.e30.s".to_owned()), "apiVersion: v1".to_owned()] {
            assert!(token_id(&wrong).is_err(), "{wrong}");
        }
    }
}
