//! Choosing by a seeded generator.

use capm3_engine::rng::Rng;

/// A generator with the questions that templates are made of.
pub struct Choice(Rng);

impl Choice {
    pub fn seeded(seed: u64) -> Self {
        Self(Rng::seeded(seed))
    }

    /// Yes, once in so many times.
    pub fn once_in(&self, times: u64) -> bool {
        self.0.below(times) == 0
    }

    /// A number from `least` to `most`.
    pub fn between(&self, least: usize, most: usize) -> usize {
        least + usize::try_from(self.0.below((most - least + 1) as u64)).unwrap()
    }

    /// One of them.
    pub fn of<'i, T>(&self, items: &'i [T]) -> &'i T {
        &items[self.between(0, items.len() - 1)]
    }

    /// Some of them, at least `least`, in their order.
    pub fn some<T: Clone>(&self, items: &[T], least: usize) -> Vec<T> {
        let mut chosen: Vec<T> = items.iter().filter(|_| self.once_in(2)).cloned().collect();
        for item in items {
            if chosen.len() >= least {
                break;
            }
            chosen.push(item.clone());
        }
        chosen
    }
}
