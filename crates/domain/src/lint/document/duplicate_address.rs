//! One address for two machines.

use std::collections::BTreeMap;

use crate::{
    lint::{Check, Draft, Example, MachineAddress, ObjectId, Rule, Severity},
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L027"),
    title: "two machines get the same address",
    severity: Severity::Error,
    why: "Two nodes with one address disturb each other: neither is reached reliably, and the cluster may lose its control plane. \
          It comes from pools or ranges that overlap, or from an address that is in use in one pool and free in another.",
    mend: "give each pool and each range addresses of its own",
    example: Example {
        wrong: r#"pools of racks 1 and 2:
- {start: 10.0.0.10, end: 10.0.0.50}
- {start: 10.0.0.10, end: 10.0.0.50}"#,
        right: r#"pools of racks 1 and 2:
- {start: 10.0.0.10, end: 10.0.0.50}
- {start: 10.0.0.51, end: 10.0.0.90}"#,
    },
    check: Check::Addresses(check),
};

/// Of many addresses that one field gives twice, the first is named and the others are counted.
fn check(addresses: &[MachineAddress]) -> Vec<(ObjectId, Draft)> {
    let mut first: BTreeMap<(&str, &str), &MachineAddress> = BTreeMap::new();
    let mut twice: BTreeMap<(ObjectId, &str), Vec<(&MachineAddress, &MachineAddress)>> = BTreeMap::new();
    for address in addresses {
        let holder = *first.entry((&address.namespace, &address.address)).or_insert(address);
        if holder.machine != address.machine {
            twice.entry((address.object, &address.field)).or_default().push((holder, address));
        }
    }
    let draft = |((object, field), pairs): ((ObjectId, &str), Vec<(&MachineAddress, &MachineAddress)>)| {
        let (holder, other) = pairs.first()?;
        let more = match pairs.len() - 1 {
            0 => String::new(),
            more => format!(", and so are {more} more addresses"),
        };
        let (address, one, two) = (&holder.address, &holder.machine, &other.machine);
        let message = format!("address {address} is given to machine {one} and to machine {two}{more}");
        Some((object, Draft::new(field, message)))
    };
    twice.into_iter().filter_map(draft).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(namespace: &str, machine: &str, address: &str, field: &str) -> MachineAddress {
        let [namespace, machine, address, field] = [namespace, machine, address, field].map(str::to_owned);
        MachineAddress { namespace, machine, address, object: 0, field }
    }

    #[test]
    fn two_machines_of_one_namespace_may_not_have_one_address() {
        let found = |addresses: &[MachineAddress]| {
            check(addresses).into_iter().map(|(_, draft)| (draft.field, draft.message)).collect::<Vec<_>>()
        };
        let several = [
            address("n", "a", "10.0.0.1", "x"),
            address("n", "b", "10.0.0.1", "y"),
            address("n", "a", "10.0.0.2", "x"),
            address("n", "b", "10.0.0.2", "y"),
        ];
        let message = "address 10.0.0.1 is given to machine a and to machine b, and so are 1 more addresses";
        assert_eq!(found(&several), [("y".to_owned(), message.to_owned())]);
        assert_eq!(found(&[address("n", "a", "10.0.0.1", "x"), address("m", "b", "10.0.0.1", "x")]), []);
        assert_eq!(found(&[address("n", "a", "10.0.0.1", "x"), address("n", "a", "10.0.0.1", "y")]), []);
    }
}
