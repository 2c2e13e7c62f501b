//! Natural order of keys: `node-2` before `node-10`.
//!
//! The order that Go programs use is not a total one (`n1b` < `n9` < `n11` < `n1b`), so it cannot be given to the
//! sort of the standard library. Keys are first put in code point order and then sorted by insertion: equal input
//! gives equal output, and where the natural order is total the output is that order.

use serde_json::{Map, Value};

pub(super) fn sorted(members: &Map<String, Value>) -> Vec<(&str, &Value)> {
    let mut plain: Vec<_> = members.iter().map(|(key, value)| (key.as_str(), value)).collect();
    plain.sort_unstable_by_key(|(key, _)| *key);
    let mut natural: Vec<(&str, &Value)> = Vec::with_capacity(plain.len());
    for member in plain {
        let smaller = natural.iter().rev().take_while(|(key, _)| is_less(member.0, key)).count();
        natural.insert(natural.len() - smaller, member);
    }
    natural
}

fn is_less(left: &str, right: &str) -> bool {
    let mut digits_before = DigitsBefore::default();
    let (mut l, mut r) = (left.chars(), right.chars());
    loop {
        let (left_rest, right_rest) = (l.as_str(), r.as_str());
        match (l.next(), r.next()) {
            (Some(a), Some(b)) if a == b => digits_before.see(a),
            (Some(a), Some(b)) => return differ(a, b, left_rest, right_rest, digits_before.significant),
            (None, Some(_)) => return true,
            (_, None) => return false,
        }
    }
}

fn differ(a: char, b: char, left_rest: &str, right_rest: &str, digits_before: bool) -> bool {
    match (a.is_alphabetic(), b.is_alphabetic()) {
        (true, true) => a < b,
        (a_is_letter, b_is_letter) if a_is_letter || b_is_letter => b_is_letter,
        _ => {
            let start = i64::from((a == '0' || b == '0') && digits_before);
            let (left, left_length) = number(left_rest, start);
            let (right, right_length) = number(right_rest, start);
            (left, left_length, a) < (right, right_length, b)
        }
    }
}

/// Whether the run of digits right in front holds one that is not zero.
#[derive(Default)]
struct DigitsBefore {
    significant: bool,
}

impl DigitsBefore {
    fn see(&mut self, c: char) {
        self.significant = c.is_ascii_digit() && (self.significant || c != '0');
    }
}

fn number(text: &str, start: i64) -> (i64, usize) {
    text.chars().map_while(|c| c.to_digit(10)).fold((start, 0), |(number, length), digit| {
        (number.wrapping_mul(10).wrapping_add(i64::from(digit)), length + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order_of(keys: &[&str]) -> Vec<String> {
        let members = keys.iter().map(|key| ((*key).to_owned(), Value::Null)).collect();
        sorted(&members).into_iter().map(|(key, _)| key.to_owned()).collect()
    }

    #[test]
    fn numbers_count_as_numbers_and_letters_come_last() {
        let expected = ["_x", "9z", "Node", "node", "node-1", "node-2", "node-10", "node_a", "nodeb", "z9"];
        let mut backwards = expected;
        backwards.reverse();
        assert_eq!(order_of(&backwards), expected);
    }

    #[test]
    fn a_cycle_of_keys_has_one_order_whatever_order_they_come_in() {
        let one = order_of(&["n1b", "n9", "n11", "x"]);
        for keys in [["n9", "n11", "x", "n1b"], ["x", "n11", "n1b", "n9"], ["n11", "n9", "n1b", "x"]] {
            assert_eq!(order_of(&keys), one);
        }
    }
}
