//! Numbers in use, counted.

use std::collections::BTreeMap;

use super::Runs;

/// Numbers in use, each with the number of its users: it is free once all of them are gone. Adding and removing is O(log N); a
/// copy costs as much as there are gaps.
///
/// ```
/// use capm3_domain::numbers::UsedNumbers;
///
/// let mut used = UsedNumbers::default();
/// used.add(3);
/// used.add(3);
/// used.remove(3);
/// assert_eq!(used.users_of(3), 1);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UsedNumbers {
    numbers: Runs,
    /// Users beyond the first, where there are any.
    more: BTreeMap<u128, usize>,
}

impl UsedNumbers {
    /// Adds a user of a number.
    pub fn add(&mut self, number: u128) {
        if !self.numbers.insert(number) {
            *self.more.entry(number).or_default() += 1;
        }
    }

    /// Removes a user of a number.
    pub fn remove(&mut self, number: u128) {
        match self.more.get_mut(&number) {
            Some(1) => {
                self.more.remove(&number);
            }
            Some(users) => *users -= 1,
            None => {
                self.numbers.remove(number);
            }
        }
    }

    /// How many users a number has.
    pub fn users_of(&self, number: u128) -> usize {
        match self.numbers.contains(number) {
            true => 1 + self.more.get(&number).copied().unwrap_or_default(),
            false => 0,
        }
    }

    /// The numbers that have users.
    pub fn numbers(&self) -> &Runs {
        &self.numbers
    }

    /// Whether no number has a user.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }
}

impl FromIterator<u128> for UsedNumbers {
    fn from_iter<I: IntoIterator<Item = u128>>(numbers: I) -> Self {
        let mut used = Self::default();
        numbers.into_iter().for_each(|number| used.add(number));
        used
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_number_is_free_once_its_last_user_is_gone(
            steps in prop::collection::vec((any::<bool>(), 0_u128..20), 0..200),
        ) {
            let (mut used, mut model) = (UsedNumbers::default(), Vec::new());
            for (add, number) in steps {
                if add {
                    used.add(number);
                    model.push(number);
                } else if let Some(position) = model.iter().position(|it| *it == number) {
                    used.remove(number);
                    model.swap_remove(position);
                }
                prop_assert_eq!(used.users_of(number), model.iter().filter(|it| **it == number).count());
            }
            let rebuilt: UsedNumbers = model.into_iter().collect();
            prop_assert_eq!(used, rebuilt);
        }
    }
}
