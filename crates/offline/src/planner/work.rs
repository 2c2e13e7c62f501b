//! Which keys are due: those of new objects, and those that read something that has changed since.
//!
//! Takes the changes of a memory; gives the next key of a controller. Keys are numbered in the order in which they are
//! first seen, those of one moment by name, and served in this order. It reconciles nothing itself.

use std::{
    any::TypeId,
    collections::{BTreeMap, BTreeSet},
};

use capm3_engine::{News, ObjectKey};
use capm3_provider::dry_run;
use capm3_world::dry_run as world;

/// Who reconciles.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Who {
    /// A neighbour of the provider.
    World(world::Controller),
    /// The provider.
    Provider(dry_run::Controller),
}

impl Who {
    fn type_id(self) -> TypeId {
        match self {
            Self::World(controller) => controller.type_id(),
            Self::Provider(controller) => controller.type_id(),
        }
    }
}

/// Keys and which of them are due.
#[derive(Debug, Default)]
pub(crate) struct Work {
    controllers: Vec<Who>,
    numbers: BTreeMap<(Who, ObjectKey), usize>,
    keys: Vec<(Who, ObjectKey)>,
    due: BTreeSet<(Who, usize)>,
}

impl Work {
    /// Work of these controllers.
    pub(crate) fn of(controllers: impl IntoIterator<Item = Who>) -> Self {
        Self { controllers: controllers.into_iter().collect(), ..Self::default() }
    }

    /// Takes in what has changed.
    pub(crate) fn hear(&mut self, news: &News) {
        for number in &news.woken {
            if let Some((who, _)) = self.keys.get(*number) {
                self.due.insert((*who, *number));
            }
        }
        for (kind, key) in &news.touched {
            for who in self.controllers.iter().copied().filter(|who| who.type_id() == *kind) {
                let place = (who, key.clone());
                if !self.numbers.contains_key(&place) {
                    let number = self.keys.len();
                    self.numbers.insert(place.clone(), number);
                    self.keys.push(place);
                    self.due.insert((who, number));
                }
            }
        }
    }

    /// Every key is due.
    pub(crate) fn all_due(&mut self) {
        self.due.extend(self.keys.iter().enumerate().map(|(number, (who, _))| (*who, number)));
    }

    /// No key is due.
    pub(crate) fn forget_due(&mut self) {
        self.due.clear();
    }

    /// A key is due.
    pub(crate) fn is_due_now(&mut self, number: usize) {
        if let Some((who, _)) = self.keys.get(number) {
            self.due.insert((*who, number));
        }
    }

    /// Whether one of these controllers has something to do.
    pub(crate) fn has_any(&self, controllers: &[Who]) -> bool {
        controllers.iter().any(|who| self.numbers_of(*who, 0).next().is_some())
    }

    /// The next due key of a controller from a number on, which is not due any more.
    pub(crate) fn take(&mut self, who: Who, from: usize) -> Option<(usize, ObjectKey)> {
        let number = self.numbers_of(who, from).next()?;
        self.take_number(who, number)
    }

    /// A due key, which is not due any more.
    pub(crate) fn take_number(&mut self, who: Who, number: usize) -> Option<(usize, ObjectKey)> {
        self.due.remove(&(who, number)).then_some(())?;
        self.keys.get(number).map(|(_, key)| (number, key.clone()))
    }

    /// The numbers of due keys of a controller.
    pub(crate) fn numbers_of(&self, who: Who, from: usize) -> impl Iterator<Item = usize> + use<'_> {
        self.due.range((who, from)..=(who, usize::MAX)).map(|(_, number)| *number)
    }

    /// Whose key it is.
    pub(crate) fn key(&self, number: usize) -> Option<&(Who, ObjectKey)> {
        self.keys.get(number)
    }
}
