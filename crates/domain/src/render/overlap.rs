//! Addresses that two templates would both give out.
//!
//! Takes two Metal3DataTemplates; shows whether the same address could reach two machines because their inline ranges
//! have addresses in common. Templates that count in one index space never give the same index twice; those that do
//! not, do.

use std::{fmt, net::IpAddr};

use capm3_api::{metadata::MetadataExt, v1beta2::Metal3DataTemplate};

use super::inline::{Progression, address_of, progressions};
use crate::index::space_of_template;

/// That two templates would give the same address out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Overlap {
    /// The other template.
    pub other: String,
    /// The first address that both give.
    pub address: IpAddr,
}

impl fmt::Display for Overlap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { other, address } = self;
        write!(
            f,
            "inline ranges of this template and of Metal3DataTemplate {other} overlap: both contain {address}, so two machines \
             may get the same address; use ranges without common addresses or, if one template replaces the other, the same \
             spec.templateReference"
        )
    }
}

/// The first address that machines of both templates could get; none if they are one template or share their indexes.
///
/// ```
/// use capm3_domain::render::overlap;
///
/// let template = |name: &str, subnet: &str| {
///     serde_json::from_str(&format!(r#"{{"metadata": {{"name": "{name}"}}, "spec": {{"metaData": {{"ipAddresses": [
///         {{"key": "ip", "subnet": "{subnet}"}}]}}}}}}"#)).unwrap()
/// };
/// let found = overlap(&template("a", "10.0.0.0/24"), &template("b", "10.0.0.128/25")).unwrap();
/// assert_eq!(found.address.to_string(), "10.0.0.129");
/// assert_eq!(overlap(&template("a", "10.0.0.0/25"), &template("b", "10.0.0.128/25")), None);
/// ```
pub fn overlap(one: &Metal3DataTemplate, other: &Metal3DataTemplate) -> Option<Overlap> {
    let same_place = one.metadata.namespace == other.metadata.namespace;
    if !same_place || space_of_template(one) == space_of_template(other) {
        return None;
    }
    let shared = progressions(&one.spec).filter_map(|mine| {
        let numbers = progressions(&other.spec).filter_map(|theirs| common(&mine, &theirs));
        numbers.min().map(|number| (mine.is_v4, number))
    });
    let (is_v4, number) = shared.min()?;
    Some(Overlap { other: other.metadata.name_str().to_owned(), address: address_of(is_v4, number) })
}

/// The lowest number that two progressions have in common.
fn common(one: &Progression, other: &Progression) -> Option<u128> {
    if one.is_v4 != other.is_v4 {
        return None;
    }
    let start = one.first.max(other.first);
    // How far the next member lies behind the later of both starts.
    let ahead = |run: &Progression| {
        let step = u128::from(run.step);
        (step - (start - run.first) % step) % step
    };
    let distance = meeting((ahead(one), one.step), (ahead(other), other.step))?;
    start.checked_add(distance).filter(|number| *number <= one.last.min(other.last))
}

/// The lowest number that leaves both remainders, each smaller than its step.
fn meeting((first, step): (u128, u32), (second, other_step): (u128, u32)) -> Option<u128> {
    let (step, other_step) = (u128::from(step), u128::from(other_step));
    let (divisor, inverse) = divisor_and_inverse(step, other_step);
    let difference = (second + other_step - first % other_step) % other_step;
    if difference % divisor != 0 {
        return None;
    }
    let modulus = other_step / divisor;
    let times = (difference / divisor % modulus) * (inverse % modulus) % modulus;
    Some(first + step * times)
}

/// The greatest common divisor of two numbers, and a factor that makes it of the first, modulo the second.
fn divisor_and_inverse(number: u128, modulus: u128) -> (u128, u128) {
    let (mut old, mut now) = ((number, 1), (modulus, 0));
    while now.0 != 0 {
        let times = old.0 / now.0;
        // Kept below the modulus, so that nothing becomes negative.
        let factor = (old.1 + modulus - times * now.1 % modulus) % modulus;
        (old, now) = (now, (old.0 - times * now.0, factor));
    }
    old
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn template(name: &str, spec: Value) -> Metal3DataTemplate {
        serde_json::from_value(json!({"metadata": {"namespace": "n", "name": name}, "spec": spec})).unwrap()
    }

    fn ranges(ranges: Value) -> Value {
        json!({"metaData": {"ipAddresses": ranges}})
    }

    fn found(one: Value, other: Value) -> Option<String> {
        let of = |range: Value| ranges(json!([range]));
        let (one, other) = (template("a", of(one)), template("b", of(other)));
        let there = overlap(&one, &other).map(|found| found.address.to_string());
        let back = overlap(&other, &one).map(|found| found.address.to_string());
        assert_eq!(there, back);
        there
    }

    /// Two templates with overlapping ranges and no common templateReference are found.
    #[test]
    fn s145_ranges_that_have_an_address_in_common_overlap() {
        let table = [
            (json!({"start": "10.0.0.1", "end": "10.0.0.9"}), json!({"start": "10.0.0.9"}), Some("10.0.0.9")),
            (json!({"start": "10.0.0.1", "end": "10.0.0.9"}), json!({"start": "10.0.0.10"}), None),
            (json!({"subnet": "10.0.0.0/24"}), json!({"subnet": "10.0.1.0/24"}), None),
            (json!({"subnet": "2001:db8::/64"}), json!({"subnet": "10.0.0.0/24"}), None),
            (json!({"subnet": "2001:db8::/64"}), json!({"start": "2001:db8::f"}), Some("2001:db8::f")),
            // Odd and even addresses never meet; steps of two and three do.
            (json!({"start": "10.0.0.1", "step": 2}), json!({"start": "10.0.0.2", "step": 2}), None),
            (
                json!({"start": "10.0.0.1", "step": 2}),
                json!({"start": "10.0.0.2", "step": 3}),
                Some("10.0.0.5"),
            ),
            (
                json!({"start": "10.0.0.1", "step": 2, "end": "10.0.0.4"}),
                json!({"start": "10.0.0.2", "step": 3}),
                None,
            ),
            (json!({"start": "10.0.0.9", "end": "10.0.0.1"}), json!({"start": "10.0.0.1"}), None),
        ];
        for (one, other, expected) in table {
            assert_eq!(found(one.clone(), other.clone()).as_deref(), expected, "{one} {other}");
        }
    }

    #[test]
    fn every_meeting_of_small_steps_is_the_one_that_counting_finds() {
        for (step, other_step) in (1..8_u32).flat_map(|a| (1..8_u32).map(move |b| (a, b))) {
            for (first, second) in (0..step).flat_map(|a| (0..other_step).map(move |b| (a, b))) {
                let counted = (0..64_u32).find(|n| n % step == first && n % other_step == second);
                let found = meeting((first.into(), step), (second.into(), other_step));
                assert_eq!(found, counted.map(u128::from), "{first} of {step}, {second} of {other_step}");
            }
        }
    }

    /// A common templateReference means that no index is given twice.
    #[test]
    fn s145_templates_that_share_their_indexes_do_not_overlap_nor_do_those_of_two_namespaces() {
        let spec = |key: Option<&str>| {
            let mut spec = ranges(json!([{"subnet": "10.0.0.0/24"}]));
            spec["templateReference"] = json!(key);
            spec
        };
        let of = |name: &str, key: Option<&str>| template(name, spec(key));
        assert!(overlap(&of("a", None), &of("b", None)).is_some());
        assert_eq!(overlap(&of("a", None), &of("a", None)), None, "the same template");
        assert_eq!(overlap(&of("a", None), &of("b", Some("a"))), None);
        assert_eq!(overlap(&of("a", Some("k")), &of("b", Some("k"))), None);
        let mut elsewhere = of("b", None);
        elsewhere.metadata.namespace = Some("other".into());
        assert_eq!(overlap(&of("a", None), &elsewhere), None);
    }
}
