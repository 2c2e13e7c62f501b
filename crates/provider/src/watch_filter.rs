//! `--watch-filter`: several managers share a cluster, each with the objects that carry its value of a label.
//!
//! As with the Go provider it holds for Metal3Clusters, Metal3Machines, Metal3DataTemplates and Metal3Data. A machine hands its labels
//! to its claim, and that to its data. Everything is still cached: hosts are shared, and so is what shows whether one is free.

use capm3_api::{metadata::MetadataExt, vocabulary::label};
use kube::core::ObjectMeta;

/// Which objects a provider takes care of.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WatchFilter(Option<String>);

impl WatchFilter {
    /// Those whose label has this value; an empty one stands for all objects.
    pub fn new(value: impl Into<String>) -> Self {
        Self(Some(value.into()).filter(|value| !value.is_empty()))
    }

    /// Whether an object is left to another manager.
    pub fn ignores(&self, metadata: &ObjectMeta) -> bool {
        self.0.as_deref().is_some_and(|wanted| metadata.label(label::WATCH_FILTER) != Some(wanted))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_objects_with_the_value_are_taken_care_of_and_without_a_filter_all_are() {
        let labelled = |value: &str| ObjectMeta {
            labels: Some([(label::WATCH_FILTER.to_owned(), value.to_owned())].into()),
            ..ObjectMeta::default()
        };
        let (none, a, b) = (ObjectMeta::default(), labelled("a"), labelled("b"));
        for (filter, expected) in [("", [false, false, false]), ("a", [true, false, true])] {
            let filter = WatchFilter::new(filter);
            assert_eq!([&none, &a, &b].map(|metadata| filter.ignores(metadata)), expected, "{filter:?}");
        }
    }
}
