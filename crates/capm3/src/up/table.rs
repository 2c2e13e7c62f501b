//! The result as a table that fits a terminal.

use capm3_lab::report::{MachineRow, Report};

use crate::columns::{line, widest};

const HEAD: [&str; 9] =
    [NAMESPACE, "RACK", "HOST", "MACHINE", "DATA TEMPLATE", "INDEX", "VLAN", "ADDRESS", "PROVIDER ID"];

/// The column that is shown where there are several namespaces.
const NAMESPACE: &str = "NAMESPACE";

/// Columns that are left out where there is no room for them, the first one first; `-o json` has everything.
const DISPENSABLE: [&str; 3] = ["PROVIDER ID", "DATA TEMPLATE", "INDEX"];

/// One row per machine, by namespace, rack and host; no wider than `width` if leaving columns out can achieve it.
pub fn table(report: &Report, width: Option<usize>) -> String {
    let mut machines: Vec<&MachineRow> = report.machines.iter().collect();
    machines.sort_by_key(|m| (m.namespace.clone(), m.failure_domain.clone(), m.host.clone(), m.name.clone()));
    let mut rows = vec![HEAD.map(str::to_owned)];
    rows.extend(machines.into_iter().map(cells));
    let mut columns: Vec<Vec<String>> = (0..HEAD.len())
        .map(|column| rows.iter().filter_map(|row| row.get(column).cloned()).collect())
        .collect();
    if report.namespaces().len() < 2 {
        columns.retain(|column| column.first().is_none_or(|head| head != NAMESPACE));
    }
    for name in DISPENSABLE {
        if width.is_none_or(|width| total(&columns) <= width) {
            break;
        }
        columns.retain(|column| column.first().is_none_or(|head| head != name));
    }
    let widths: Vec<usize> = columns.iter().map(|column| widest(column)).collect();
    let row = |number: usize| {
        let cells: Vec<String> = columns.iter().filter_map(|column| column.get(number).cloned()).collect();
        line(&cells, &widths)
    };
    (0..rows.len()).map(row).collect::<Vec<_>>().join("\n")
}

fn total(columns: &[Vec<String>]) -> usize {
    columns.iter().map(|column| widest(column) + 2).sum::<usize>().saturating_sub(2)
}

fn cells(machine: &MachineRow) -> [String; 9] {
    let or_dash = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".to_owned());
    let joined = |items: Vec<String>| {
        if items.is_empty() { "-".to_owned() } else { items.join(",") }
    };
    [
        machine.namespace.clone(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_left_out_until_the_table_fits() {
        let machine = MachineRow {
            namespace: "metal3".to_owned(),
            name: "my-cluster-workers-6mqbz-6b2px".to_owned(),
            host: Some("rack2-host-3".to_owned()),
            failure_domain: Some("rack2".to_owned()),
            data_template: Some("m3dt-rack2".to_owned()),
            data: None,
            index: Some(1),
            vlans: vec![200],
            addresses: vec!["10.0.2.11".to_owned()],
            provider_id: Some("metal3://metal3/rack2-host-3/my-cluster-workers-6mqbz-6b2px".to_owned()),
            ready: true,
        };
        let report = Report { machines: vec![machine], hosts: Vec::new(), waits: Vec::new(), elapsed_ms: 0 };
        let head = |width| {
            table(&report, width).lines().next().unwrap().split("  ").filter(|c| !c.is_empty()).count()
        };
        assert_eq!(
            (head(None), head(Some(200)), head(Some(120)), head(Some(80)), head(Some(1))),
            (8, 8, 7, 6, 5)
        );
        let text = table(&report, Some(80));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(text.contains("10.0.2.11") && !text.contains("metal3://"), "{text}");
        let mut other = report.machines[0].clone();
        other.namespace = "another".to_owned();
        let several = Report { machines: [report.machines[0].clone(), other].into(), ..report };
        let text = table(&several, Some(90));
        let first: Vec<&str> = text.lines().filter_map(|line| line.split_whitespace().next()).collect();
        assert_eq!(first, ["NAMESPACE", "another", "metal3"], "{text}");
    }
}
