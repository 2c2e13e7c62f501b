//! What would get a machine a host: one sentence for each kind of reason, the quickest way first.

use capm3_api::vocabulary::annotation;
use capm3_domain::host::{HostVerdict, Rejection};

use super::{Actor, advice::Advice, relabel::Relabelled};

/// How many hosts a sentence names.
const NAMED: usize = 3;

/// Ways to a host, and who goes them.
#[derive(Debug)]
pub(super) struct Ways {
    /// Who must act.
    pub(super) actor: Actor,
    /// Who could act sooner.
    pub(super) or_actor: Option<Actor>,
    /// What would help.
    pub(super) advice: Vec<Advice>,
}

/// Who must act, and what would help. `comes_back` shows what is done with a host that another machine gives back,
/// `relabel` what labels would do for a host that does not match.
pub(super) fn no_host(
    verdicts: &[HostVerdict],
    namespace: &str,
    comes_back: impl Fn(&str) -> Option<String>,
    relabel: impl Fn(&str) -> Relabelled,
) -> Ways {
    if verdicts.is_empty() {
        let add = format!(
            "add BareMetalHosts to namespace {namespace}: machines take hosts of their own namespace only"
        );
        return Ways { actor: Actor::PlatformEngineer, or_actor: None, advice: vec![Advice::text(add)] };
    }
    let mut ways: Vec<(Way, Vec<&HostVerdict>)> = Vec::new();
    let returning: Vec<(&str, String)> =
        verdicts.iter().filter_map(|v| Some((v.host.as_str(), comes_back(&v.host)?))).collect();
    for verdict in verdicts.iter().filter(|v| !returning.iter().any(|(host, _)| *host == v.host)) {
        let way = Way::of_verdict(verdict, &relabel);
        match ways.iter_mut().find(|(known, _)| *known == way) {
            Some((_, hosts)) => hosts.push(verdict),
            None => ways.push((way, vec![verdict])),
        }
    }
    ways.sort_by(|(one, _), (other, _)| one.cmp(other));
    let comes_by_itself = !returning.is_empty() || matches!(ways.first(), Some((Way::Wait, _)));
    let can_be_helped = ways.iter().any(|(way, _)| *way != Way::Wait);
    let (actor, or_actor) = match comes_by_itself {
        true => (Actor::HostOperator, can_be_helped.then_some(Actor::PlatformEngineer)),
        false => (Actor::PlatformEngineer, None),
    };
    let ways = ways.iter().map(|(way, hosts)| way.advice(hosts, namespace));
    Ways { actor, or_actor, advice: wait_for(&returning).into_iter().chain(ways).collect() }
}

/// Hosts on their way back.
fn wait_for(returning: &[(&str, String)]) -> Option<Advice> {
    let named: Vec<String> =
        returning.iter().take(NAMED).map(|(host, doing)| format!("{host} ({doing})")).collect();
    let more = match returning.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let is = if returning.len() == 1 { "is" } else { "are" };
    let text = format!("wait until {}{more} {is} available again", named.join(", "));
    (!returning.is_empty()).then(|| Advice::text(text))
}

/// What would make a host usable, the quickest first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Way {
    Wait,
    Unpause,
    Heal(&'static str),
    Repair,
    Attach,
    Manage,
    /// The labels.
    Relabel(String),
    Match,
    Clear,
    Replace,
    Free,
}

impl Way {
    /// Labels go before what else is wrong with a host, as its reason does; a host of others stays theirs anyway.
    fn of_verdict(verdict: &HostVerdict, relabel: impl Fn(&str) -> Relabelled) -> Self {
        let way = Self::of(&verdict.rejection);
        if way != Self::Match {
            return way;
        }
        match relabel(&verdict.host) {
            Relabelled::Usable(labels) => Self::Relabel(labels.join(" ")),
            Relabelled::Blocked(rejection) => match Self::of(&rejection) {
                way @ (Self::Free | Self::Replace) => way,
                _ => Self::Match,
            },
            Relabelled::Unknown => Self::Match,
        }
    }

    fn of(rejection: &Rejection) -> Self {
        match rejection {
            Rejection::NotAvailable(state) if state == "unmanaged" => Self::Manage,
            Rejection::NotAvailable(_) | Rejection::Servicing => Self::Wait,
            Rejection::Paused => Self::Unpause,
            Rejection::Unhealthy(key) => Self::Heal(key),
            Rejection::InError(_) => Self::Repair,
            Rejection::Detached => Self::Attach,
            Rejection::LabelMismatch { .. } => Self::Match,
            Rejection::ForeignImage => Self::Clear,
            Rejection::Deleting | Rejection::ExternallyProvisioned => Self::Replace,
            Rejection::ConsumedBy(_)
            | Rejection::ReservedForOther(_)
            | Rejection::OtherFailureDomain(_)
            | Rejection::NotReserved
            | Rejection::NotDrawn => Self::Free,
        }
    }

    fn advice(&self, verdicts: &[&HostVerdict], namespace: &str) -> Advice {
        let (hosts, is) = (names(verdicts), if verdicts.len() == 1 { "is" } else { "are" });
        let named: Vec<&str> = verdicts.iter().take(NAMED).map(|verdict| verdict.host.as_str()).collect();
        let named = named.join(" ");
        let unset = |key: &str| format!("kubectl annotate baremetalhost {named} -n {namespace} {key}-");
        match self {
            Self::Wait => Advice::text(format!(
                "wait for {hosts}, which the Baremetal Operator works on: a host that becomes available is taken"
            )),
            Self::Unpause => Advice::run(format!("unpause {hosts}"), unset(annotation::HOST_PAUSED)),
            Self::Heal(key) => {
                Advice::run(format!("if {hosts} {is} healthy again, remove the annotation"), unset(key))
            }
            Self::Repair => Advice::run(
                format!("repair {hosts}"),
                format!("kubectl describe baremetalhost {named} -n {namespace}"),
            ),
            Self::Attach => Advice::run(format!("attach {hosts} again"), unset(annotation::HOST_DETACHED)),
            Self::Manage => Advice::text(format!("give {hosts} an address and credentials in spec.bmc")),
            Self::Relabel(labels) => relabel(verdicts, &hosts, labels, namespace),
            Self::Match => Advice::text(format!(
                "make {hosts} match spec.hostSelector of the Metal3Machine: a label alone does not do it"
            )),
            Self::Clear => Advice::text(format!(
                "remove spec.image and spec.customDeploy of {hosts}, if nobody needs the data on the disk"
            )),
            Self::Replace => Advice::text(format!("add other hosts: {hosts} cannot be used")),
            Self::Free => {
                Advice::text(format!("add hosts, or ask for fewer machines: {}", occupied(verdicts)))
            }
        }
    }
}

/// Hosts that only other machines can have. Each is counted under the reason that the summary of the hosts counts it
/// under, so that both numbers agree.
fn occupied(verdicts: &[&HostVerdict]) -> String {
    let mut parts: [(&str, &str, Vec<&HostVerdict>); 4] = [
        ("is in use", "are in use", Vec::new()),
        ("is reserved for other machines", "are reserved for other machines", Vec::new()),
        (
            "does not match spec.hostSelector and is in use too",
            "do not match spec.hostSelector and are in use too",
            Vec::new(),
        ),
        ("is left to other machines", "are left to other machines", Vec::new()),
    ];
    let [consumed, reserved, unlike, left] = &mut parts;
    for &verdict in verdicts {
        let (.., hosts) = match verdict.rejection {
            Rejection::ConsumedBy(_) => &mut *consumed,
            Rejection::ReservedForOther(_) => &mut *reserved,
            Rejection::LabelMismatch { .. } => &mut *unlike,
            _ => &mut *left,
        };
        hosts.push(verdict);
    }
    let text = parts.iter().filter(|(.., hosts)| !hosts.is_empty()).map(|(one, many, hosts)| {
        match (hosts.len(), names(hosts)) {
            (1, name) => format!("{name} {one}"),
            (..=NAMED, names) => format!("{names} {many}"),
            (count, names) => format!("{count} hosts {many} ({names})"),
        }
    });
    text.collect::<Vec<_>>().join("; ")
}

/// One host is enough for one machine.
fn relabel(verdicts: &[&HostVerdict], hosts: &str, labels: &str, namespace: &str) -> Advice {
    let which = match verdicts.len() {
        1 => hosts.to_owned(),
        _ => format!("one of {hosts}"),
    };
    let text = format!("label {which} to match spec.hostSelector ({labels}); nothing else is missing");
    let host = verdicts.first().map(|verdict| verdict.host.as_str()).unwrap_or_default();
    Advice::run(text, format!("kubectl label baremetalhost {host} -n {namespace} {labels} --overwrite"))
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
    use capm3_domain::host::{Consumer, HostCounts};

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
                    "if b is healthy again, remove the annotation kubectl annotate baremetalhost b -n n \
                     capm3.metal3.io/unhealthy-",
                ],
            ),
            (
                vec![verdict("d", mismatch()), verdict("e", mismatch())],
                Actor::PlatformEngineer,
                vec![
                    "label one of d and e to match spec.hostSelector (size=l); nothing else is missing \
                     kubectl label baremetalhost d -n n size=l --overwrite",
                ],
            ),
            (
                vec![verdict("both", mismatch()), verdict("taken", mismatch())],
                Actor::PlatformEngineer,
                vec![
                    "make both match spec.hostSelector",
                    "add hosts, or ask for fewer machines: taken does not match spec.hostSelector and is in use too",
                ],
            ),
        ];
        let relabel = |host: &str| match host {
            "both" => Relabelled::Blocked(Rejection::Paused),
            "taken" => Relabelled::Blocked(consumed("taken").rejection),
            _ => Relabelled::Usable(vec!["size=l".to_owned()]),
        };
        for (verdicts, who, parts) in table {
            let Ways { actor, or_actor, advice } = no_host(&verdicts, "n", |_| None, relabel);
            let waits = actor == Actor::HostOperator && parts.len() > 1;
            assert_eq!(or_actor, waits.then_some(Actor::PlatformEngineer), "{advice:?}");
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
        let text = |hosts: &[HostVerdict]| {
            no_host(hosts, "n", |_| None, |_| Relabelled::Unknown).advice.first().unwrap().text.clone()
        };
        assert!(text(&many).ends_with(": 5 hosts are in use (a, b, c and 2 more)"));
        assert!(text(&many[..2]).ends_with(": a and b are in use"));
    }

    #[test]
    fn the_counts_of_an_advice_are_those_of_the_summary() {
        let unlike = |host: &str| {
            verdict(host, Rejection::LabelMismatch { requirement: "size=l".into(), found: None })
        };
        let mut hosts: Vec<HostVerdict> = ["a", "b", "c", "d", "e", "f", "g", "h", "i"].map(consumed).into();
        hosts.extend(["x", "y", "z"].map(unlike));
        let counts: HostCounts = hosts.iter().map(|verdict| &verdict.rejection).collect();
        assert_eq!(counts.to_string(), "12 hosts: 9 consumed, 3 label mismatch");
        let taken = |_: &str| Relabelled::Blocked(consumed("x").rejection);
        let ways = no_host(&hosts, "n", |_| None, taken);
        let text: Vec<&str> = ways.advice.iter().map(|advice| advice.text.as_str()).collect();
        assert_eq!(
            text,
            [
                "add hosts, or ask for fewer machines: 9 hosts are in use (a, b, c and 6 more); x, y and z do not \
                 match \
              spec.hostSelector and are in use too"
            ]
        );
    }

    #[test]
    fn a_host_that_another_machine_gives_back_is_waited_for_and_not_called_in_use() {
        let comes_back = |host: &str| (host == "b").then(|| "deprovisioning for m".to_owned());
        let Ways { actor, advice, .. } =
            no_host(&[consumed("a"), consumed("b")], "n", comes_back, |_| Relabelled::Unknown);
        let text: Vec<&str> = advice.iter().map(|advice| advice.text.as_str()).collect();
        assert_eq!(
            text,
            [
                "wait until b (deprovisioning for m) is available again",
                "add hosts, or ask for fewer machines: a is in use"
            ]
        );
        assert_eq!(actor, Actor::HostOperator);
    }
}
