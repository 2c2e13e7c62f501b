//! What the result must look like, whatever names were drawn.

use anyhow::{Context, Result, ensure};
use capm3_lab::report::{MachineRow, Report};

/// Every machine is ready and has the VLAN, subnet and template of its host's rack; nothing is used twice.
pub fn racks(report: &Report, machines: usize) -> Result<()> {
    ensure!(report.machines.len() == machines, "{} machines, expected {machines}", report.machines.len());
    let twice = report.duplicates();
    ensure!(twice.is_empty(), "used twice: {twice:?}");
    for machine in &report.machines {
        rack(machine).with_context(|| format!("{machine:?}"))?;
    }
    let used = report.hosts.iter().filter(|host| host.consumer.is_some()).count();
    ensure!(used == machines, "{used} hosts are consumed by {machines} machines");
    Ok(())
}

fn rack(machine: &MachineRow) -> Result<()> {
    let number =
        machine.failure_domain.as_deref().and_then(|d| d.strip_prefix("rack")).context("in no rack")?;
    let vlan = number.parse::<i64>()? * 100;
    ensure!(machine.ready, "not ready");
    ensure!(machine.vlans == [vlan], "VLAN is not {vlan}");
    ensure!(
        machine.data_template.as_deref() == Some(&format!("m3dt-rack{number}")),
        "template of another rack"
    );
    let subnet = format!("10.0.{number}.");
    ensure!(machine.addresses.len() == 1, "not one address");
    ensure!(machine.addresses.iter().all(|a| a.starts_with(&subnet)), "address is not in {subnet}0/24");
    let host = machine.host.as_deref().unwrap_or_default();
    let id = format!("metal3://metal3/{host}/{}", machine.name);
    ensure!(machine.provider_id.as_deref() == Some(&id), "provider ID is not {id}");
    Ok(())
}

/// No machine is left and every host is available.
pub fn hosts_are_free(report: &Report) -> Result<()> {
    ensure!(report.machines.is_empty(), "machines are left");
    for host in &report.hosts {
        ensure!(host.state == "available" && host.consumer.is_none(), "{host:?}");
    }
    Ok(())
}
