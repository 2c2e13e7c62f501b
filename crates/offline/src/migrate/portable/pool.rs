//! A pool that hands out, to the claim of each index, the address that an inline range would give it.

use std::net::IpAddr;

use capm3_api::v1beta2::InlineRange;
use capm3_domain::render::{inline_address, inline_prefix};
use serde_json::{Map, Value, json};

/// Most indexes whose addresses are set aside.
pub(super) const MOST: usize = 512;

/// A pool in the making.
#[derive(Debug, PartialEq)]
pub(super) struct Pool {
    /// Its name.
    pub name: String,
    /// Its name before it was made unique.
    pub stem: String,
    /// Whether the range has more addresses than are set aside.
    pub is_cut: bool,
    template: String,
    addresses: Vec<IpAddr>,
    prefix: Option<i64>,
}

impl Pool {
    /// The pool for a range of a template, named after the network or the key that uses it.
    pub fn of(template: &str, id: &str, range: &Value, prefix: Option<&Value>) -> Result<Self, String> {
        let range: InlineRange = serde_json::from_value(range.clone()).map_err(|error| error.to_string())?;
        let first = inline_address(&range, 0).map_err(|error| error.to_string())?;
        let rest = (1..).map_while(|index| inline_address(&range, index).ok()).take(MOST);
        let mut addresses: Vec<IpAddr> = std::iter::once(first).chain(rest).collect();
        let is_cut = addresses.len() > MOST;
        addresses.truncate(MOST);
        let name = format!("{template}-{id}").to_lowercase().replace(|c: char| !is_of_names(c), "-");
        let prefix = prefix.and_then(Value::as_i64).or_else(|| inline_prefix(&range).map(i64::from));
        Ok(Self { stem: name.clone(), name, is_cut, template: template.to_owned(), addresses, prefix })
    }

    /// Whether this pool can serve what another would: the same addresses with the same prefix, as far as both have one.
    pub fn serves(&self, other: &Self) -> bool {
        let is_free = self.prefix.is_none() || other.prefix.is_none();
        self.addresses == other.addresses && (is_free || self.prefix == other.prefix)
    }

    /// Takes over the prefix of another, if it has none.
    pub fn take(&mut self, other: &Self) {
        self.prefix = self.prefix.or(other.prefix);
    }

    /// The pool with a number behind its name, unless it is the first of this name.
    pub fn numbered(self, before: usize) -> Self {
        let name = if before == 0 { self.stem.clone() } else { format!("{}-{}", self.stem, before + 1) };
        Self { name, ..self }
    }

    /// The pool as a document.
    pub fn document(self, namespace: Option<&Value>, cluster: Option<&Value>) -> Value {
        let mut metadata = Map::from_iter([("name".to_owned(), json!(self.name))]);
        metadata.extend(namespace.map(|namespace| ("namespace".to_owned(), namespace.clone())));
        let mut spec = Map::new();
        spec.extend(cluster.map(|cluster| ("clusterName".to_owned(), cluster.clone())));
        spec.insert("namePrefix".to_owned(), json!(self.name));
        spec.extend(self.prefix.map(|prefix| ("prefix".to_owned(), json!(prefix))));
        let ranges: Vec<Value> = runs(&self.addresses)
            .into_iter()
            .map(|(start, end)| json!({"start": start, "end": end}))
            .collect();
        spec.insert("pools".to_owned(), json!(ranges));
        let claims = self.addresses.iter().enumerate();
        let set_aside = claims
            .map(|(index, address)| (format!("{}-{index}-{}", self.template, self.name), json!(address)));
        spec.insert("preAllocations".to_owned(), Value::Object(set_aside.collect()));
        json!({"apiVersion": "ipam.metal3.io/v1alpha1", "kind": "IPPool", "metadata": metadata, "spec": spec})
    }
}

fn is_of_names(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '.'
}

/// First and last of the addresses that follow each other.
fn runs(addresses: &[IpAddr]) -> Vec<(IpAddr, IpAddr)> {
    let number = |address: &IpAddr| match address {
        IpAddr::V4(v4) => u128::from(v4.to_bits()),
        IpAddr::V6(v6) => v6.to_bits(),
    };
    let mut runs: Vec<(IpAddr, IpAddr)> = Vec::new();
    for address in addresses {
        match runs.last_mut() {
            Some((_, end)) if number(end).checked_add(1) == Some(number(address)) => *end = *address,
            _ => runs.push((*address, *address)),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_holds_exactly_the_addresses_of_its_range() {
        let range = json!({"start": "10.0.0.10", "end": "10.0.0.12"});
        let pool = Pool::of("t", "Net", &range, Some(&json!(24))).unwrap();
        let document = pool.document(Some(&json!("ns")), None);
        assert_eq!(document["metadata"], json!({"name": "t-net", "namespace": "ns"}));
        assert_eq!(document["spec"]["pools"], json!([{"start": "10.0.0.10", "end": "10.0.0.12"}]));
        assert_eq!(document["spec"]["prefix"], json!(24));
        assert_eq!(
            document["spec"]["preAllocations"],
            json!({"t-0-t-net": "10.0.0.10", "t-1-t-net": "10.0.0.11", "t-2-t-net": "10.0.0.12"})
        );
    }

    #[test]
    fn a_step_leaves_gaps_and_a_long_range_is_cut() {
        let range = json!({"start": "2001:db8::a", "end": "2001:db8::ffff", "step": 10});
        let pool = Pool::of("t", "n", &range, None).unwrap();
        assert!(pool.is_cut);
        let document = pool.document(None, None);
        let ranges = document["spec"]["pools"].as_array().unwrap();
        assert_eq!(ranges.len(), MOST);
        assert_eq!(ranges[1], json!({"start": "2001:db8::14", "end": "2001:db8::14"}));
        assert_eq!(document["spec"]["preAllocations"].as_object().unwrap().len(), MOST);
    }

    #[test]
    fn a_range_of_exactly_the_most_is_not_cut() {
        let range = json!({"start": "10.0.0.0", "end": "10.0.1.255"});
        let pool = Pool::of("t", "n", &range, None).unwrap();
        assert_eq!((pool.is_cut, pool.addresses.len()), (false, MOST));
    }

    #[test]
    fn a_range_without_a_beginning_is_no_pool() {
        assert!(Pool::of("t", "n", &json!({"end": "10.0.0.1"}), None).is_err());
    }
}
