//! Golden vectors of host choice: every answer must be among those that the reference was seen to give.

// The reader has more than this test uses.
#[allow(unused_imports)]
mod support;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::{BareMetalHost, CAPI_GROUP, Machine, MachineSet},
    v1beta2::Metal3Machine,
};
use capm3_domain::host::{HostOutcome, HostRequest, choose, reuse_label};
use serde_json::Value;
use support::Case;

#[test]
fn golden_select_host() {
    support::run("select-host", |case| {
        let machine: Metal3Machine = case.input("metal3Machine")?;
        let capi: Machine = case.input("machine")?;
        let sets: Vec<MachineSet> = case.input("machineSets")?;
        let hosts: Vec<BareMetalHost> = case.input("hosts")?;
        let label = reuse_label(&capi, set_of(&capi, &sets));
        // The answer must stay the same for the same machine, and be allowed for every machine.
        for uid in (0..50).map(|n| format!("uid-{n}")) {
            let mut machine = machine.clone();
            machine.metadata.uid = Some(uid);
            let request = HostRequest::new(&machine, &capi, label.clone());
            let choice = choose(&request, hosts.iter());
            let again = choose(&request, hosts.iter().rev());
            if choice != again {
                return Err(format!("{choice:?}, then {again:?}"));
            }
            judge(case, &choice.outcome)?;
        }
        Ok(())
    });
}

fn set_of<'a>(machine: &Machine, sets: &'a [MachineSet]) -> Option<&'a MachineSet> {
    let owner = machine.metadata.owner(CAPI_GROUP, "MachineSet")?;
    sets.iter().find(|set| set.metadata.name_str() == owner.name)
}

fn judge(case: &Case, outcome: &HostOutcome) -> Result<(), String> {
    let expected = &case.expected;
    let text = |path: &str| expected.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let (found, class) = match outcome {
        HostOutcome::Chosen(_) => ("chosen", ""),
        HostOutcome::None => ("none", ""),
        HostOutcome::Wait(_) => ("error", "transient"),
        HostOutcome::Err(_) => ("error", "plain"),
    };
    if found != text("/outcome") || class != text("/error/class") {
        return Err(format!("{outcome:?}, expected {expected}"));
    }
    let HostOutcome::Chosen(chosen) = outcome else {
        return Ok(());
    };
    let allowed = expected.get("hosts").and_then(Value::as_array);
    let is_allowed = allowed.into_iter().flatten().any(|host| host == chosen.host.as_str());
    if !is_allowed || text("/reason") != chosen.reason() {
        return Err(format!("{chosen:?}, expected {expected}"));
    }
    Ok(())
}
