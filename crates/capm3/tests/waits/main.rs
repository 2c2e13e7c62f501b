//! `capm3 explain -f` shows what the controllers wait for: one row a wait, each brought about, dumped and explained.
//!
//! A row has its wait as a pattern. The patterns are one `match` without a wildcard, so a new wait does not compile until it
//! has a row; and every row is played. The wait is that of the controllers' own plans, kept by the provider of a lab; where
//! the Cluster API of a lab mends the state or its admission refuses it, the planner carries out the same decisions on
//! objects in memory.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may panic")]

mod cluster;
#[path = "../common/mod.rs"]
#[allow(dead_code, reason = "only a part is used")]
mod common;
mod data;
mod hosts;
mod machine;
mod nodes;
mod scene;
mod site;

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
};

use capm3_domain::{
    host::Blocker,
    wait::{Facts, Wait},
};
use scene::Scene;

/// Brings a wait about.
type Case = fn() -> Pin<Box<dyn Future<Output = Scene>>>;

/// What `explain` shows of a wait.
enum Row {
    /// Its code.
    Shown(Case),
    /// A code of the same condition reason: the Nodes are not read.
    ByReason(Case),
    /// The code of what the machine waits for itself, for this reason.
    OfMachine(Case, &'static str),
    /// Nothing, for this reason.
    Never(&'static str),
}

use Row::{ByReason, Never, OfMachine, Shown};

macro_rules! rows {
    ($($wait:pat => $row:ident($($case:expr),+),)+) => {
        /// The row of a wait.
        fn row_of(wait: &Wait) -> &'static str {
            match wait {
                $($wait => stringify!($wait),)+
            }
        }

        /// Every row.
        fn rows() -> Vec<(&'static str, Row)> {
            vec![$((stringify!($wait), $row($($case),+)),)+]
        }
    };
}

macro_rules! case {
    ($($path:tt)+) => {
        || Box::pin($($path)+())
    };
}

rows! {
    Wait::Paused(_) => Shown(case!(machine::paused)),
    Wait::Refused(_) => Shown(case!(machine::refused)),
    Wait::Unproven { .. } => Shown(case!(machine::unproven)),
    Wait::OwnerReference => Shown(case!(machine::without_owner)),
    Wait::Machine(_) => Shown(case!(machine::whose_owner_is_gone)),
    Wait::Cluster(_) => Shown(case!(cluster::missing)),
    Wait::Infrastructure(_) => Shown(case!(cluster::managed_by_another)),
    Wait::Metal3Cluster(_) => Shown(case!(cluster::without_metal3_cluster)),
    Wait::Bootstrap(_) => Shown(case!(machine::without_bootstrap)),
    Wait::NoHost(_) => Shown(case!(hosts::none)),
    Wait::ReservedHost(_) => Shown(case!(hosts::reserved)),
    Wait::HostSelector(_) => Shown(case!(hosts::bad_selector)),
    Wait::HostRecord(_) => Shown(case!(hosts::bad_record)),
    Wait::UnrecordedHost { .. } => Shown(case!(hosts::unrecorded)),
    Wait::LostHost { .. } => Shown(case!(hosts::lost)),
    Wait::HostConsumed { .. } => Shown(case!(hosts::consumed)),
    Wait::RecordedHost { .. } => Shown(case!(hosts::recorded)),
    Wait::HostMissing(_) => Shown(case!(hosts::missing)),
    Wait::HostLeaving { is_deleted: true, .. } => Shown(case!(hosts::deleted)),
    Wait::HostLeaving { is_deleted: false, .. } => Shown(case!(hosts::deprovisioned_by_others)),
    Wait::Secrets(_) => Shown(case!(data::without_own_secret)),
    Wait::SecretNamespace { .. } => Shown(case!(data::with_secret_elsewhere)),
    Wait::FormerClaim(_) => Never("only a provider that saw the end of the earlier machine tells it from ClaimOfOtherUid"),
    Wait::ClaimOfOtherUid { .. } => Shown(case!(data::claimed_under_another_uid)),
    Wait::DeletedClaim(_) => Shown(case!(data::whose_claim_is_deleted)),
    Wait::DataTemplate { missing_in: Some(_), .. } => Shown(case!(data::without_template)),
    Wait::DataTemplate { missing_in: None, .. } => Shown(case!(data::not_served)),
    Wait::Data { .. } => Shown(case!(data::missing)),
    Wait::Rendering { .. } => Shown(case!(data::being_rendered)),
    Wait::Provisioning { .. } => Shown(case!(hosts::provisioning)),
    Wait::HostBlocked { by: Blocker::Error(_), .. } => Shown(case!(hosts::in_error)),
    Wait::HostBlocked { by: Blocker::Paused, .. } => Shown(case!(hosts::paused)),
    Wait::HostBlocked { by: Blocker::Detached, .. } => Shown(case!(hosts::detached)),
    Wait::HostBlocked { by: Blocker::ExternallyProvisioned, .. } => Shown(case!(hosts::externally_provisioned)),
    Wait::HostField(_) => Shown(case!(hosts::without_field)),
    Wait::HostSpec(_) => Shown(case!(hosts::bad_spec)),
    Wait::Nodes(_) => ByReason(case!(nodes::not_listed)),
    Wait::WorkloadCluster { .. } => ByReason(case!(nodes::unreachable)),
    Wait::Node(_) => ByReason(case!(nodes::not_there)),
    Wait::NodeConflict(_) => ByReason(case!(nodes::ambiguous)),
    Wait::Deprovisioning(_) => Shown(case!(hosts::deprovisioning)),
    Wait::DefinitionDeleting => Shown(case!(machine::whose_definition_is_deleted)),
    Wait::DataCluster => Shown(case!(data::of_another_cluster)),
    Wait::TemplateOfData(_) => Shown(case!(data::whose_template_is_gone)),
    Wait::ClaimOfData => Shown(case!(data::whose_claim_is_gone)),
    Wait::MachineOfData => Shown(case!(data::whose_machine_is_gone)),
    Wait::OwnerOfData => OfMachine(case!(data::whose_owner_is_gone), "the machine waits for the same Machine"),
    Wait::HostOfData => OfMachine(case!(data::whose_host_is_gone), "the machine waits for the same host"),
    Wait::Addresses(_) => Shown(case!(data::without_pool)),
    Wait::ClaimKindNotServed { .. } => Shown(case!(data::whose_claim_kind_is_not_served)),
    Wait::OldSecret(_) => Shown(case!(data::whose_old_secret_goes)),
    Wait::AbandonedData => Shown(case!(data::abandoned)),
    Wait::ClaimOfDeletedData(_) => Shown(case!(data::deleted_under_its_claim)),
    Wait::AddressesOfDeletedData(_) => Shown(case!(data::deleted_before_its_addresses)),
    Wait::DataError(_) => Shown(case!(data::of_a_full_pool)),
    Wait::OwnerClusterReference => Shown(case!(cluster::without_owner_reference)),
    Wait::OwnerCluster(_) => Shown(case!(cluster::whose_owner_is_gone)),
    Wait::Endpoint(_) => Shown(case!(cluster::without_endpoint)),
    Wait::MachinesOfCluster(_) => Shown(case!(cluster::deleted_under_its_machines)),
    Wait::LabelSync(_) => Never("labels of Nodes are written beside the machines, which do not wait for them"),
    Wait::NodeToLabel { .. } => Never("labels of Nodes are written beside the machines, which do not wait for them"),
    Wait::Remediation(_) => Never("explain shows a remediation beside the steps of its machine, which does not wait for it"),
    Wait::ClusterOfPool(_) => Shown(case!(data::whose_pool_has_no_cluster)),
    Wait::AddressesOfPool => Never("a pool on its way out refuses new claims, which is shown as the error of the data"),
    Wait::ClaimsOfTemplate => Never("a template on its way out serves claims as before, so no machine waits for it"),
}

#[test]
fn explain_shows_what_the_controllers_wait_for() {
    let mut wrong = Vec::new();
    let rows = rows();
    assert!(rows.len() > 50, "there are rows");
    for (row, shown) in &rows {
        if let OfMachine(_, why) | Never(why) = shown {
            println!("{row}: {why}");
        }
        // A row that panics has printed why.
        let played = catch_unwind(AssertUnwindSafe(|| play(row, shown)));
        if let Err(why) = played.unwrap_or_else(|_| Err("panics".to_owned())) {
            wrong.push(format!("{row}: {why}\n"));
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows are wrong:\n{}", wrong.len(), rows.len(), wrong.concat());
}

/// A machine waits for its template or its pool, and is shown that these are paused.
#[test]
fn a_pause_of_what_a_machine_waits_for_is_shown() {
    let cases: [Case; 2] = [case!(data::whose_template_is_paused), case!(data::whose_pool_is_paused)];
    for case in cases {
        play("Wait::Paused(_)", &Shown(case)).unwrap();
    }
}

fn play(row: &str, shown: &Row) -> Result<(), String> {
    let case = match shown {
        Shown(case) | ByReason(case) | OfMachine(case, _) => case,
        Never(_) => return Ok(()),
    };
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let mut scene = case().await;
        let wait = scene.until(|wait| row_of(wait) == row).await?;
        let own = scene.wait_of_machine();
        let explained = scene.explain();
        let expected = match shown {
            ByReason(_) => {
                let reason = wait.facts().shown.map(|shown| shown.reason).unwrap_or_default();
                Facts::of_node(reason).map_or(wait.code(), |facts| facts.code)
            }
            OfMachine(..) => own.ok_or("the machine does not wait")?.code(),
            Shown(_) | Never(_) => wait.code(),
        };
        match explained["code"] == expected.as_str() {
            true => Ok(()),
            false => Err(format!("the controller waits for {wait:#}, explain shows {explained:#}")),
        }
    })
}
