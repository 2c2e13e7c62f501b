//! The table of waits: code, condition, who must act, what ends it.

use capm3_api::{
    conditions::Severity,
    vocabulary::{condition, reason},
};

use super::{Actor, Code, Message, Refusal, Text, Wait};
use crate::{
    host::Blocker,
    provider_id::{NodeConflict, NodeWait},
    remediation::RemediationWait,
};

/// What is known of a wait, whatever its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// The stable code.
    pub code: Code,
    /// Where the object shows it; none where the object has no condition for it.
    pub shown: Option<Shown>,
    /// Who must act.
    pub actor: Actor,
    /// Kinds whose changes bring the object back into the queue.
    pub woken_by: &'static [&'static str],
}

/// The conditions that show a wait, in both generations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shown {
    /// Type of the condition.
    pub condition: &'static str,
    /// Its reason.
    pub reason: &'static str,
    /// Type of the older condition, its reason and severity; none where the object has no older conditions.
    pub legacy: Option<(&'static str, &'static str, Severity)>,
}

impl Facts {
    /// Of a refused write.
    pub fn of_refusal() -> Self {
        let none = || Text::new("");
        Wait::Refused(Refusal { write: none(), is_of_host: false, cause: none() }).facts()
    }

    /// Of a wait of a machine being deleted that only its condition reports, by the reason of the condition: what the API
    /// server answered when it was asked.
    pub fn of_deletion(reason: &str) -> Option<Self> {
        match reason {
            reason::DELETION_FAILED => Some(Wait::not_asked("").facts()),
            reason::DEFINITION_DELETING => Some(Wait::DefinitionDeleting.facts()),
            _ => None,
        }
    }

    /// Of a wait for a Node that only its condition reports, by the reason of the condition.
    pub fn of_node(reason: &str) -> Option<Self> {
        let waits = [
            Wait::Node(NodeWait::Label(String::new())),
            Wait::Node(NodeWait::NoHostname),
            Wait::WorkloadCluster { cluster: String::new(), cause: Text::new("") },
            Wait::NodeConflict(NodeConflict::SeveralWithLabel(Vec::new())),
        ];
        let mut facts = waits.iter().map(Wait::facts);
        facts.find(|facts| facts.shown.is_some_and(|shown| shown.reason == reason))
    }
}

impl Wait {
    /// The stable code.
    pub fn code(&self) -> Code {
        self.facts().code
    }

    /// The sentence as a condition shows it.
    pub fn message(&self) -> Message<'_> {
        Message(self)
    }

    /// The row of the table.
    pub fn facts(&self) -> Facts {
        let (code, shown, actor, woken_by) = self.row();
        Facts { code: Code::new(code), shown, actor, woken_by }
    }

    #[expect(clippy::too_many_lines, reason = "a table: one row for each wait")]
    fn row(&self) -> (&'static str, Option<Shown>, Actor, &'static [&'static str]) {
        use Actor::{BootstrapProvider, ClusterApi, ClusterAuthor, HostOperator, Nobody, PlatformEngineer};
        const HOST: &[&str] = &["BareMetalHost"];
        const DATA: &[&str] = &["Metal3DataClaim", "Metal3Data"];
        const NODE: &[&str] = &["Node"];
        match self {
            Self::Paused(_) => ("CAPM3-W001", None, PlatformEngineer, &["Cluster"]),
            Self::Refused(_) => ("CAPM3-W002", None, PlatformEngineer, &[]),
            Self::Unproven { .. } => ("CAPM3-W003", None, Nobody, &[]),

            Self::OwnerReference => (
                "CAPM3-W010",
                host(reason::WAITING_FOR_OWNER, reason::LEGACY_WAITING_FOR_OWNER, Severity::Info),
                ClusterApi,
                &["Metal3Machine"],
            ),
            Self::Machine(_) => (
                "CAPM3-W011",
                host(reason::WAITING_FOR_OWNER, reason::LEGACY_WAITING_FOR_OWNER, Severity::Info),
                ClusterApi,
                &["Machine"],
            ),
            Self::Cluster(_) => ("CAPM3-W012", infrastructure(), ClusterAuthor, &["Cluster"]),
            Self::Infrastructure(_) => {
                ("CAPM3-W013", infrastructure(), ClusterApi, &["Cluster", "Metal3Cluster"])
            }
            Self::Metal3Cluster(_) => {
                let reason = reason::WAITING_FOR_METAL3_CLUSTER;
                ("CAPM3-W014", host(reason, reason, Severity::Info), ClusterAuthor, &["Metal3Cluster"])
            }
            Self::Bootstrap(_) => (
                "CAPM3-W015",
                host(reason::WAITING_FOR_BOOTSTRAP, reason::LEGACY_WAITING_FOR_BOOTSTRAP, Severity::Info),
                BootstrapProvider,
                &["Machine"],
            ),

            Self::NoHost(_) => ("CAPM3-W020", no_host(Severity::Warning), PlatformEngineer, HOST),
            Self::ReservedHost(_) => ("CAPM3-W021", no_host(Severity::Warning), HostOperator, HOST),
            Self::HostSelector(_) => {
                ("CAPM3-W022", no_host(Severity::Error), ClusterAuthor, &["Metal3Machine"])
            }
            Self::HostRecord(_) => {
                ("CAPM3-W023", no_host(Severity::Error), PlatformEngineer, &["Metal3Machine"])
            }
            Self::UnrecordedHost { .. } => (
                "CAPM3-W024",
                no_host(Severity::Error),
                PlatformEngineer,
                &["Metal3Machine", "BareMetalHost"],
            ),
            Self::LostHost { .. } => ("CAPM3-W025", no_host(Severity::Error), PlatformEngineer, HOST),
            Self::HostConsumed { .. } => ("CAPM3-W026", no_host(Severity::Error), PlatformEngineer, HOST),
            Self::RecordedHost { .. } => ("CAPM3-W027", no_host(Severity::Error), PlatformEngineer, HOST),
            Self::HostMissing(_) => ("CAPM3-W028", provisioned(reason::HOST_MISSING), PlatformEngineer, HOST),
            Self::HostLeaving { is_deleted: true, .. } => {
                ("CAPM3-W029", provisioned(reason::HOST_DELETING), PlatformEngineer, HOST)
            }
            Self::HostLeaving { is_deleted: false, .. } => {
                ("CAPM3-W030", provisioned(reason::DEPROVISIONING), PlatformEngineer, HOST)
            }

            Self::Secrets(_) => ("CAPM3-W031", data(), ClusterAuthor, &["Secret"]),
            Self::SecretNamespace { .. } => {
                ("CAPM3-W032", meta_data(reason::META_DATA_FAILED), ClusterAuthor, &["Metal3Machine"])
            }
            Self::FormerClaim(_) => ("CAPM3-W033", meta_data(reason::META_DATA_FAILED), Nobody, DATA),
            Self::ClaimOfOtherUid { .. } => {
                ("CAPM3-W034", meta_data(reason::META_DATA_FAILED), PlatformEngineer, DATA)
            }
            Self::DeletedClaim(_) => ("CAPM3-W035", meta_data(reason::META_DATA_FAILED), Nobody, DATA),
            Self::DataTemplate { missing_in: Some(_), .. } => {
                ("CAPM3-W036", data(), ClusterAuthor, &["Metal3DataTemplate", "Metal3DataClaim"])
            }
            Self::DataTemplate { report: Some(_), .. } => ("CAPM3-W037", data(), ClusterAuthor, DATA),
            Self::DataTemplate { .. } => ("CAPM3-W037", data(), Nobody, DATA),
            Self::Data { .. } => ("CAPM3-W038", data(), Nobody, DATA),
            Self::Rendering { .. } => ("CAPM3-W039", data(), Nobody, DATA),

            Self::Provisioning { .. } => {
                ("CAPM3-W040", provisioned(reason::HOST_PROVISIONING), HostOperator, HOST)
            }
            Self::HostBlocked { by, .. } => {
                let (code, reason) = match by {
                    Blocker::Error(_) => ("CAPM3-W041", reason::HOST_ERROR),
                    Blocker::Paused => ("CAPM3-W042", reason::HOST_PAUSED),
                    Blocker::Detached => ("CAPM3-W043", reason::HOST_DETACHED),
                    Blocker::ExternallyProvisioned => ("CAPM3-W044", reason::HOST_EXTERNALLY_PROVISIONED),
                };
                (code, provisioned(reason), PlatformEngineer, HOST)
            }
            Self::HostField(_) => ("CAPM3-W045", meta_data(reason::CREATE_ERROR), PlatformEngineer, &[]),
            Self::HostSpec(_) => {
                ("CAPM3-W046", meta_data(reason::CREATE_ERROR), ClusterAuthor, &["Metal3Machine"])
            }

            Self::Nodes(_) => ("CAPM3-W050", meta_data(reason::WAITING_FOR_NODE), Nobody, NODE),
            Self::WorkloadCluster { .. } => (
                Code::WORKLOAD_CLUSTER.as_str(),
                meta_data(reason::WORKLOAD_CLUSTER_UNREACHABLE),
                PlatformEngineer,
                &["Node", "Secret"],
            ),
            Self::Node(NodeWait::OneOfSeveral(_) | NodeWait::OneIdOfHost(_) | NodeWait::NoHostname) => {
                (Code::AMBIGUOUS_NODE.as_str(), meta_data(reason::AMBIGUOUS_NODE), PlatformEngineer, NODE)
            }
            Self::Node(_) => ("CAPM3-W052", meta_data(reason::WAITING_FOR_NODE), Nobody, NODE),
            Self::NodeConflict(_) => {
                (Code::NODE_CONFLICT.as_str(), meta_data(reason::CREATE_ERROR), PlatformEngineer, NODE)
            }

            Self::Deprovisioning(_) => {
                ("CAPM3-W060", deleting(reason::DEPROVISIONING, Severity::Info), HostOperator, HOST)
            }
            Self::DefinitionDeleting => (
                "CAPM3-W061",
                deleting(reason::DEFINITION_DELETING, Severity::Warning),
                PlatformEngineer,
                &[],
            ),

            Self::DataCluster => {
                ("CAPM3-W070", ready(reason::WAITING_FOR_CLUSTER), ClusterAuthor, &["Cluster"])
            }
            Self::TemplateOfData(_) => {
                ("CAPM3-W071", ready(reason::WAITING_FOR_TEMPLATE), ClusterAuthor, &["Metal3DataTemplate"])
            }
            Self::ClaimOfData => {
                ("CAPM3-W072", ready(reason::WAITING_FOR_CLAIM), Nobody, &["Metal3DataClaim"])
            }
            Self::MachineOfData => {
                ("CAPM3-W073", ready(reason::WAITING_FOR_MACHINE), Nobody, &["Metal3Machine"])
            }
            Self::OwnerOfData => ("CAPM3-W074", ready(reason::WAITING_FOR_MACHINE), ClusterApi, &["Machine"]),
            Self::HostOfData => ("CAPM3-W075", ready(reason::WAITING_FOR_HOST), Nobody, HOST),
            Self::Addresses(_) => (
                "CAPM3-W076",
                ready(reason::WAITING_FOR_IP_ADDRESS),
                Nobody,
                &["IPClaim", "IPAddress", "IPPool", "IPAddressClaim"],
            ),
            Self::ClaimKindNotServed { claim, .. } => {
                ("CAPM3-W081", ready(claim.reason_not_served()), PlatformEngineer, &[])
            }
            Self::OldSecret(_) => ("CAPM3-W077", ready(reason::WAITING_FOR_SECRET), Nobody, &["Secret"]),
            Self::AbandonedData => ("CAPM3-W078", None, Nobody, DATA),
            Self::ClaimOfDeletedData(_) => ("CAPM3-W079", ready(reason::DELETING), Nobody, DATA),
            Self::AddressesOfDeletedData(_) => {
                ("CAPM3-W080", ready(reason::DELETING), Nobody, &["IPClaim", "IPPool"])
            }
            Self::DataError(error) => (
                error.code().as_str(),
                ready(error.reason()),
                ClusterAuthor,
                &["Metal3DataTemplate", "Metal3Machine", "BareMetalHost", "IPClaim", "IPPool", "Secret"],
            ),

            Self::OwnerClusterReference => ("CAPM3-W090", None, ClusterApi, &["Metal3Cluster"]),
            Self::OwnerCluster(_) => (
                "CAPM3-W091",
                cluster(reason::OWNER_CLUSTER_NOT_FOUND, reason::LEGACY_INTERNAL_FAILURE),
                ClusterAuthor,
                &["Cluster"],
            ),
            Self::Endpoint(_) => {
                let reason = reason::INVALID_CONFIGURATION;
                ("CAPM3-W092", cluster(reason, reason), ClusterAuthor, &["Metal3Cluster"])
            }
            Self::LabelSync(_) => {
                let (condition, reason) = (condition::LABEL_SYNC_ACTIVE, reason::LABEL_SYNC_INVALID);
                let shown = Shown { condition, reason, legacy: None };
                ("CAPM3-W094", Some(shown), ClusterAuthor, &["Metal3Cluster"])
            }
            Self::NodeToLabel { .. } => ("CAPM3-W095", None, Nobody, &["Machine", "Node"]),
            Self::Remediation(wait) => remediation(wait),
            Self::MachinesOfCluster(_) => {
                let shown =
                    Shown { legacy: Some((condition::READY, reason::DELETING, Severity::Info)), ..READY };
                ("CAPM3-W093", Some(Shown { reason: reason::DELETING, ..shown }), ClusterApi, &["Machine"])
            }
            Self::ClusterOfPool(_) => ("CAPM3-W100", None, ClusterAuthor, &["Cluster"]),
            Self::AddressesOfPool => ("CAPM3-W101", None, Nobody, &["IPAddress", "IPClaim"]),
            Self::ClaimsOfTemplate => ("CAPM3-W110", None, Nobody, DATA),
        }
    }
}

/// The step of a remediation. What only its Machine's controllers can end is theirs.
fn remediation(wait: &RemediationWait) -> (&'static str, Option<Shown>, Actor, &'static [&'static str]) {
    use Actor::{ClusterApi, ClusterAuthor, HostOperator, Nobody, PlatformEngineer};
    const HOST: &[&str] = &["BareMetalHost"];
    const NODE: &[&str] = &["Node"];
    let (code, reason, actor, woken_by): (_, _, _, &[&str]) = match wait {
        RemediationWait::Machine(_) => {
            ("CAPM3-W120", reason::WAITING_FOR_OBJECTS, ClusterApi, &["Metal3Remediation", "Machine"])
        }
        RemediationWait::Metal3Machine { .. } => {
            ("CAPM3-W121", reason::WAITING_FOR_OBJECTS, ClusterApi, &["Machine", "Metal3Machine"])
        }
        RemediationWait::Host { .. } => {
            ("CAPM3-W122", reason::WAITING_FOR_OBJECTS, PlatformEngineer, &["Metal3Machine", "BareMetalHost"])
        }
        RemediationWait::Strategy(_) => {
            ("CAPM3-W123", reason::UNSUPPORTED_STRATEGY, ClusterAuthor, &["Metal3Remediation"])
        }
        RemediationWait::HostOffline(_) => ("CAPM3-W124", reason::HOST_OFFLINE, PlatformEngineer, HOST),
        RemediationWait::PowerOff { .. } => ("CAPM3-W125", reason::WAITING_FOR_POWER_OFF, HostOperator, HOST),
        RemediationWait::Drain(_) => {
            ("CAPM3-W126", reason::WAITING_FOR_DRAIN, Nobody, &["Pod", "VolumeAttachment"])
        }
        RemediationWait::NodeDeletion(_) => ("CAPM3-W127", reason::WAITING_FOR_DRAIN, Nobody, NODE),
        RemediationWait::PowerOn(_) => ("CAPM3-W128", reason::WAITING_FOR_POWER_ON, HostOperator, HOST),
        RemediationWait::NodeReturn(_) => ("CAPM3-W129", reason::WAITING_FOR_NODE, Nobody, NODE),
        RemediationWait::Health { .. } => {
            ("CAPM3-W130", reason::POWER_CYCLED, ClusterApi, &["Metal3Remediation"])
        }
    };
    (code, Some(Shown { condition: condition::REMEDIATED, reason, legacy: None }), actor, woken_by)
}

const READY: Shown = Shown { condition: condition::READY, reason: reason::NOT_READY, legacy: None };

/// The condition about the host of a machine.
const fn host(reason: &'static str, legacy: &'static str, severity: Severity) -> Option<Shown> {
    let legacy = Some((condition::LEGACY_ASSOCIATE_BMH, legacy, severity));
    Some(Shown { condition: condition::ASSOCIATE_HOST, reason, legacy })
}

const fn infrastructure() -> Option<Shown> {
    let (reason, legacy) = (reason::WAITING_FOR_INFRASTRUCTURE, reason::LEGACY_WAITING_FOR_INFRASTRUCTURE);
    host(reason, legacy, Severity::Info)
}

/// No host could be taken: that others have them all is no error, what somebody must correct is one.
const fn no_host(severity: Severity) -> Option<Shown> {
    host(reason::ASSOCIATE_HOST_FAILED, reason::LEGACY_ASSOCIATE_BMH_FAILED, severity)
}

/// The condition about claim and Node of a machine.
fn meta_data(reason: &'static str) -> Option<Shown> {
    let legacy_reason = match reason {
        reason::META_DATA_FAILED => reason::LEGACY_META_DATA_FAILED,
        other => other,
    };
    let severity = if reason == reason::WAITING_FOR_NODE { Severity::Info } else { Severity::Warning };
    let legacy = Some((condition::LEGACY_NODE_READY, legacy_reason, severity));
    Some(Shown { condition: condition::ASSOCIATE_META_DATA, reason, legacy })
}

/// The condition about the data of a machine.
const fn data() -> Option<Shown> {
    let reason = reason::WAITING_FOR_DATA;
    let legacy = Some((condition::DATA_READY, reason, Severity::Info));
    Some(Shown { condition: condition::DATA_READY, reason, legacy })
}

/// The condition about the image. The older conditions have none: they tell it of the Node.
fn provisioned(reason: &'static str) -> Option<Shown> {
    let severity = if reason == reason::HOST_PROVISIONING { Severity::Info } else { Severity::Warning };
    let legacy = Some((condition::LEGACY_NODE_READY, reason, severity));
    Some(Shown { condition: condition::HOST_PROVISIONED, reason, legacy })
}

const fn deleting(reason: &'static str, severity: Severity) -> Option<Shown> {
    let legacy = Some((condition::LEGACY_NODE_READY, reason, severity));
    Some(Shown { condition: condition::HOST_PROVISIONED, reason, legacy })
}

/// The summary of a Metal3Data.
const fn ready(reason: &'static str) -> Option<Shown> {
    Some(Shown { reason, ..READY })
}

const fn cluster(reason: &'static str, legacy: &'static str) -> Option<Shown> {
    let legacy = Some((condition::INFRASTRUCTURE_READY, legacy, Severity::Error));
    Some(Shown { condition: condition::INFRASTRUCTURE_READY, reason, legacy })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{
        address::ClaimKind,
        label_sync::SettingsError,
        wait::{DataError, Pause},
    };

    fn text() -> Text {
        Text::new("what somebody reports")
    }

    /// One of each; a new variant is added here, since `Wait::row` must name it anyway.
    fn waits() -> Vec<Wait> {
        let name = || "x".to_owned();
        vec![
            Wait::Paused(Pause { by_cluster: true, by_annotation_of: None }),
            Wait::Refused(Refusal { write: text(), is_of_host: true, cause: text() }),
            Wait::not_asked("x"),
            Wait::OwnerReference,
            Wait::Machine(name()),
            Wait::Cluster(name()),
            Wait::Infrastructure(name()),
            Wait::Metal3Cluster(name()),
            Wait::Bootstrap(name()),
            Wait::UnrecordedHost { namespace: name(), host: name() },
            Wait::LostHost { claim: name() },
            Wait::HostMissing(None),
            Wait::HostLeaving { host: name(), is_deleted: true, problem: None },
            Wait::HostLeaving { host: name(), is_deleted: false, problem: None },
            Wait::Secrets(vec![("metaData", name())]),
            Wait::FormerClaim(name()),
            Wait::DeletedClaim(name()),
            Wait::DataTemplate { template: name(), missing_in: Some(name()), report: None },
            Wait::DataTemplate { template: name(), missing_in: None, report: Some(text()) },
            Wait::Data { data: name(), template: name() },
            Wait::Rendering { data: name(), report: None },
            Wait::Provisioning { host: name(), state: name() },
            Wait::HostBlocked { host: name(), state: name(), by: Blocker::Paused },
            Wait::HostBlocked { host: name(), state: name(), by: Blocker::Detached },
            Wait::HostField("metaData"),
            Wait::HostSpec(text()),
            Wait::Nodes(name()),
            Wait::WorkloadCluster { cluster: name(), cause: text() },
            Wait::Node(NodeWait::Label(name())),
            Wait::Node(NodeWait::NoHostname),
            Wait::NodeConflict(NodeConflict::SeveralWithLabel(Vec::new())),
            Wait::DefinitionDeleting,
            Wait::DataCluster,
            Wait::TemplateOfData(name()),
            Wait::ClaimOfData,
            Wait::MachineOfData,
            Wait::OwnerOfData,
            Wait::HostOfData,
            Wait::ClaimKindNotServed { claim: ClaimKind::IpClaim, kind: name(), pool: name() },
            Wait::OldSecret(name()),
            Wait::AbandonedData,
            DataError::ForeignSecret(name()).into(),
            Wait::OwnerClusterReference,
            Wait::OwnerCluster(name()),
            Wait::Endpoint(vec!["x"]),
            Wait::MachinesOfCluster(2),
            Wait::LabelSync(SettingsError::Default(name())),
            Wait::NodeToLabel { machine: name(), node: None },
            Wait::ClusterOfPool(name()),
            Wait::AddressesOfPool,
            Wait::ClaimsOfTemplate,
        ]
    }

    #[test]
    fn each_wait_has_a_code_of_its_own_and_a_sentence_of_its_own() {
        let mut seen: BTreeMap<Code, String> = BTreeMap::new();
        for wait in waits() {
            let sentence = wait.to_string();
            assert!(sentence.len() > 10, "{wait:?}");
            assert_eq!(format!("{wait:#}"), format!("{} {sentence}", wait.code()));
            if let Some(other) = seen.insert(wait.code(), sentence) {
                panic!("{} stands for {wait:?} and for {other}", wait.code());
            }
        }
    }

    #[test]
    fn a_condition_does_not_report_what_changes_with_each_step_of_others() {
        let provisioning = |state: &str| Wait::Provisioning { host: "h".into(), state: state.into() };
        assert_ne!(provisioning("preparing").to_string(), provisioning("provisioning").to_string());
        let message = |wait: &Wait| wait.message().to_string();
        assert_eq!(message(&provisioning("preparing")), message(&provisioning("provisioning")));
        assert_eq!(message(&Wait::MachinesOfCluster(1)), message(&Wait::MachinesOfCluster(2)));
        let reserved = |state: &str| Wait::ReservedHost(vec![("h".into(), state.into())]);
        assert_eq!(message(&reserved("a")), message(&reserved("b")));
    }

    #[test]
    fn a_deletion_that_the_server_holds_up_is_found_by_the_reason_of_its_condition() {
        let code = |reason: &str| Facts::of_deletion(reason).map(|facts| facts.code);
        assert_eq!(code(reason::DELETION_FAILED), Some(Wait::not_asked("x").code()));
        assert_eq!(code(reason::DEFINITION_DELETING), Some(Wait::DefinitionDeleting.code()));
        assert_eq!(code(reason::DEPROVISIONING), None);
    }

    #[test]
    fn a_wait_for_a_node_is_found_by_the_reason_of_its_condition() {
        let code = |reason: &str| Facts::of_node(reason).map(|facts| facts.code);
        assert_eq!(code(reason::WORKLOAD_CLUSTER_UNREACHABLE), Some(Code::WORKLOAD_CLUSTER));
        assert_eq!(code(reason::AMBIGUOUS_NODE), Some(Code::AMBIGUOUS_NODE));
        assert_eq!(code(reason::CREATE_ERROR), Some(Code::NODE_CONFLICT));
        assert_eq!(code(reason::WAITING_FOR_DATA), None);
    }
}
