//! Who paused a host, as far as the value of the annotation shows it, and how the pause ends.

use capm3_api::{
    metadata::MetadataExt,
    neighbours::BareMetalHost,
    vocabulary::{annotation, label},
};
use capm3_domain::pause::{end_own_pause, unpause};

use super::{Actor, advice::Advice, machine_summary::Known};

/// Who paused it, to be put behind the name of the annotation; empty where the value does not show it.
pub(super) fn by(host: &BareMetalHost) -> String {
    match host.metadata.annotation(annotation::HOST_PAUSED) {
        Some(annotation::HOST_PAUSED_BY_US) => {
            format!(", set by this provider (its value is {})", annotation::HOST_PAUSED_BY_US)
        }
        Some(value) if !value.is_empty() => format!(", whose value is {value:?}"),
        _ => String::new(),
    }
}

/// That it is paused, and by whom.
pub(super) fn sentence(host: &BareMetalHost) -> String {
    let (name, key) = (host.metadata.name_str(), annotation::HOST_PAUSED);
    format!("host {name} is paused by annotation {key}{}", by(host))
}

/// How the pause of a machine's own host ends, and by whom.
pub(super) fn way_out(known: &Known<'_>, host: &BareMetalHost) -> (Actor, Advice) {
    let (name, key) = (host.metadata.name_str(), annotation::HOST_PAUSED);
    let text = match host.metadata.annotation(key).unwrap_or_default() {
        annotation::HOST_PAUSED_BY_US if ends_by_itself(known, host) => {
            let text = format!(
                "nothing: this provider paused host {name} together with its Cluster, and removes annotation {key} \
                 now; if it \
                 lasts, check whether the provider runs"
            );
            return (Actor::Nobody, Advice::text(text));
        }
        annotation::HOST_PAUSED_BY_US => format!(
            "unpause host {name}: this provider paused it together with a Cluster, but label {} does not name the \
             Cluster of this machine, so the provider does not unpause the host",
            label::CLUSTER_NAME
        ),
        "" => format!(
            "unpause host {name}, so that the Baremetal Operator works on it; annotation {key} has no \
             value, so who paused it is unknown; it was not this provider"
        ),
        value => format!(
            "unpause host {name}, so that the Baremetal Operator works on it, if whoever paused it agrees: annotation \
             {key} has \
             the value {value:?}"
        ),
    };
    let command = known.kubectl("annotate", &format!("baremetalhost {name} {key}-"));
    (Actor::PlatformEngineer, Advice::run(text, command))
}

/// Whether the controllers end the pause in their next pass.
fn ends_by_itself(known: &Known<'_>, host: &BareMetalHost) -> bool {
    let cluster = known.snapshot().cluster.as_ref().map(|cluster| cluster.metadata.name_str());
    let ends = match known.machine().metadata.is_deleting() {
        true => end_own_pause(host),
        false => unpause(host, cluster.unwrap_or_default()),
    };
    ends.is_some()
}
