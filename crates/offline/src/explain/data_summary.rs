//! The summary of a machine that waits for its metadata and network data.

use capm3_api::metadata::MetadataExt;

use super::{
    Actor,
    advice::Advice,
    machine_summary::{Known, Summary},
    pools::{PoolLine, Stock},
};

/// How many holders of addresses a sentence names.
const NAMED: usize = 3;

const STANDS: &str = "waits for its metadata and network data";

pub(super) fn summarize(known: &Known<'_>) -> Summary {
    let (snapshot, namespace) = (known.snapshot(), known.namespace());
    let by_author = |text: String| Summary::new(STANDS, Actor::ClusterAuthor, [Advice::text(text)]);
    if let Some((field, name)) = snapshot.missing_secrets.first() {
        return by_author(format!(
            "create Secret {name} in namespace {namespace}, or name another one in spec.{field}"
        ));
    }
    if let Some(template) = &snapshot.missing_data_template {
        return by_author(format!(
            "create Metal3DataTemplate {} in namespace {}",
            template.name, template.namespace
        ));
    }
    let Some(data) = &snapshot.data else { return of_claim(known) };
    let template = data.spec.template.as_ref();
    let advice: Vec<Advice> = known.pools.iter().flat_map(|pool| of_pool(known, pool)).collect();
    if !advice.is_empty() {
        Summary::new(STANDS, Actor::PlatformEngineer, advice)
    } else if data.status.error_message.is_some() {
        let template = template.map(|template| template.name_str()).unwrap_or_default();
        by_author(format!(
            "correct the host or pool that the message names. If the template is wrong: a Metal3DataTemplate is immutable, so create a \
             new one, set its spec.templateReference to that of {template}, or to \"{template}\" if it has none, and roll out \
             machines that use the new one"
        ))
    } else {
        let advice =
            Advice::text("nothing; if it lasts, check whether the provider and the address manager run");
        Summary::new(STANDS, Actor::Nobody, [advice])
    }
}

/// No data yet: the template has not served the claim.
fn of_claim(known: &Known<'_>) -> Summary {
    let claim = known.snapshot().claim.as_deref();
    let Some(claim) = claim.filter(|claim| claim.status.error_message.is_some()) else {
        return Summary::going_on(STANDS);
    };
    let name = claim.metadata.name_str();
    let inspect = known.kubectl("describe", &format!("metal3dataclaim {name}"));
    Summary::new(
        STANDS,
        Actor::ClusterAuthor,
        [Advice::run(format!("inspect Metal3DataClaim {name}"), inspect)],
    )
}

fn of_pool(known: &Known<'_>, pool: &PoolLine) -> Vec<Advice> {
    if pool.address.is_some() {
        return Vec::new();
    }
    let named = format!("{} {}", pool.kind, pool.name);
    let kubectl = |verb: &str| known.kubectl(verb, &format!("{} {}", pool.kind.to_lowercase(), pool.name));
    if let Some(claim) = pool.not_served {
        return vec![Advice::text(format!(
            "install the address manager of {}, with the CRD of {claim}",
            pool.kind
        ))];
    }
    match &pool.stock {
        Some(stock) if stock.free == 0 => of_full_pool(pool, &named, stock, kubectl("edit")),
        _ if pool.problem.is_none() => Vec::new(),
        Some(_) => vec![Advice::run(format!("inspect {named}"), kubectl("describe"))],
        None => vec![Advice::text(format!("create {named} in namespace {}", known.namespace()))],
    }
}

/// A pool with nothing left. What spec.preAllocations reserves stays so whichever machine is deleted.
fn of_full_pool(pool: &PoolLine, named: &str, stock: &Stock, edit: String) -> Vec<Advice> {
    let count = match stock.capacity {
        1 => "1 address".to_owned(),
        many => format!("{many} addresses"),
    };
    let reserved = match stock.reserved {
        0 => String::new(),
        reserved => format!(" and {reserved} reserved in spec.preAllocations"),
    };
    let used = stock.used.saturating_sub(stock.reserved);
    let widen = format!(
        "widen a range of spec.pools of {named}, or add one: it has {count}, {used} in use{reserved}"
    );
    let mut advice = vec![Advice::run(widen, edit)];
    if !pool.reservations.is_empty() {
        advice.push(Advice::text(format!(
            "remove from spec.preAllocations of {named} what nobody needs: {}",
            few(&pool.reservations)
        )));
    }
    if !pool.holders.is_empty() {
        advice.push(Advice::text(format!(
            "delete a machine that uses an address of this pool: {}",
            few(&pool.holders)
        )));
    }
    advice
}

/// A few of them, and how many more.
fn few(all: &[String]) -> String {
    let named = all.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
    match all.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}
