//! What to do with a Metal3Data: get one address of each pool, render, store the Secrets; at the end give the
//! addresses back.

use std::{collections::BTreeMap, time::Duration};

use crate::plan::{End, Plan};
use capm3_api::{
    metadata::MetadataExt,
    neighbours::Machine,
    v1beta2::{Metal3Data, Metal3DataTemplate, Metal3DataTemplateSpec, Metal3Machine},
    vocabulary::{annotation, event, finalizer},
};
use capm3_domain::{
    render::{Address, Inputs, Objects, PoolRef, Pools, RenderError, referenced_pools},
    wait::{AddressWait, AddressWaits, DataError, Pause, Text, Wait},
};
use capm3_engine::EventNote;

use super::{
    DataSnapshot,
    claim_state::{ClaimState, claim_state},
    claims::{AddressClaim, PoolClaim, ask},
    pools::{free, not_served, wait_for_pool},
    secrets::{self, SecretReport, Secrets},
    status::{DataState, is_rendered_as, report_on_claim, report_on_data, was_rendered},
    wanted_documents::{asks_for, hold, wanted_documents, wanted_spec},
};
use crate::{
    finalizers::remove_finalizer,
    owners::{controlled_by, owned_by},
    wait_throttle::{is_throttled_for, throttle_time},
};

/// How often it is looked whether a kind is served by now.
const NOT_SERVED_AGAIN: Duration = Duration::from_secs(60);

/// How soon the controller is called again to prove an absence.
const PROVE_AGAIN: Duration = Duration::from_secs(1);

/// One look at a data object.
struct Pass<'a> {
    snapshot: &'a DataSnapshot,
    new: Metal3Data,
    others: Plan,
    secrets_missing: bool,
}

/// How a waiting pass ends. No watch reports that a kind is served from now on.
fn end_of(wait: &Wait) -> End {
    match wait {
        Wait::ClaimKindNotServed { .. } => End::Retry(wait.clone(), NOT_SERVED_AGAIN),
        _ => End::WaitFor(wait.clone()),
    }
}

/// A document that cannot be rendered.
fn unrendered(data: &Metal3Data, error: RenderError) -> Wait {
    let template = data.spec.template.as_ref().map(|t| t.name_str()).unwrap_or_default();
    DataError::Render { template: template.to_owned(), error }.into()
}

/// A step passes, or ends the pass with what it waits for.
pub(super) type Step<T = ()> = Result<T, Wait>;

/// Decides; `now` is written where something changes.
pub fn decide(snapshot: &DataSnapshot, now: &str) -> Plan {
    let new = snapshot.data.as_ref().clone();
    let mut pass = Pass { snapshot, new, others: Plan::done(), secrets_missing: false };
    if pass.new.metadata.is_deleting() {
        return pass.delete(now);
    }
    if let Some(pause) = pass.pause() {
        return Plan::wait_for(Wait::Paused(pause));
    }
    if pass.is_given_up() {
        return Plan::wait_for(Wait::AbandonedData);
    }
    let outcome = pass.render();
    pass.finish(outcome, now)
}

impl Pass<'_> {
    /// Own spec and finalizer first, then what hangs on them, then what is reported of it.
    fn finish(mut self, outcome: Step<SecretReport>, now: &str) -> Plan {
        let old = self.snapshot.data.as_ref();
        let mut plan = Plan::done();
        plan.update_object(old, &self.new);
        plan.append(std::mem::take(&mut self.others));
        let (state, end) = match &outcome {
            Ok(report) => (DataState::rendered(report), End::Done),
            Err(wait) => {
                // What comes within a moment is not worth a write.
                if let Some(rest) = is_throttled_for(self.throttle_time(), &old.metadata, None, now)
                    && !matches!(wait, Wait::DataError(_))
                {
                    return plan.ending(End::After(rest));
                }
                (DataState::waiting(wait), end_of(wait))
            }
        };
        // The own status is written last: until it is, the next pass reports and records the same again.
        if let Some(claim) = self.snapshot.claim.as_deref().filter(|_| self.is_claimed()) {
            report_on_claim(&mut plan, claim, &state, now);
        }
        report_on_data(&mut plan, old, &mut self.new, &state, self.secrets_missing, now);
        plan.update_status(old, &self.new);
        plan.ending(end)
    }

    fn pause(&self) -> Option<Pause> {
        let cluster = self.snapshot.cluster.as_deref().is_some_and(|cluster| cluster.is_paused());
        Pause::of("Metal3Data", self.new.metadata.annotation(annotation::PAUSED).is_some(), cluster)
    }

    /// Renders what is missing; answers what is there then.
    fn render(&mut self) -> Step<SecretReport> {
        if self.snapshot.cluster.is_none() {
            return Err(Wait::DataCluster);
        }
        let (template, machine) = resolve(self.snapshot)?;
        let spec = wanted_spec(template, Some(machine));
        self.hold_on(&spec, machine);
        self.secrets_missing = secrets::lacks_own(self.snapshot, &wanted_documents(&spec));
        let mut secrets = Secrets::of(self.snapshot, &wanted_documents(&spec))?;
        if secrets.missing.is_empty() {
            // Only a comparison: whatever is missing for it is not asked for.
            let others = self.others.clone();
            let rendered = self.inputs(&spec, machine).ok().flatten();
            self.others = others;
            return Ok(secrets.compare(rendered.map(|found| found.documents(&spec, &self.new))));
        }
        let Some(found) = self.inputs(&spec, machine)? else { return Ok(secrets.report()) };
        let documents = found.documents(&spec, &self.new).map_err(|e| unrendered(&self.new, e))?;
        let made_before = was_rendered(&self.snapshot.data);
        let mut created = Vec::new();
        for content in secrets.missing.clone() {
            let made = secrets::create(content, &documents, &self.new, machine, found.owner);
            secrets.add(content, made.digest());
            self.others.create_value(made.kind(), made.key(), made.to_object());
            created.push(made.name);
        }
        let report = secrets.report();
        if made_before && !is_rendered_as(&self.snapshot.data, &report) {
            let words = format!(
                "Secret {} is created again with different content; the node runs with the previous content",
                created.join(" and ")
            );
            self.others.event(EventNote::warning(&self.new, event::RENDER_DIFFERS, words));
        }
        Ok(report)
    }

    /// Everything that rendering needs; claims that are not there yet are made. None when nothing is to be rendered.
    fn inputs<'s>(
        &mut self,
        spec: &Metal3DataTemplateSpec,
        machine: &'s Metal3Machine,
    ) -> Step<Option<Found<'s>>>
    where
        Self: 's,
    {
        let snapshot: &'s DataSnapshot = self.snapshot;
        if wanted_documents(spec).is_empty() {
            return Ok(None);
        }
        let owner = snapshot.machine.as_deref().ok_or(Wait::OwnerOfData)?;
        let host = snapshot.host.as_deref().ok_or(Wait::HostOfData)?;
        let objects = Objects { metal3_machine: Some(machine), machine: Some(owner), host: Some(host) };
        let pools = referenced_pools(spec, objects).map_err(|e| unrendered(&snapshot.data, e))?;
        let addresses = self.addresses(&pools)?;
        Ok(Some(Found { owner, objects, addresses }))
    }

    /// The finalizer and the names of the Secrets are stored before anything hangs on them. Data of older releases had
    /// the template as controlling owner, that of the first design its machine: now it is the claim, beside the machine, so
    /// that the data is in the Cluster's tree.
    fn hold_on(&mut self, spec: &Metal3DataTemplateSpec, machine: &Metal3Machine) {
        hold(&mut self.new, spec, machine);
        let owners = self.new.metadata.owner_references.get_or_insert_default();
        let is_older = owners.iter().any(|owner| {
            let is_controlling_machine = owner.kind == "Metal3Machine" && owner.controller == Some(true);
            owner.kind == "Metal3DataTemplate" || is_controlling_machine
        });
        if let (true, Some(claim)) = (is_older, &self.snapshot.claim) {
            let ours = [claim.metadata.uid_str(), machine.metadata.uid_str()];
            owners.retain(|o| o.kind != "Metal3DataTemplate" && !ours.contains(&o.uid.as_str()));
            owners.splice(0..0, [controlled_by(claim.as_ref()), owned_by(machine)]);
        }
    }

    /// One address of each pool.
    fn addresses(&mut self, pools: &Pools) -> Step<BTreeMap<String, Address>> {
        let snapshot = self.snapshot;
        let mut addresses = BTreeMap::new();
        let mut waiting = AddressWaits::default();
        let (mut refused, mut not_asked) = (None, None);
        for (name, pool) in pools {
            match snapshot.ip_claims.iter().find(|c| c.claim.is_on(pool)) {
                None => match not_served(snapshot, pool) {
                    Some(wait) => not_asked = not_asked.or(Some(wait)),
                    None => self.ask(pool, &mut waiting),
                },
                Some(claim) => match (claim.claim.problem(), &claim.address) {
                    (Some(problem), _) => {
                        let (pool, report) = (name.clone(), Text::from(problem));
                        let capacity = free(snapshot, name).map(|addresses| addresses.capacity);
                        refused.get_or_insert(DataError::Address { pool, report, capacity });
                    }
                    (None, Some(address)) => {
                        addresses.insert(name.clone(), address.clone());
                    }
                    (None, None) => waiting.0.push(wait_for_pool(snapshot, pool)),
                },
            }
        }
        match (refused, not_asked) {
            (Some(error), _) => Err(error.into()),
            (None, Some(not_asked)) => Err(not_asked),
            (None, None) if waiting.0.is_empty() => Ok(addresses),
            (None, None) => Err(Wait::Addresses(waiting)),
        }
    }

    /// Makes the claim on a pool, unless a claim of that name is still there.
    fn ask(&mut self, pool: &PoolRef, waiting: &mut AddressWaits) {
        let Some(namesake) = self.snapshot.namesakes.get(&self.snapshot.claim_name(pool)) else {
            ask(&mut self.others, self.snapshot, pool);
            return waiting.0.push(wait_for_pool(self.snapshot, pool));
        };
        if namesake.is_of_predecessor(&self.new) && namesake.metadata().is_deleting() {
            // Its data had our name, so it is gone: nobody else will take this finalizer off.
            namesake.remove_finalizer(&mut self.others);
        }
        let (kind, claim) = (namesake.kind().to_string(), namesake.metadata().name_str().to_owned());
        waiting.0.push(AddressWait::OtherClaim { kind, claim });
    }

    /// Waits for the claim to go, releases every address, removes the finalizer. Needs no template.
    fn delete(mut self, now: &str) -> Plan {
        if let Some(pause) = self.pause() {
            return Plan::wait_for(Wait::Paused(pause));
        }
        match claim_state(&self.snapshot.data, self.snapshot.claim.as_deref(), self.snapshot.claim_is_gone) {
            ClaimState::Gone => {}
            ClaimState::Unknown => return Plan::done().ending(End::After(PROVE_AGAIN)),
            ClaimState::Held => {
                let claim = self.snapshot.claim.as_ref().map(|claim| claim.metadata.name_str());
                let wait = Wait::ClaimOfDeletedData(claim.unwrap_or_default().to_owned());
                return self.stay(Plan::done(), wait, now);
            }
        }
        let mut plan = Plan::done();
        let mut held_by_pools = Vec::new();
        for PoolClaim { claim, .. } in &self.snapshot.ip_claims {
            if self.is_released_by_pool(claim) {
                claim.delete(&mut plan);
                held_by_pools.push(claim.metadata().name_str().to_owned());
            } else {
                claim.release(&mut plan, &self.snapshot.gone_pools);
            }
        }
        if !held_by_pools.is_empty() {
            return self.stay(plan, Wait::AddressesOfDeletedData(held_by_pools), now);
        }
        remove_finalizer(&mut self.new.metadata, finalizer::DATA);
        // The claim is gone, so nobody else will take its finalizer off.
        remove_finalizer(&mut self.new.metadata, finalizer::DATA_CLAIM);
        plan.update_object(self.snapshot.data.as_ref(), &self.new);
        plan
    }

    /// Waits on the way out, and says so if that lasts.
    fn stay(mut self, mut plan: Plan, wait: Wait, now: &str) -> Plan {
        let old = self.snapshot.data.as_ref();
        if let Some(rest) = is_throttled_for(self.throttle_time(), &old.metadata, None, now) {
            return plan.ending(End::After(rest));
        }
        let state = DataState::waiting(&wait);
        report_on_data(&mut plan, old, &mut self.new, &state, false, now);
        plan.update_status(old, &self.new);
        plan.ending(End::WaitFor(wait))
    }

    /// Whether the built-in address manager takes our finalizer off the claim together with its own. It sees on this data
    /// that nobody uses the address any more, so the data stays until that is done.
    fn is_released_by_pool(&self, claim: &AddressClaim) -> bool {
        let AddressClaim::Metal3(claim) = claim else { return false };
        let is_of_both = |f: &String| [finalizer::DATA, finalizer::IP_CLAIM].contains(&f.as_str());
        self.snapshot.settings.serves_addresses
            && claim.metadata.has_finalizer(finalizer::IP_CLAIM)
            && claim.metadata.finalizers.iter().flatten().all(is_of_both)
            && claim.metadata.is_owned_by_uid(self.snapshot.data.metadata.uid_str())
            && self.snapshot.working_pools.contains(claim.spec.pool.name_str())
    }

    /// Whether the claim goes and its machine has released it, or it uses other data by now: what this data lacks no longer matters to
    /// anybody.
    fn is_given_up(&self) -> bool {
        let Some(claim) = self.snapshot.claim.as_deref() else { return false };
        let used = claim.status.rendered_data.as_ref();
        let uses_another = used.is_some_and(|used| used.name_str() != self.new.metadata.name_str());
        let is_released = claim.metadata.is_deleting() && !claim.metadata.has_finalizer(finalizer::MACHINE);
        uses_another || is_released
    }

    fn throttle_time(&self) -> Duration {
        throttle_time(self.snapshot.machines_in_progress)
    }

    fn is_claimed(&self) -> bool {
        let DataSnapshot { data, claim, claim_is_gone, .. } = self.snapshot;
        claim_state(data, claim.as_deref(), *claim_is_gone) == ClaimState::Held
    }
}

/// What a document is rendered from.
struct Found<'a> {
    owner: &'a Machine,
    objects: Objects<'a>,
    addresses: BTreeMap<String, Address>,
}

impl Found<'_> {
    fn documents(
        &self,
        spec: &Metal3DataTemplateSpec,
        data: &Metal3Data,
    ) -> Result<secrets::Documents, RenderError> {
        let inputs = Inputs { data, objects: self.objects, addresses: &self.addresses };
        secrets::render_all(spec, &inputs)
    }
}

/// Template and machine of the data, and that the machine still asks for this template.
fn resolve(snapshot: &DataSnapshot) -> Step<(&Metal3DataTemplate, &Metal3Machine)> {
    let name = snapshot.data.spec.template.as_ref().map(|t| t.name_str()).unwrap_or_default();
    let template = snapshot.template.as_deref();
    let template = template.ok_or_else(|| Wait::TemplateOfData(name.to_owned()))?;
    if snapshot.claim.is_none() {
        return Err(Wait::ClaimOfData);
    }
    let machine = snapshot.metal3_machine.as_deref().ok_or(Wait::MachineOfData)?;
    if !asks_for(machine, name) {
        let asked = machine.spec.data_template.as_ref().map(|t| t.name_str()).unwrap_or_default();
        return Err(Wait::from(DataError::OtherTemplate {
            machine: machine.metadata.name_str().to_owned(),
            asked: asked.to_owned(),
            template: name.to_owned(),
        }));
    }
    Ok((template, machine))
}
