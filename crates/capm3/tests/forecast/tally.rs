//! Compares forecasts with facts and counts what was compared.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use capm3_offline::render::Rendered;

use crate::{Forecast, Played, facts::Fact, site::PARTS};

/// What was seen of all sites so far.
#[derive(Default)]
pub struct Tally {
    sites: usize,
    machines: usize,
    /// Machines that something happens to.
    ahead: usize,
    /// Those among them that have something already.
    half: usize,
    with_host: usize,
    with_data: usize,
    /// Machines that have a uid and whose host is not decided.
    undecided: usize,
    /// Machines without uid.
    without_uid: usize,
    /// Those among them whose host is not decided.
    open: usize,
    /// Machines that `render` was compared for.
    rendered: usize,
    /// How many sites have each part.
    parts: BTreeMap<&'static str, usize>,
    wrong: Vec<String>,
}

impl Tally {
    pub fn add(&mut self, seed: u64, played: &Played) {
        let Played { parts, before, forecast, without_uids, fact } = played;
        let is_ahead = |(key, is): &(&String, &Fact)| before.get(*key) != Some(*is);
        let is_half =
            |(key, _): &(&String, &Fact)| before.get(*key).is_some_and(|was| *was != was.untouched());
        self.sites += 1;
        self.machines += fact.len();
        self.ahead += fact.iter().filter(is_ahead).count();
        self.half += fact.iter().filter(is_ahead).filter(is_half).count();
        self.with_host += fact.values().filter(|fact| fact.host.is_some()).count();
        self.with_data += fact.values().filter(|fact| fact.network_data.is_some()).count();
        self.undecided += forecast.undecided.len();
        self.without_uid += before.values().filter(|was| was.host.is_none()).count();
        self.open += without_uids.undecided.len();
        parts.iter().for_each(|part| *self.parts.entry(part).or_default() += 1);
        for (key, is) in fact {
            let was = before.get(key);
            if forecast.facts.get(key) != Some(is) {
                let printed = forecast.facts.get(key);
                self.wrong.push(format!(
                    "site {seed}, {key}:\n was {was:?}\n forecast {printed:?}\n fact {is:?}\n"
                ));
            }
            if !is_foreseen(without_uids, key, is) {
                let printed = (without_uids.undecided.get(key), without_uids.facts.get(key));
                self.wrong
                    .push(format!("site {seed}, {key} without uid:\n forecast {printed:?}\n fact {is:?}\n"));
            }
        }
        assert_eq!(forecast.facts.len(), fact.len(), "site {seed}");
        self.compare_rendered(seed, forecast);
    }

    /// `render` gives every machine a host and data. In a namespace where all of them come to that, it says the same.
    fn compare_rendered(&mut self, seed: u64, forecast: &Forecast) {
        let Some(rendered) = &forecast.rendered else { return };
        let home = |key: &str| key.split('/').next().unwrap_or_default().to_owned();
        let waits = |fact: &Fact| fact.host.is_none() || fact.data.is_none() || fact.network_data.is_none();
        let open: BTreeSet<String> =
            forecast.facts.iter().filter(|(_, fact)| waits(fact)).map(|(key, _)| home(key)).collect();
        for (key, fact) in forecast.facts.iter().filter(|(key, _)| !open.contains(&home(key))) {
            self.rendered += 1;
            let is_it = |machine: &&Rendered| {
                machine.meta_data_secret.namespace == home(key)
                    && key.ends_with(&format!("/{}", machine.name))
            };
            let machine = rendered.iter().find(is_it);
            let printed = machine.map(|machine| Fact {
                host: machine.host.as_ref().map(|host| format!("{}/{host}", home(key))),
                data_template: machine.data_template.clone(),
                index: machine.index.map(i64::from),
                meta_data: machine.meta_data.clone(),
                network_data: machine.network_data.clone(),
                ..fact.clone()
            });
            if printed.as_ref() != Some(fact) {
                self.wrong.push(format!("site {seed}, {key}:\n rendered {printed:?}\n forecast {fact:?}\n"));
            }
        }
    }

    /// Every case is among the sites.
    pub fn assert_that_it_tells(&self) {
        assert!(self.with_data > 0 && self.with_host < self.machines, "{self}");
        assert!(self.half > 0 && self.half < self.ahead, "{self}");
        assert!(self.open > 0 && self.open < self.without_uid, "{self}");
        assert!(self.rendered > 0 && self.rendered < self.machines, "{self}");
        for part in PARTS {
            assert!(self.parts.contains_key(part), "a site has {part}: {self}");
        }
    }

    pub fn assert_that_all_get_data(&self) {
        assert!(self.machines > 0 && self.half > 0, "{self}");
        assert_eq!(self.with_data, self.machines, "{self}");
    }

    pub fn assert_that_nothing_is_wrong(&self) {
        assert_eq!(self.undecided, 0, "with uids all is decided: {self}");
        assert!(self.wrong.is_empty(), "{} are wrong:\n{}", self.wrong.len(), self.wrong.concat());
    }
}

/// Whether a forecast that does not know all uids is right about a machine. Where a host is not decided, the data of the other
/// machines of the namespace may depend on it: then only hosts are compared.
fn is_foreseen(forecast: &Forecast, key: &str, is: &Fact) -> bool {
    let Some(printed) = forecast.facts.get(key) else { return false };
    let home = |key: &str| key.split('/').next().unwrap_or_default().to_owned();
    match forecast.undecided.get(key) {
        Some(possible) => is.host.as_ref().map_or(possible.may_take_none, |host| {
            let name = host.rsplit('/').next().unwrap_or_default();
            possible.hosts.contains(name)
        }),
        None if forecast.undecided.keys().any(|other| home(other) == home(key)) => printed.host == is.host,
        None => printed == is,
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sites, machines, ahead, half, with_host, with_data, undecided, .. } = self;
        let Self { without_uid, open, rendered, .. } = self;
        write!(
            f,
            "{sites} sites, {machines} machines: {ahead} had something ahead of them, {half} of these half provisioned; \
             {with_host} end with a host, {with_data} with network data; {undecided} undecided; of {without_uid} without \
             uid {open} undecided; {rendered} compared with render; sites with"
        )?;
        self.parts.iter().try_for_each(|(part, sites)| write!(f, " {part}: {sites};"))
    }
}
