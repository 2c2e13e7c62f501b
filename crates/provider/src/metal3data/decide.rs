//! What to do with a Metal3Data: get one address of each pool, render, store the Secrets; at the end give the
//! addresses back.

use std::{collections::BTreeMap, time::Duration};

use capm3_api::{
    metadata::MetadataExt,
    neighbours::Machine,
    reference::SecretRef,
    v1beta2::{Metal3Data, Metal3DataTemplate, Metal3DataTemplateSpec, Metal3Machine},
    vocabulary::{annotation, event, finalizer, reason},
};
use capm3_domain::render::{
    Address, Content, Inputs, Objects, PoolRef, Pools, Problem, RenderError, referenced_pools, secret_name,
};
use capm3_engine::{End, EventNote, Plan};

use super::{
    Snapshot,
    claim_state::{ClaimState, claim_state},
    claims::{AddressClaim, PoolClaim, ask},
    halves::{halves, wanted_spec},
    pools::{Waiting, free_after},
    secrets::{self, Secrets, Told},
    status::{Standing, digests_before, tell_claim, tell_data},
};
use crate::{
    finalizers::{add_finalizer, remove_finalizer},
    owners::controlled_by,
    patience::still_patient,
};

/// How soon the controller is called again to prove an absence.
const PROVE_AGAIN: Duration = Duration::from_secs(1);

/// One look at a data object.
struct Pass<'a> {
    snapshot: &'a Snapshot,
    new: Metal3Data,
    others: Plan,
    secrets_missing: bool,
}

/// Why the look ends.
#[derive(Debug)]
pub(super) enum Stop {
    /// Something must come first.
    Wait {
        /// In one word.
        reason: &'static str,
        /// For people.
        what: String,
    },
    /// Something is wrong that only a change of its inputs can cure.
    Fail {
        /// In one word.
        reason: &'static str,
        /// For people.
        message: String,
        /// The same with all that helps who has only this line.
        advice: String,
    },
}

impl Stop {
    pub(super) fn wait(reason: &'static str, what: impl Into<String>) -> Self {
        Self::Wait { reason, what: what.into() }
    }

    pub(super) fn fail(reason: &'static str, message: impl ToString) -> Self {
        let message = message.to_string();
        Self::Fail { reason, advice: message.clone(), message }
    }

    fn unrendered(data: &Metal3Data, error: &RenderError) -> Self {
        let reason = match error.problem {
            Problem::OutOfBounds => reason::IP_ALLOCATION_FAILED,
            _ => reason::RENDER_FAILED,
        };
        let template = data.spec.template.as_ref().map(|t| t.name_str()).unwrap_or_default();
        let advice = error.advice(template);
        Self::Fail { reason, message: error.to_string(), advice }
    }
}

pub(super) type Step<T = ()> = Result<T, Stop>;

/// Decides; `now` is written where something changes.
pub fn decide(snapshot: &Snapshot, now: &str) -> Plan {
    let new = snapshot.data.as_ref().clone();
    let mut pass = Pass { snapshot, new, others: Plan::done(), secrets_missing: false };
    if pass.new.metadata.is_deleting() {
        return pass.delete(now);
    }
    if let Some(what) = pass.is_paused() {
        return Plan::wait_for(what);
    }
    if pass.is_given_up() {
        return Plan::wait_for("the template's controller to delete this data with its claim");
    }
    let outcome = pass.render();
    pass.finish(outcome, now)
}

impl Pass<'_> {
    /// Own spec and finalizer first, then what hangs on them, then what is said about it.
    fn finish(mut self, outcome: Step<Told>, now: &str) -> Plan {
        let old = self.snapshot.data.as_ref();
        let mut plan = Plan::done();
        plan.update_object(old, &self.new);
        plan.append(std::mem::take(&mut self.others));
        let (standing, end) = match &outcome {
            Ok(told) => (Standing::rendered(told), End::Done),
            Err(stop @ Stop::Wait { what, .. }) => {
                // What comes within a moment is not worth a word.
                if let Some(rest) = still_patient(&old.metadata, None, now) {
                    return plan.ending(End::After(rest));
                }
                (Standing::stopped(stop), End::WaitFor(what.clone()))
            }
            Err(stop @ Stop::Fail { message, .. }) => {
                (Standing::stopped(stop), End::WaitFor(message.clone()))
            }
        };
        // The own status is written last: until it is, the next look says and records the same again.
        if let Some(claim) = self.snapshot.claim.as_deref().filter(|_| self.is_claimed()) {
            tell_claim(&mut plan, claim, &standing, now);
        }
        tell_data(&mut plan, old, &mut self.new, &standing, self.secrets_missing, now);
        plan.update_status(old, &self.new);
        plan.ending(end)
    }

    fn is_paused(&self) -> Option<String> {
        let cluster = self.snapshot.cluster.as_deref().is_some_and(|cluster| cluster.is_paused());
        let paused = cluster || self.new.metadata.annotation(annotation::PAUSED).is_some();
        paused.then(|| "the end of the pause".to_owned())
    }

    /// Renders what is missing; answers what is there then.
    fn render(&mut self) -> Step<Told> {
        if self.snapshot.cluster.is_none() {
            return Err(Stop::wait(reason::WAITING_FOR_CLUSTER, "the Cluster that the label names"));
        }
        let (template, machine) = resolve(self.snapshot)?;
        let spec = wanted_spec(template, Some(machine));
        self.hold_on(&spec, machine);
        self.secrets_missing = secrets::lacks_own(self.snapshot, &halves(&spec));
        let mut secrets = Secrets::of(self.snapshot, &halves(&spec))?;
        if secrets.missing.is_empty() {
            // Only a look: whatever is missing for it is not asked for.
            let others = self.others.clone();
            let anew = self.inputs(&spec, machine).ok().flatten();
            self.others = others;
            return Ok(secrets.compare(anew.map(|found| found.documents(&spec, &self.new))));
        }
        let Some(found) = self.inputs(&spec, machine)? else { return Ok(secrets.told()) };
        let documents = found.documents(&spec, &self.new).map_err(|e| Stop::unrendered(&self.new, &e))?;
        let before = digests_before(&self.snapshot.data).map(str::to_owned);
        for content in secrets.missing.clone() {
            let made = secrets::create(content, &documents, &self.new, machine, found.owner);
            let changed =
                before.as_ref().is_some_and(|before| secrets.differs(before, content, &made.digest()));
            if changed {
                let words = format!(
                    "Secret {} was made anew and differs from the one before; the node runs with the older text",
                    made.name
                );
                self.others.event(EventNote::warning(&self.new, event::RENDER_DIFFERS, words));
            }
            secrets.add(content, made.digest());
            self.others.create_value(made.kind(), made.key(), made.to_object());
        }
        Ok(secrets.told())
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
        let snapshot: &'s Snapshot = self.snapshot;
        if halves(spec).is_empty() {
            return Ok(None);
        }
        let owner = snapshot.machine.as_deref().ok_or_else(|| {
            Stop::wait(reason::WAITING_FOR_MACHINE, "the Machine that owns the Metal3Machine")
        })?;
        let host = snapshot
            .host
            .as_deref()
            .ok_or_else(|| Stop::wait(reason::WAITING_FOR_HOST, "BareMetalHost of the Metal3Machine"))?;
        let objects = Objects { metal3_machine: Some(machine), machine: Some(owner), host: Some(host) };
        let pools = referenced_pools(spec, objects).map_err(|e| Stop::unrendered(&snapshot.data, &e))?;
        let addresses = self.addresses(&pools)?;
        Ok(Some(Found { owner, objects, addresses }))
    }

    /// The finalizer and the names of the Secrets are stored before anything hangs on them. Data of older releases had
    /// the template as controlling owner: now it is the claim, so that the data hangs in the Cluster's tree.
    fn hold_on(&mut self, spec: &Metal3DataTemplateSpec, machine: &Metal3Machine) {
        add_finalizer(&mut self.new.metadata, finalizer::DATA);
        let namespace = self.new.metadata.namespace_str().to_owned();
        for content in halves(spec) {
            let name = secret_name(content, &self.snapshot.data, machine.metadata.name_str());
            let slot = match content {
                Content::MetaData => &mut self.new.spec.meta_data,
                Content::NetworkData => &mut self.new.spec.network_data,
            };
            *slot = Some(SecretRef::new(namespace.as_str(), name));
        }
        let owners = self.new.metadata.owner_references.get_or_insert_default();
        let before = owners.len();
        owners.retain(|owner| owner.kind != "Metal3DataTemplate");
        if let (true, Some(claim)) = (before != owners.len(), &self.snapshot.claim) {
            owners.retain(|owner| owner.uid != claim.metadata.uid_str());
            owners.insert(0, controlled_by(claim.as_ref()));
        }
    }

    /// One address of each pool.
    fn addresses(&mut self, pools: &Pools) -> Step<BTreeMap<String, Address>> {
        let snapshot = self.snapshot;
        let mut addresses = BTreeMap::new();
        let mut waiting = Waiting::default();
        let mut refused = None;
        for (name, pool) in pools {
            match snapshot.ip_claims.iter().find(|c| c.claim.is_on(pool)) {
                None => self.ask(pool, &mut waiting),
                Some(claim) => match (claim.claim.problem(), &claim.address) {
                    (Some(problem), _) => {
                        let count = free_after(&problem, snapshot, name);
                        let count = count.map(|count| format!(" ({count})")).unwrap_or_default();
                        refused.get_or_insert(format!("IP Allocation for {name} failed : {problem}{count}"));
                    }
                    (None, Some(address)) => {
                        addresses.insert(name.clone(), address.clone());
                    }
                    (None, None) => waiting.add_pool(snapshot, pool),
                },
            }
        }
        match (refused, waiting.what()) {
            (Some(message), _) => Err(Stop::fail(reason::IP_ALLOCATION_FAILED, message)),
            (None, Some(what)) => Err(Stop::wait(reason::WAITING_FOR_IP_ADDRESS, what)),
            (None, None) => Ok(addresses),
        }
    }

    /// Makes the claim on a pool, unless a claim of that name is still there.
    fn ask(&mut self, pool: &PoolRef, waiting: &mut Waiting) {
        let Some(namesake) = self.snapshot.namesakes.get(&self.snapshot.claim_name(pool)) else {
            ask(&mut self.others, self.snapshot, pool);
            return waiting.add_pool(self.snapshot, pool);
        };
        if namesake.is_of_predecessor(&self.new) && namesake.metadata().is_deleting() {
            // Its data had our name, so it is gone: nobody else will take this finalizer off.
            namesake.let_go(&mut self.others);
        }
        let (kind, name) = (namesake.kind(), namesake.metadata().name_str());
        waiting.add(format!("{kind} {name}, which is not of this data, to be gone"));
    }

    /// Waits for the claim to go, gives every address back, lets go. Needs no template.
    fn delete(mut self, now: &str) -> Plan {
        if let Some(what) = self.is_paused() {
            return Plan::wait_for(what);
        }
        match claim_state(&self.snapshot.data, self.snapshot.claim.as_deref(), self.snapshot.claim_is_gone) {
            ClaimState::Gone => {}
            ClaimState::Unknown => return Plan::done().ending(End::After(PROVE_AGAIN)),
            ClaimState::Held => {
                let claim = self.snapshot.claim.as_ref().map(|claim| claim.metadata.name_str());
                let what = format!("Metal3DataClaim {} to be gone", claim.unwrap_or_default());
                return self.stay(Plan::done(), what, now);
            }
        }
        let mut plan = Plan::done();
        let mut held_by_pools = Vec::new();
        for PoolClaim { claim, .. } in &self.snapshot.ip_claims {
            if self.is_released_by_pool(claim) {
                claim.delete(&mut plan);
                held_by_pools.push(claim.metadata().name_str());
            } else {
                claim.release(&mut plan, &self.snapshot.gone_pools);
            }
        }
        if !held_by_pools.is_empty() {
            let what = format!("the address of IPClaim {} to be given back", held_by_pools.join(", "));
            return self.stay(plan, what, now);
        }
        remove_finalizer(&mut self.new.metadata, finalizer::DATA);
        // The claim is gone, so nobody else will take its finalizer off.
        remove_finalizer(&mut self.new.metadata, finalizer::DATA_CLAIM);
        plan.update_object(self.snapshot.data.as_ref(), &self.new);
        plan
    }

    /// Waits on the way out, and says so if that lasts.
    fn stay(mut self, mut plan: Plan, what: String, now: &str) -> Plan {
        let old = self.snapshot.data.as_ref();
        if let Some(rest) = still_patient(&old.metadata, None, now) {
            return plan.ending(End::After(rest));
        }
        let standing = Standing::stopped(&Stop::wait(reason::DELETING, &what));
        tell_data(&mut plan, old, &mut self.new, &standing, false, now);
        plan.update_status(old, &self.new);
        plan.ending(End::WaitFor(what))
    }

    /// Whether the built-in address manager takes our finalizer off the claim together with its own. It sees on this data
    /// that nobody uses the address any more, so the data stays until that is done.
    fn is_released_by_pool(&self, claim: &AddressClaim) -> bool {
        let AddressClaim::Metal3(claim) = claim else { return false };
        let is_of_both = |f: &String| [finalizer::DATA, finalizer::IP_CLAIM].contains(&f.as_str());
        self.snapshot.serves_addresses
            && claim.metadata.has_finalizer(finalizer::IP_CLAIM)
            && claim.metadata.finalizers.iter().flatten().all(is_of_both)
            && claim.metadata.is_owned_by_uid(self.snapshot.data.metadata.uid_str())
            && self.snapshot.working_pools.contains(claim.spec.pool.name_str())
    }

    /// Whether the claim goes and its machine has let it go, or it uses other data by now: what this data lacks is no news to
    /// anybody.
    fn is_given_up(&self) -> bool {
        let Some(claim) = self.snapshot.claim.as_deref() else { return false };
        let used = claim.status.rendered_data.as_ref();
        let uses_another = used.is_some_and(|used| used.name_str() != self.new.metadata.name_str());
        let is_let_go = claim.metadata.is_deleting() && !claim.metadata.has_finalizer(finalizer::MACHINE);
        uses_another || is_let_go
    }

    fn is_claimed(&self) -> bool {
        let Snapshot { data, claim, claim_is_gone, .. } = self.snapshot;
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
fn resolve(snapshot: &Snapshot) -> Step<(&Metal3DataTemplate, &Metal3Machine)> {
    let name = snapshot.data.spec.template.as_ref().map(|t| t.name_str()).unwrap_or_default();
    let template = snapshot.template.as_deref();
    let template = template
        .ok_or_else(|| Stop::wait(reason::WAITING_FOR_TEMPLATE, format!("Metal3DataTemplate {name}")))?;
    if snapshot.claim.is_none() {
        return Err(Stop::wait(reason::WAITING_FOR_CLAIM, "the Metal3DataClaim"));
    }
    let machine = snapshot
        .metal3_machine
        .as_deref()
        .ok_or_else(|| Stop::wait(reason::WAITING_FOR_MACHINE, "the Metal3Machine that owns the claim"))?;
    let asked = machine.spec.data_template.as_ref().map(|t| t.name_str()).unwrap_or_default();
    if asked != name {
        return Err(Stop::fail(
            reason::RENDER_FAILED,
            format!(
                "metal3Machine associated with Metal3DataTemplate is not found: Metal3Machine {} asks for template {asked:?}, not {name:?}",
                machine.metadata.name_str()
            ),
        ));
    }
    Ok((template, machine))
}
