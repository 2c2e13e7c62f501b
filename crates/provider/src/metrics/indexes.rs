//! Indexes of Metal3Data, which decide on metadata and addresses.

use std::fmt;

use capm3_api::v1beta2::Metal3Data;
use capm3_engine::{
    Caches,
    metrics::{Encoder, Series},
};

use super::number;
use crate::aggregates::{BySpace, Used};

pub(super) const SPACES: Series = Series::gauge(
    "capm3_index_spaces",
    &[],
    "Groups of Metal3DataTemplates that share indexes and have Metal3Data",
);
pub(super) const USED: Series =
    Series::gauge("capm3_indexes_used", &[], "Indexes that Metal3Data use, of all groups together");
pub(super) const HIGHEST: Series = Series::gauge(
    "capm3_index_highest",
    &[],
    "The highest index that is used in any group: addresses, names and offsets grow with it",
);

pub(super) fn encode(encoder: &mut Encoder<'_>, caches: &Caches) -> fmt::Result {
    let spaces = caches.store::<Metal3Data>().map(|datas| datas.aggregates::<Used<BySpace>>());
    let spaces = spaces.unwrap_or_default();
    let runs: Vec<_> = spaces.iter().map(|space| space.numbers()).collect();
    encoder.gauge(&SPACES, number(runs.len()))?;
    encoder.gauge(&USED, number(runs.iter().map(|it| it.numbers().len()).sum::<usize>()))?;
    let highest = runs.iter().filter_map(|it| it.numbers().last()).max();
    encoder.gauges(&HIGHEST, highest.map(|highest| ([""; 0], number(highest))))
}
