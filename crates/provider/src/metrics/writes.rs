//! Writes that the API server did not take.

use std::fmt;

use capm3_engine::{
    WriteCounts,
    metrics::{Encoder, Series},
};

pub(super) const REFUSED: Series = Series::counter(
    "capm3_refused_writes",
    &["verb", "kind", "reason"],
    "Writes that failed, by reason; conflict and already_exists come from other writers, the others need a person",
);

pub(super) fn encode(encoder: &mut Encoder<'_>, writes: &WriteCounts) -> fmt::Result {
    let all = writes.all();
    let refused = all
        .iter()
        .filter_map(|((verb, kind, refusal), count)| Some(([*verb, kind.as_str(), (*refusal)?], *count)));
    encoder.counters(&REFUSED, refused)
}
