//! What would get a machine a host: one sentence for each kind of reason, the quickest way first.

use capm3_api::vocabulary::annotation;
use capm3_domain::host::{HostVerdict, Rejection};

use super::advice::{Actor, Advice};

/// How many hosts a sentence names.
const NAMED: usize = 3;

/// Who must act, and what would help. `comes_back` tells what is done with a host that another machine gives back.
pub(super) fn for_want_of_hosts(
    verdicts: &[HostVerdict],
    namespace: &str,
    comes_back: impl Fn(&str) -> Option<String>,
) -> (Actor, Vec<Advice>) {
    if verdicts.is_empty() {
        let add = format!(
            "add BareMetalHosts to namespace {namespace}: machines take hosts of their own namespace only"
        );
        return (Actor::PlatformEngineer, vec![Advice::say(add)]);
    }
    let mut ways: Vec<(Way, Vec<&HostVerdict>)> = Vec::new();
    let returning: Vec<(&str, String)> =
        verdicts.iter().filter_map(|v| Some((v.host.as_str(), comes_back(&v.host)?))).collect();
    for verdict in verdicts.iter().filter(|v| !returning.iter().any(|(host, _)| *host == v.host)) {
        let way = Way::of(&verdict.rejection);
        match ways.iter_mut().find(|(known, _)| *known == way) {
            Some((_, hosts)) => hosts.push(verdict),
            None => ways.push((way, vec![verdict])),
        }
    }
    ways.sort_by_key(|(way, _)| *way);
    let actor = match ways.first() {
        _ if !returning.is_empty() => Actor::HostOperator,
        Some((Way::Wait, _)) => Actor::HostOperator,
        Some((Way::Relabel, _)) => Actor::ClusterAuthor,
        _ => Actor::PlatformEngineer,
    };
    let ways = ways.iter().map(|(way, hosts)| way.advice(hosts, namespace));
    (actor, wait_for(&returning).into_iter().chain(ways).collect())
}

/// Hosts on their way back.
fn wait_for(returning: &[(&str, String)]) -> Option<Advice> {
    let named: Vec<String> =
        returning.iter().take(NAMED).map(|(host, doing)| format!("{host} ({doing})")).collect();
    let more = match returning.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let (is, its) = if returning.len() == 1 { ("is", "its") } else { ("are", "their") };
    let text = format!("wait for {}{more}, which {is} on {its} way back", named.join(", "));
    (!returning.is_empty()).then(|| Advice::say(text))
}

/// What would make a host usable, the quickest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Wait,
    Unpause,
    Heal(&'static str),
    Repair,
    Attach,
    Manage,
    Relabel,
    Clear,
    Replace,
    Free,
}

impl Way {
    fn of(rejection: &Rejection) -> Self {
        match rejection {
            Rejection::NotAvailable(state) if state == "unmanaged" => Self::Manage,
            Rejection::NotAvailable(_) | Rejection::Servicing => Self::Wait,
            Rejection::Paused => Self::Unpause,
            Rejection::Unhealthy(key) => Self::Heal(key),
            Rejection::InError(_) => Self::Repair,
            Rejection::Detached => Self::Attach,
            Rejection::LabelMismatch { .. } => Self::Relabel,
            Rejection::ForeignImage => Self::Clear,
            Rejection::Deleting | Rejection::ExternallyProvisioned => Self::Replace,
            Rejection::ConsumedBy(_)
            | Rejection::ReservedForOther(_)
            | Rejection::OtherFailureDomain(_)
            | Rejection::NotReserved
            | Rejection::NotDrawn => Self::Free,
        }
    }

    fn advice(self, verdicts: &[&HostVerdict], namespace: &str) -> Advice {
        let (hosts, is) = (names(verdicts), if verdicts.len() == 1 { "is" } else { "are" });
        let named: Vec<&str> = verdicts.iter().take(NAMED).map(|verdict| verdict.host.as_str()).collect();
        let named = named.join(" ");
        let unset = |key: &str| format!("kubectl annotate baremetalhost {named} -n {namespace} {key}-");
        match self {
            Self::Wait => Advice::say(format!(
                "wait for {hosts}, which {is} being worked on: a host that becomes available is taken"
            )),
            Self::Unpause => Advice::run(format!("unpause {hosts}"), unset(annotation::HOST_PAUSED)),
            Self::Heal(key) => Advice::run(format!("if {hosts} {is} healthy again, say so"), unset(key)),
            Self::Repair => Advice::run(
                format!("repair {hosts}"),
                format!("kubectl describe baremetalhost {named} -n {namespace}"),
            ),
            Self::Attach => Advice::run(format!("attach {hosts} again"), unset(annotation::HOST_DETACHED)),
            Self::Manage => Advice::say(format!("give {hosts} an address and credentials in spec.bmc")),
            Self::Relabel => Advice::say(format!(
                "label {hosts} as spec.hostSelector asks, or change it in the Metal3MachineTemplate"
            )),
            Self::Clear => Advice::say(format!(
                "take spec.image and spec.customDeploy off {hosts}, if nobody needs what is on the disk"
            )),
            Self::Replace => Advice::say(format!("add hosts in place of {hosts}")),
            Self::Free => Advice::say(format!("add hosts, or ask for fewer machines: {hosts} {is} in use")),
        }
    }
}

fn names(verdicts: &[&HostVerdict]) -> String {
    let named: Vec<&str> = verdicts.iter().take(NAMED).map(|verdict| verdict.host.as_str()).collect();
    match verdicts.len().saturating_sub(NAMED) {
        0 => listed(&named),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

fn listed(names: &[&str]) -> String {
    match names {
        [rest @ .., last] if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    use capm3_domain::host::Consumer;

    use super::*;

    fn verdict(host: &str, rejection: Rejection) -> HostVerdict {
        HostVerdict { host: host.to_owned(), rejection }
    }

    fn consumed(host: &str) -> HostVerdict {
        let consumer = Consumer { kind: "Metal3Machine".into(), namespace: "n".into(), name: "m".into() };
        verdict(host, Rejection::ConsumedBy(consumer))
    }

    #[test]
    fn the_quickest_way_comes_first_and_says_who_must_act() {
        let mismatch = || Rejection::LabelMismatch { requirement: "size=l".into(), found: None };
        let table = [
            (vec![], Actor::PlatformEngineer, vec!["add BareMetalHosts to namespace n"]),
            (
                vec![consumed("a")],
                Actor::PlatformEngineer,
                vec!["add hosts, or ask for fewer machines: a is in use"],
            ),
            (
                vec![consumed("a"), verdict("b", Rejection::NotAvailable("inspecting".into()))],
                Actor::HostOperator,
                vec!["wait for b", "add hosts"],
            ),
            (
                vec![
                    verdict("b", Rejection::Unhealthy(annotation::UNHEALTHY)),
                    verdict("c", Rejection::Paused),
                ],
                Actor::PlatformEngineer,
                vec![
                    "unpause c kubectl annotate baremetalhost c -n n baremetalhost.metal3.io/paused-",
                    "if b is healthy again, say so kubectl annotate baremetalhost b -n n capm3.metal3.io/unhealthy-",
                ],
            ),
            (vec![verdict("d", mismatch())], Actor::ClusterAuthor, vec!["label d as spec.hostSelector asks"]),
        ];
        for (verdicts, who, parts) in table {
            let (actor, advice) = for_want_of_hosts(&verdicts, "n", |_| None);
            assert_eq!((actor, advice.len()), (who, parts.len()), "{advice:?}");
            for (sentence, part) in advice.iter().zip(parts) {
                let command =
                    sentence.command.as_ref().map(|command| format!(" {command}")).unwrap_or_default();
                let sentence = format!("{}{command}", sentence.text);
                assert!(sentence.starts_with(part), "{sentence}");
            }
        }
    }

    #[test]
    fn a_sentence_names_a_few_hosts_and_counts_the_others() {
        let many: Vec<HostVerdict> = ["a", "b", "c", "d", "e"].map(consumed).into();
        let said =
            |hosts: &[HostVerdict]| for_want_of_hosts(hosts, "n", |_| None).1.first().unwrap().text.clone();
        assert!(said(&many).ends_with(": a, b, c and 2 more are in use"));
        assert!(said(&many[..2]).ends_with(": a and b are in use"));
    }

    #[test]
    fn a_host_that_another_machine_gives_back_is_waited_for_and_not_called_in_use() {
        let comes_back = |host: &str| (host == "b").then(|| "deprovisioning for m".to_owned());
        let (actor, advice) = for_want_of_hosts(&[consumed("a"), consumed("b")], "n", comes_back);
        let said: Vec<&str> = advice.iter().map(|advice| advice.text.as_str()).collect();
        assert_eq!(
            said,
            [
                "wait for b (deprovisioning for m), which is on its way back",
                "add hosts, or ask for fewer machines: a is in use"
            ]
        );
        assert_eq!(actor, Actor::HostOperator);
    }
}
