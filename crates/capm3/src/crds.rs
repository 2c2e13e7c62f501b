//! `capm3 crds`: what an API server needs to serve the kinds.

use capm3_domain::render::yaml::to_yaml;
use clap::Args;
use serde_json::Value;

use crate::exit::{self, Failure};

/// What `crds` is given.
#[derive(Debug, Args)]
pub struct CrdsArgs {
    /// Leave out IPPool, IPClaim and IPAddress, for a cluster in which an address manager is installed already
    #[arg(long)]
    without_ipam: bool,
}

/// Prints the CRDs as YAML documents.
pub fn run(args: &CrdsArgs) -> Result<(), Failure> {
    let wanted = |crd: &Value| !(args.without_ipam && group(crd) == capm3_api::ipam::GROUP);
    let documents: Vec<String> =
        capm3_api::crd::all().iter().filter(|crd| wanted(crd)).map(to_yaml).collect();
    let text = format!("---\n{}", documents.join("---\n"));
    exit::print(&text)
}

fn group(crd: &Value) -> &str {
    crd.pointer("/spec/group").and_then(Value::as_str).unwrap_or_default()
}
