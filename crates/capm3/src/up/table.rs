//! The result as a table that fits a terminal.

use capm3_lab::report::{MachineRow, Report};

const HEAD: [&str; 8] =
    ["RACK", "HOST", "MACHINE", "DATA TEMPLATE", "INDEX", "VLAN", "ADDRESS", "PROVIDER ID"];

/// One row a machine, by rack and host.
pub fn table(report: &Report) -> String {
    let mut machines: Vec<&MachineRow> = report.machines.iter().collect();
    machines.sort_by_key(|m| (m.failure_domain.clone(), m.host.clone(), m.name.clone()));
    let mut rows = vec![HEAD.map(str::to_owned)];
    rows.extend(machines.into_iter().map(cells));
    let widths: Vec<usize> = (0..HEAD.len())
        .map(|column| {
            rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or(0)
        })
        .collect();
    let lines: Vec<String> = rows.iter().map(|row| line(row, &widths)).collect();
    lines.join("\n")
}

fn line(row: &[String], widths: &[usize]) -> String {
    let cells: Vec<String> =
        row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}", width = *width)).collect();
    cells.join("  ").trim_end().to_owned()
}

fn cells(machine: &MachineRow) -> [String; 8] {
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let joined = |items: Vec<String>| {
        if items.is_empty() { "-".to_owned() } else { items.join(",") }
    };
    [
        or_dash(&machine.failure_domain),
        or_dash(&machine.host),
        machine.name.clone(),
        or_dash(&machine.data_template),
        or_dash(&machine.index.map(|i| i.to_string())),
        joined(machine.vlans.iter().map(ToString::to_string).collect()),
        joined(machine.addresses.clone()),
        or_dash(&machine.provider_id),
    ]
}
