//! Writes the series of a source: the values of labels come beside their number, their names from the [`Series`].

use std::fmt;

use prometheus_client::{
    encoding::{DescriptorEncoder, EncodeMetric, MetricEncoder},
    metrics::{MetricType, counter::ConstCounter, gauge::ConstGauge, histogram::Histogram},
};

use super::{Series, SeriesType};

/// Writes series.
#[derive(Debug)]
pub struct Encoder<'a>(DescriptorEncoder<'a>);

impl<'a> Encoder<'a> {
    pub(super) fn new(inner: DescriptorEncoder<'a>) -> Self {
        Self(inner)
    }

    /// A gauge without labels.
    pub fn gauge(&mut self, series: &Series, value: f64) -> fmt::Result {
        self.gauges(series, [([""; 0], value)])
    }

    /// A gauge for each set of values of its labels.
    pub fn gauges<V: AsRef<str>, const N: usize>(
        &mut self,
        series: &Series,
        rows: impl IntoIterator<Item = ([V; N], f64)>,
    ) -> fmt::Result {
        let rows = rows.into_iter().map(|(values, value)| (values, ConstGauge::new(value)));
        self.family(series, rows)
    }

    /// A counter for each set of values of its labels.
    pub fn counters<V: AsRef<str>, const N: usize>(
        &mut self,
        series: &Series,
        rows: impl IntoIterator<Item = ([V; N], u64)>,
    ) -> fmt::Result {
        let rows = rows.into_iter().map(|(values, value)| (values, ConstCounter::new(value)));
        self.family(series, rows)
    }

    /// A histogram for each set of values of its labels.
    pub fn histograms<V: AsRef<str>, const N: usize>(
        &mut self,
        series: &Series,
        rows: impl IntoIterator<Item = ([V; N], Histogram)>,
    ) -> fmt::Result {
        self.family(series, rows)
    }

    fn family<V: AsRef<str>, const N: usize, M: EncodeMetric>(
        &mut self,
        series: &Series,
        rows: impl IntoIterator<Item = ([V; N], M)>,
    ) -> fmt::Result {
        debug_assert_eq!(series.labels.len(), N, "{}", series.family);
        let of = match series.of {
            SeriesType::Counter => MetricType::Counter,
            SeriesType::Gauge => MetricType::Gauge,
            SeriesType::Histogram => MetricType::Histogram,
        };
        let mut family = self.0.encode_descriptor(series.family, series.help, None, of)?;
        let mut rows = rows.into_iter();
        if N == 0 {
            return rows.next().map_or(Ok(()), |(_, metric)| metric.encode(family));
        }
        for (values, metric) in rows {
            encode(&mut family, series, &values, &metric)?;
        }
        Ok(())
    }
}

fn encode<V: AsRef<str>>(
    family: &mut MetricEncoder<'_>,
    series: &Series,
    values: &[V],
    metric: &impl EncodeMetric,
) -> fmt::Result {
    let labels: Vec<(&str, &str)> =
        series.labels.iter().copied().zip(values.iter().map(AsRef::as_ref)).collect();
    metric.encode(family.encode_family(&labels)?)
}
