//! What to do with a Metal3Machine that is not being deleted: wait for what must come first, then host, data, image,
//! Node, in this order. Each step either passes or ends the pass with what it waits for.

use crate::plan::{End, Plan};
use capm3_api::{
    conditions::{LegacyCondition, Severity, find, is_true},
    metadata::MetadataExt,
    neighbours::{Cluster, Machine},
    v1beta2::{Initialization, Metal3Machine},
    vocabulary::{condition, finalizer, label},
};
use capm3_domain::{
    user_data::has_user_data,
    wait::{Text, Wait},
};
use capm3_engine::{EventNote, Next, ObjectKey};

use super::{
    MachineSnapshot, Stage, associate, data, delete, live_reads::Question, node, pause, refusal,
    status::Status, status_throttle::status_throttle,
};
use crate::{conditions, finalizers::add_finalizer};

/// What to do next, and what the controller must know beside it.
#[derive(Debug, Clone, PartialEq)]
pub struct Decision {
    /// A question to the server, or a plan.
    pub next: Next<Question, Wait>,
    /// The workload cluster whose Nodes must be known to go on.
    pub connect: Option<ObjectKey>,
    /// Whether the machine waits for a host to become usable.
    pub awaits: Awaits,
    /// How far the pass came.
    pub stage: Stage,
}

impl Decision {
    /// The plan; none while the server must be asked.
    pub fn plan(&self) -> Option<&Plan> {
        match &self.next {
            Next::Act(plan) => Some(plan),
            Next::Ask(_) => None,
        }
    }
}

/// Which hosts a machine waits for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Awaits {
    /// None.
    #[default]
    Nothing,
    /// Any that it can use.
    AnyHost,
    /// One that is reserved under this label and not ready yet, though others may be free.
    Reservation(String),
}

/// One pass over a machine: what it is, what it becomes, and what else is to be written.
pub(super) struct Pass<'a> {
    pub(super) snapshot: &'a MachineSnapshot<'a>,
    pub(super) new: Metal3Machine,
    pub(super) now: &'a str,
    /// Writes to other objects; they come after the machine's spec and before its status.
    pub(super) others: Plan,
    /// Writes that come before all others.
    pub(super) first: Plan,
    /// Writes that come after all others.
    pub(super) last: Plan,
    pub(super) connect: Option<ObjectKey>,
    pub(super) ask: Option<Question>,
    /// Whether the status is written although the next pass follows at once: what it says is not known any more later.
    pub(super) say_now: bool,
    /// Whether the end of a pause is to be written on the host.
    pub(super) wakes_host: bool,
    pub(super) awaits: Awaits,
    pub(super) stage: Stage,
    /// Events about what only the status distinguishes from the last pass: recorded when the status is written.
    pub(super) with_status: Vec<EventNote>,
}

/// A step passes, or ends the pass.
pub(super) type Step<T = ()> = Result<T, End>;

/// Decides; `now` is written where something changes.
pub fn decide(snapshot: &MachineSnapshot<'_>, now: &str) -> Decision {
    let mut pass = Pass {
        snapshot,
        new: snapshot.metal3_machine.as_ref().clone(),
        now,
        others: Plan::done(),
        first: Plan::done(),
        last: Plan::done(),
        connect: None,
        ask: None,
        say_now: false,
        wakes_host: false,
        awaits: Awaits::Nothing,
        stage: Stage::default(),
        with_status: Vec::new(),
    };
    if snapshot.refused.is_none() {
        refusal::forget(&mut pass.new);
    }
    let end = if pass.new.metadata.is_deleting() { delete::run(&mut pass) } else { run(&mut pass) };
    pass.finish(end.err().unwrap_or(End::Done))
}

fn run(pass: &mut Pass<'_>) -> Step {
    let (machine, cluster) = pass.owners()?;
    pass.stage = Stage::Pause;
    pause::run(pass, Some(cluster))?;
    pass.status().no_failure();
    pass.stage = Stage::Infrastructure;
    pass.infrastructure(cluster)?;
    pass.hold_on()?;
    associate::release_surplus(pass);
    if pass.is_provisioned() && machine.node_name().is_some() {
        associate::keep_host(pass, machine)?;
        node::identify_again(pass)?;
    } else {
        provision(pass, machine)?;
    }
    pass.stage = Stage::Ready;
    Ok(())
}

fn provision(pass: &mut Pass<'_>, machine: &Machine) -> Step {
    pass.stage = Stage::Bootstrap;
    pass.bootstrap(machine)?;
    pass.stage = Stage::Host;
    associate::take_host(pass, machine)?;
    pass.stage = Stage::Data;
    data::claim(pass)?;
    data::wait(pass)?;
    pass.stage = Stage::Provisioning;
    associate::provision_host(pass)?;
    pass.stage = Stage::Node;
    node::find(pass)
}

impl<'a> Pass<'a> {
    pub(super) fn status(&mut self) -> Status<'_> {
        Status { machine: &mut self.new, now: self.now }
    }

    pub(super) fn namespace(&self) -> &'a str {
        self.snapshot.metal3_machine.metadata.namespace_str()
    }

    /// Records an event on the machine.
    pub(super) fn event(&mut self, reason: &'static str, message: String) {
        let note = self.note(reason, message);
        self.others.event(note);
    }

    /// Logs a step that the objects show as well as an event would.
    pub(super) fn log(&mut self, step: &'static str, message: String) {
        let note = self.note(step, message);
        self.others.event(note.only_logged());
    }

    /// Records an event when the status is written.
    pub(super) fn event_with_status(&mut self, warning: bool, reason: &'static str, message: String) {
        let note = self.note(reason, message);
        self.with_status.push(EventNote { warning, ..note });
    }

    /// Logs a step when the status is written, whose condition shows as much as an event would.
    pub(super) fn log_with_status(&mut self, step: &'static str, message: String) {
        let note = self.note(step, message);
        self.with_status.push(note.only_logged());
    }

    /// Records an event that somebody should look at.
    pub(super) fn warning(&mut self, reason: &'static str, message: String) {
        let note = self.note(reason, message);
        self.others.event(EventNote { warning: true, ..note });
    }

    /// An event on the machine, with cluster and host for the log.
    fn note(&self, reason: &'static str, message: String) -> EventNote {
        let machine = self.snapshot.metal3_machine.as_ref();
        let cluster = machine.metadata.label(label::CLUSTER_NAME).unwrap_or_default();
        let host = self.snapshot.host.as_deref().map(|host| host.metadata.name_str()).unwrap_or_default();
        EventNote::normal(machine, reason, message).about(cluster, host)
    }

    /// Whether the machine was fully provisioned once.
    pub(super) fn is_provisioned(&self) -> bool {
        is_provisioned(&self.new)
    }

    /// Ends the pass with a wait, which the conditions show.
    pub(super) fn wait(&mut self, wait: Wait) -> End {
        self.status().show(&wait);
        End::WaitFor(wait)
    }

    /// Ends the pass with a question to the server.
    pub(super) fn ask(&mut self, question: Question) -> End {
        self.ask = Some(question);
        End::Done
    }

    /// Passes once an absence is proven, or the server has shown the object. What cannot be proven is put into a
    /// condition by `show`, and asked again later.
    pub(super) fn prove(&mut self, question: Question, show: fn(&mut Status<'_>, &Wait)) -> Step {
        let live = &self.snapshot.live;
        if !live.has_answered(&question) {
            return Err(self.ask(question));
        }
        let Some(doubt) = live.doubt(&question) else { return Ok(()) };
        let wait = Wait::Unproven { subject: Text::new(&question), doubt: Text::new(doubt) };
        let retry_after = doubt.retry_after();
        show(&mut self.status(), &wait);
        Err(End::Retry(wait, retry_after))
    }

    /// Owner Machine and Cluster must be there.
    fn owners(&mut self) -> Step<(&'a Machine, &'a Cluster)> {
        let snapshot = self.snapshot;
        let Some(machine) = snapshot.machine.as_deref() else {
            let owner = snapshot.owner.clone();
            return Err(self.wait(owner.map_or(Wait::OwnerReference, Wait::Machine)));
        };
        // From a machine that is provisioned Cluster API copies the domain the other way. If both copied, two values that
        // differ would change places for ever.
        if !self.is_provisioned() {
            self.new.spec.failure_domain.clone_from(&machine.spec.failure_domain);
        }
        self.stage = Stage::Cluster;
        let Some(cluster) = snapshot.cluster.as_deref() else {
            return Err(self.wait(Wait::Cluster(machine.spec.cluster_name.clone())));
        };
        Ok((machine, cluster))
    }

    /// The Cluster's infrastructure must be ready and the Metal3Cluster there.
    fn infrastructure(&mut self, cluster: &Cluster) -> Step {
        let name = || cluster.metadata.name_str().to_owned();
        if !cluster.infrastructure_is_ready() {
            return Err(self.wait(Wait::Infrastructure(name())));
        }
        if self.snapshot.metal3_cluster.is_none() {
            return Err(self.wait(Wait::Metal3Cluster(name())));
        }
        Ok(())
    }

    /// The finalizer is stored before anything is taken, so that nothing taken can be forgotten.
    fn hold_on(&mut self) -> Step {
        if self.snapshot.is_preview || self.new.metadata.has_finalizer(finalizer::MACHINE) {
            return Ok(());
        }
        add_finalizer(&mut self.new.metadata, finalizer::MACHINE);
        Err(End::Again)
    }

    fn bootstrap(&mut self, machine: &Machine) -> Step {
        if has_user_data(&self.new, machine) {
            return Ok(());
        }
        Err(self.wait(Wait::Bootstrap(machine.metadata.name_str().to_owned())))
    }

    /// Puts the writes in order: the machine's spec, the other objects, the machine's status. At the end of its life
    /// the machine's own finalizer goes last. A pass that is followed by another at once leaves the status to that one.
    fn finish(mut self, end: End) -> Decision {
        let old = self.snapshot.metal3_machine.as_ref();
        if let Some(refusal) = &self.snapshot.refused {
            return refusal::report(self, refusal);
        }
        if let Some(question) = self.ask.take() {
            return self.decision(Next::Ask(question));
        }
        let mut plan = std::mem::take(&mut self.first);
        let others = std::mem::take(&mut self.others);
        let is_held = self.new.metadata.has_finalizer(finalizer::MACHINE);
        if is_held {
            plan.update_object(old, &self.new);
            plan.append(others);
        } else {
            plan.append(others);
            plan.update_object(old, &self.new);
        }
        let lives_on = is_held || !old.metadata.is_deleting();
        let is_reported = lives_on && (self.say_now || end != End::Again);
        let end = if is_reported { self.say(old, &mut plan, end) } else { end };
        plan.append(std::mem::take(&mut self.last));
        self.decision(Next::Act(plan.ending(end)))
    }

    pub(super) fn decision(self, next: Next<Question, Wait>) -> Decision {
        Decision { next, connect: self.connect, awaits: self.awaits, stage: self.stage }
    }

    /// One condition may have been set several times in this pass; only the last word counts. And the spec that this
    /// very plan writes has been judged already.
    fn settle_conditions(&mut self, old: &Metal3Machine) {
        conditions::keep_times(&old.status.conditions, &mut self.new.status.conditions);
        let legacy = conditions::legacy(&mut self.new.status.deprecated);
        conditions::keep_legacy_times(legacy_of(old), legacy);
        if old.spec != self.new.spec {
            let generation = old.metadata.generation.map(|generation| generation + 1);
            for condition in &mut self.new.status.conditions {
                condition.observed_generation = generation;
            }
        }
    }

    /// Writes the status if its content changed and is worth a word already; else the last word is written later.
    pub(super) fn say(&mut self, old: &Metal3Machine, plan: &mut Plan, end: End) -> End {
        self.status().summarise();
        self.settle_conditions(old);
        if old.status == self.new.status {
            return end;
        }
        if let Some(rest) = status_throttle(old, &self.new, self.snapshot.machines_in_progress, self.now)
            .filter(|_| !self.say_now)
        {
            return End::After(rest);
        }
        self.new.status.last_updated = Some(self.now.into());
        plan.update_status(old, &self.new);
        self.record_wait(old, &end);
        self.log_milestones(old);
        self.with_status.drain(..).for_each(|note| plan.event(note));
        end
    }

    /// Steps that conditions show and that are worth a line in the log, but no event.
    fn log_milestones(&mut self, old: &Metal3Machine) {
        let milestones = [
            (condition::HOST_PROVISIONED, "the host is provisioned"),
            (condition::READY, "the machine is ready"),
        ];
        for (type_, message) in milestones {
            let is_now = |machine: &Metal3Machine| is_true(&machine.status.conditions, type_);
            if is_now(&self.new) && !is_now(old) {
                let note = self.note(type_, message.to_owned()).only_logged();
                self.with_status.push(note);
            }
        }
    }

    /// A wait that lasts is one event, when it is first shown. What has an event of its own is not recorded twice.
    fn record_wait(&mut self, old: &Metal3Machine, end: &End) {
        let (End::WaitFor(wait) | End::Retry(wait, _)) = end else { return };
        let Some(shown) = wait.facts().shown.filter(|_| self.with_status.is_empty()) else { return };
        let before = find(&old.status.conditions, shown.condition);
        if before.is_some_and(|before| before.status == "False" && before.reason == shown.reason) {
            return;
        }
        let passes = shown.legacy.is_some_and(|(_, _, severity)| severity == Severity::Info);
        self.event_with_status(!passes, shown.reason, wait.message().to_string());
    }
}

/// Whether a machine was fully provisioned once.
pub fn is_provisioned(machine: &Metal3Machine) -> bool {
    machine.spec.provider_id.as_ref().is_some_and(|id| !id.is_empty())
        && Initialization::is_provisioned(&machine.status.initialization)
}

/// The older conditions of a machine.
fn legacy_of(machine: &Metal3Machine) -> &[LegacyCondition] {
    let v1beta1 = machine.status.deprecated.as_ref().and_then(|d| d.v1beta1.as_ref());
    v1beta1.map(|v| v.conditions.as_slice()).unwrap_or_default()
}
