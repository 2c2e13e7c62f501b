//! Which host a machine takes.

use std::ops::ControlFlow;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::BareMetalHost,
    vocabulary::{label, reason},
};

use super::{
    Eligibility, HostCounts, HostRequest, HostVerdict, Rejection, SelectorError, eligibility,
    eligibility::is_own, rendezvous::Ranking, reservation_queue::waits_for_reserved,
};

/// The outcome of a choice, and why each other host was not taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostChoice {
    /// What came out.
    pub outcome: HostOutcome,
    /// Every host of the namespace that was not taken, by name. Empty if the machine has its host already.
    pub verdicts: Vec<HostVerdict>,
}

/// What came out of a choice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HostOutcome {
    /// This one.
    Chosen(Chosen),
    /// No host fits.
    None,
    /// Hosts are reserved for the machine's owner and not needed by machines ahead of it, but none is ready yet: name
    /// and state of each.
    Wait(Vec<(String, String)>),
    /// The request cannot be used.
    Err(SelectorError),
}

/// The host to take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// Name of the host.
    pub host: String,
    /// Whether the machine has it already, so that nothing is left to claim.
    pub already_own: bool,
    /// Whether it was reserved for the machine's owner.
    pub via_reuse: bool,
    /// The failure domain asked for, if the host stands in another or in none.
    pub fell_back_from_domain: Option<String>,
}

impl Chosen {
    /// Reason for the condition.
    pub fn reason(&self) -> &'static str {
        if self.via_reuse { reason::ASSOCIATE_HOST_VIA_REUSE } else { reason::ASSOCIATE_HOST_SUCCESS }
    }
}

impl HostChoice {
    /// How many hosts were not taken for which kind of reason.
    pub fn counts(&self) -> HostCounts {
        self.verdicts.iter().map(|verdict| &verdict.rejection).collect()
    }
}

/// Hosts by what they are to the machine.
#[derive(Default)]
struct Candidates<'h> {
    reserved: Vec<&'h BareMetalHost>,
    later: Vec<(String, String)>,
    free: Vec<&'h BareMetalHost>,
    verdicts: Vec<HostVerdict>,
}

/// Chooses a host: the machine's own, else one reserved for its owner, else a free one; within these the failure
/// domain asked for goes first. Hosts of other namespaces are not seen.
///
/// ```
/// use capm3_api::{neighbours::{BareMetalHost, Machine}, v1beta2::Metal3Machine};
/// use capm3_domain::host::{HostOutcome, HostRequest, choose};
///
/// let (metal3_machine, machine) = (Metal3Machine::default(), Machine::default());
/// let host: BareMetalHost = serde_json::from_str(
///     r#"{"metadata": {"name": "h"}, "status": {"provisioning": {"state": "inspecting"}}}"#).unwrap();
/// let choice = choose(&HostRequest::new(&metal3_machine, &machine, None), [&host].into_iter());
/// assert_eq!(choice.outcome, HostOutcome::None);
/// assert_eq!(choice.verdicts[0].to_string(), "h: not available: inspecting");
/// assert_eq!(choice.counts().to_string(), "1 host: 1 not available");
/// ```
pub fn choose<'h>(request: &HostRequest<'_>, hosts: impl Iterator<Item = &'h BareMetalHost>) -> HostChoice {
    let namespace = request.machine.metadata.namespace_str();
    let hosts: Vec<_> = hosts.filter(|host| host.metadata.namespace_str() == namespace).collect();
    if let Some(own) = own_host(request, &hosts) {
        return bare(HostOutcome::Chosen(own));
    }
    if let Err(error) = &request.selector {
        return bare(HostOutcome::Err(error.clone()));
    }
    let mut candidates = sort_out(request, &hosts);
    let outcome = decide(request, &mut candidates);
    candidates.verdicts.sort_by(|a, b| a.host.cmp(&b.host));
    HostChoice { outcome, verdicts: candidates.verdicts }
}

/// The host that [`choose`] would choose among equals, without a word about the others: for a machine that is about to
/// take one of thousands. A host is looked at only if its name alone makes it better than the best so far, which
/// among thousands is true of about ten.
///
/// Equals are usable by themselves, none is reserved for the machine's owner, and all or none of them stand in the
/// failure domain asked for. They are offered by name.
#[derive(Debug)]
pub struct QuickChoice<'r, H> {
    request: &'r HostRequest<'r>,
    ranking: Ranking,
    best: Option<(u64, H)>,
}

impl<'r, H: AsRef<BareMetalHost> + Clone> QuickChoice<'r, H> {
    /// A choice among nothing yet.
    pub fn new(request: &'r HostRequest<'r>) -> Self {
        Self { request, ranking: Ranking::of(request.machine.metadata.uid_str()), best: None }
    }

    /// Takes one more host into account. Breaks when no host with a higher name can be better.
    pub fn offer(&mut self, host: &H) -> ControlFlow<()> {
        let rank = self.ranking.rank(host.as_ref().metadata.name_str());
        let is_better = self.best.as_ref().is_none_or(|(number, best)| {
            let of_best = || self.ranking.rank(best.as_ref().metadata.name_str());
            rank.number() > *number || (rank.number() == *number && rank > of_best())
        });
        if is_better
            && matches!(eligibility(self.request, host.as_ref()), Eligibility::Free | Eligibility::Reserved)
        {
            self.best = Some((rank.number(), host.clone()));
        }
        match (self.ranking, &self.best) {
            (Ranking::ByName, Some(_)) => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        }
    }

    /// The best of all that were offered and fit.
    pub fn best(self) -> Option<H> {
        self.best.map(|(_, host)| host)
    }
}

fn bare(outcome: HostOutcome) -> HostChoice {
    HostChoice { outcome, verdicts: Vec::new() }
}

/// The host that names this machine. Looked for without the selector: labels may have changed since the claim, and a
/// machine must never take a second host.
fn own_host(request: &HostRequest<'_>, hosts: &[&BareMetalHost]) -> Option<Chosen> {
    let own = hosts.iter().filter(|host| is_own(request, host));
    let host = own.map(|host| host.metadata.name_str()).min()?;
    Some(Chosen { host: host.to_owned(), already_own: true, via_reuse: false, fell_back_from_domain: None })
}

fn sort_out<'h>(request: &HostRequest<'_>, hosts: &[&'h BareMetalHost]) -> Candidates<'h> {
    let mut candidates = Candidates::default();
    for host in hosts {
        let name = host.metadata.name_str();
        match eligibility(request, host) {
            Eligibility::Reserved => candidates.reserved.push(host),
            Eligibility::Free | Eligibility::Own => candidates.free.push(host),
            Eligibility::ReservedLater(state) => {
                candidates.verdicts.push(verdict(name, Rejection::NotAvailable(state.clone())));
                candidates.later.push((name.to_owned(), state));
            }
            Eligibility::Rejected(rejection) => candidates.verdicts.push(verdict(name, rejection)),
        }
    }
    candidates
}

/// Booked hosts go first. While they are cleaned the machine waits for them, because they carry its owner's data, unless
/// machines ahead of it need them all: then it takes a free host.
fn decide(request: &HostRequest<'_>, candidates: &mut Candidates<'_>) -> HostOutcome {
    let free = std::mem::take(&mut candidates.free);
    let reserved = std::mem::take(&mut candidates.reserved);
    if reserved.is_empty() && !waits_for_reserved(candidates.later.len(), request.ahead) {
        return pick(request, free, false, &mut candidates.verdicts);
    }
    let passed = free.iter().map(|host| verdict(host.metadata.name_str(), Rejection::NotReserved));
    candidates.verdicts.extend(passed);
    if reserved.is_empty() {
        let mut later = std::mem::take(&mut candidates.later);
        later.sort();
        return HostOutcome::Wait(later);
    }
    pick(request, reserved, true, &mut candidates.verdicts)
}

/// Takes the best of hosts that could all be used: the failure domain first, then the machine's own ranking.
fn pick(
    request: &HostRequest<'_>,
    hosts: Vec<&BareMetalHost>,
    via_reuse: bool,
    verdicts: &mut Vec<HostVerdict>,
) -> HostOutcome {
    let wanted = request.failure_domain();
    let in_domain = |host: &BareMetalHost| wanted.is_some() && domain_of(host) == wanted;
    let ranking = Ranking::of(request.machine.metadata.uid_str());
    let ranked =
        hosts.iter().copied().map(|host| ((in_domain(host), ranking.rank(host.metadata.name_str())), host));
    let Some((_, best)) = ranked.max_by_key(|(order, _)| *order) else {
        return HostOutcome::None;
    };
    let honoured = in_domain(best);
    for host in hosts {
        if std::ptr::eq(host, best) {
            continue;
        }
        let rejection = if honoured && !in_domain(host) {
            Rejection::OtherFailureDomain(domain_of(host).map(str::to_owned))
        } else {
            Rejection::NotDrawn
        };
        verdicts.push(verdict(host.metadata.name_str(), rejection));
    }
    HostOutcome::Chosen(Chosen {
        host: best.metadata.name_str().to_owned(),
        already_own: false,
        via_reuse,
        fell_back_from_domain: wanted.filter(|_| !honoured).map(str::to_owned),
    })
}

/// The failure domain that a host stands in.
pub fn domain_of(host: &BareMetalHost) -> Option<&str> {
    host.metadata.label(label::FAILURE_DOMAIN).filter(|domain| !domain.is_empty())
}

fn verdict(host: &str, rejection: Rejection) -> HostVerdict {
    HostVerdict { host: host.to_owned(), rejection }
}

#[cfg(test)]
#[path = "choose_tests.rs"]
mod tests;
