//! Which objects the controllers take care of, and how many at once.

use std::{collections::BTreeMap, num::NonZeroUsize, time::Duration};

use capm3_provider::WatchFilter;
use clap::Args;

use super::flags::{self, WithoutEffect};
use crate::numbers;

/// Flags of the controllers, as the Go manager names them.
#[derive(Debug, Args)]
#[command(next_help_heading = "Controllers")]
pub struct ControllerArgs {
    /// The only namespace whose objects are read and written; empty: all namespaces
    #[arg(long, default_value = "", value_name = "NAMESPACE", hide_default_value = true)]
    namespace: String,

    /// Reconcile only objects whose label cluster.x-k8s.io/watch-filter has this value; if empty, all objects
    ///
    /// It holds for Metal3Clusters, Metal3Machines, Metal3DataTemplates and Metal3Data. Hosts are shared by all managers;
    /// the labels of their Nodes follow the Metal3Cluster, a Metal3Remediation follows its Metal3Machine.
    #[arg(long, default_value = "", value_name = "VALUE", hide_default_value = true)]
    watch_filter: String,

    /// Workers of each controller; a flag for one controller overrides it
    #[arg(long, default_value = "10", value_name = "N", value_parser = numbers::positive::<NonZeroUsize>)]
    workers: NonZeroUsize,

    /// Workers for Metal3Machines
    #[arg(long, value_name = "N", value_parser = numbers::positive::<NonZeroUsize>)]
    metal3machine_concurrency: Option<NonZeroUsize>,

    /// Workers for Metal3Clusters
    #[arg(long, value_name = "N", value_parser = numbers::positive::<NonZeroUsize>)]
    metal3cluster_concurrency: Option<NonZeroUsize>,

    /// Workers for Metal3DataTemplates
    #[arg(long, value_name = "N", value_parser = numbers::positive::<NonZeroUsize>)]
    metal3datatemplate_concurrency: Option<NonZeroUsize>,

    /// Workers for Metal3Data
    #[arg(long, value_name = "N", value_parser = numbers::positive::<NonZeroUsize>)]
    metal3data_concurrency: Option<NonZeroUsize>,

    /// Workers for Metal3MachineTemplates
    #[arg(long, value_name = "N", value_parser = numbers::positive::<NonZeroUsize>)]
    metal3machinetemplate_concurrency: Option<NonZeroUsize>,

    /// Workers for labels that Nodes get from their hosts
    #[arg(long, value_name = "N", value_parser = numbers::positive::<NonZeroUsize>)]
    metal3labelsync_concurrency: Option<NonZeroUsize>,

    /// Workers for Metal3Remediations
    #[arg(long, value_name = "N", value_parser = numbers::positive::<NonZeroUsize>)]
    metal3remediation_concurrency: Option<NonZeroUsize>,

    /// Accepted, without effect: controllers react to watch events, and retry on their own where no event can come
    #[arg(long, value_name = "DURATION", value_parser = flags::duration)]
    sync_period: Option<Duration>,
}

impl ControllerArgs {
    /// The only namespace; empty for all.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Which objects are taken care of.
    pub fn watch_filter(&self) -> WatchFilter {
        WatchFilter::new(&self.watch_filter)
    }

    /// Workers of each controller without its own number.
    pub fn workers(&self) -> usize {
        self.workers.get()
    }

    /// Workers of single controllers, by name.
    pub fn workers_of(&self) -> BTreeMap<&'static str, usize> {
        let all = [
            ("metal3machine", self.metal3machine_concurrency),
            ("metal3cluster", self.metal3cluster_concurrency),
            ("metal3datatemplate", self.metal3datatemplate_concurrency),
            ("metal3data", self.metal3data_concurrency),
            ("metal3labelsync", self.metal3labelsync_concurrency),
            ("metal3remediation", self.metal3remediation_concurrency),
            ("metal3machinetemplate", self.metal3machinetemplate_concurrency),
            ("metal3machinetemplate-capacity", self.metal3machinetemplate_concurrency),
        ];
        all.into_iter().filter_map(|(name, workers)| Some((name, workers?.get()))).collect()
    }

    /// Flags that were set and do nothing.
    pub fn without_effect(&self) -> Vec<WithoutEffect> {
        flags::without_effect([(self.sync_period.is_some(), "--sync-period", "controllers react to changes")])
    }
}
