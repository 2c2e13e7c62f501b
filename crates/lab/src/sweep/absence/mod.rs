//! The absence sweep: the server seems to lack objects of one kind for ten seconds or an hour, at several moments of a
//! scenario, and the provider is restarted when that begins, or is not.

mod points;

use std::{sync::Arc, time::Duration};

pub use points::{AbsencePoint, Moment, points, sample};

use super::{Outcome, Sweep, SweepError, scenario_run::Disturbance};
use crate::{
    Lab,
    faults::{Absence, AnswerFault, Faults},
};

/// How long after its end a fault may still have effects that nobody waits for: an informer that got the answer that its kind
/// is not there lists again after 30 s.
const AFTERWARDS: Duration = Duration::from_secs(120);

impl Sweep {
    /// The run in which the server seems to lack something, judged by the undisturbed one.
    pub fn run_absence(&self, point: &AbsencePoint, undisturbed: &Outcome) -> Result<Outcome, SweepError> {
        let at = point.moment.write(undisturbed.writes);
        let absence = Arc::new(Absence::new(point.kind.clone(), point.fault, at));
        let mut outcome = self.on_a_runtime(&Absent { absence: Arc::clone(&absence), point })?;
        if !absence.has_begun() {
            outcome.violations.push(format!("the provider never came to {}", point.moment));
        }
        if !hides_claims(point) {
            outcome.compare(undisturbed);
        }
        Ok(outcome)
    }
}

/// No list shows some of the hosts, so a restarted provider cannot know that one of them is claimed or reserved: no
/// request finds a host by its consumer. Placement may differ then; what is on hosts, indexes and addresses may not.
fn hides_claims(point: &AbsencePoint) -> bool {
    point.restart && point.fault == AnswerFault::PartialList && point.kind.kind == "BareMetalHost"
}

/// The disturbance of one run.
struct Absent<'a> {
    absence: Arc<Absence>,
    point: &'a AbsencePoint,
}

impl Disturbance for Absent<'_> {
    fn faults(&self) -> Arc<dyn Faults> {
        Arc::clone(&self.absence) as Arc<dyn Faults>
    }

    fn arm(&self) {
        self.absence.arm();
    }

    fn writes(&self) -> u64 {
        self.absence.writes()
    }

    fn victim(&self) -> Option<String> {
        self.absence.has_begun().then(|| self.point.to_string())
    }

    async fn happened(&self) {
        self.absence.begun().await;
    }

    async fn pass(&self, lab: &mut Lab) {
        if self.point.restart {
            lab.start_provider();
        }
        tokio::time::sleep(self.point.lasts).await;
        self.absence.over();
        tokio::time::sleep(AFTERWARDS).await;
    }

    fn hides_claims(&self) -> bool {
        hides_claims(self.point)
    }

    fn outlasts_attempts(&self) -> bool {
        true
    }

    fn at_rest(&self) -> bool {
        let waits = self.point.moment == Moment::AtRest;
        if waits {
            self.absence.begin();
        }
        waits
    }
}
