//! How long things take: by profile, scaled by a speed, spread by the seed.
//!
//! A duration depends on the seed, the object and the phase only, never on the order of asking, so that runs repeat.

use std::{collections::BTreeMap, time::Duration};

use capm3_engine::{Clock, ObjectKey, rng::Rng};
use jiff::Timestamp;
use parking_lot::Mutex;

/// How much time hosts, bootstrap and nodes take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Profile {
    /// Nothing takes time.
    #[default]
    Instant,
    /// Seconds: long enough to watch.
    Demo,
    /// Minutes: about what real machines take.
    Realistic,
    /// As much as is given, at any speed; whatever is not named takes no time.
    Steps(Steps),
}

/// How long the steps that matter take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Steps {
    /// From the start of the deployment of an image to its end.
    pub provision: Duration,
    /// From the wish to have a host back to its being available, cleaning included.
    pub clean: Duration,
}

impl Steps {
    fn of(self, phase: Phase) -> Duration {
        match phase {
            Phase::Provision => self.provision,
            Phase::Deprovision | Phase::DeprovisionWithCleaning => self.clean,
            _ => Duration::ZERO,
        }
    }
}

/// What takes time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    Register,
    Inspect,
    Prepare,
    Provision,
    Deprovision,
    DeprovisionWithCleaning,
    PowerOn,
    PowerOff,
    Delete,
    Bootstrap,
    Join,
    /// How long a kubelet that does not report counts as well.
    NodeMonitorGrace,
    /// How long Pods of a Node that is out of service are left to end by themselves.
    Evict,
}

/// How long each phase takes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pace {
    profile: Profile,
    speed: f64,
    seed: u64,
}

impl Pace {
    pub(crate) fn new(profile: Profile, speed: f64, seed: u64) -> Self {
        let speed = if speed.is_finite() && speed > 0.0 { speed } else { 1.0 };
        Self { profile, speed, seed }
    }

    /// How long `phase` of the object takes.
    pub(crate) fn duration(&self, phase: Phase, key: &ObjectKey) -> Duration {
        let (least, most) = match self.profile {
            Profile::Instant => return Duration::ZERO,
            Profile::Demo => demo(phase),
            Profile::Realistic => realistic(phase),
            Profile::Steps(steps) => return steps.of(phase),
        };
        let chance = Rng::seeded(self.seed ^ digest(&format!("{key} {phase:?}")));
        let milliseconds = least + chance.below(most - least + 1);
        Duration::from_millis(milliseconds).div_f64(self.speed)
    }
}

/// Least and most milliseconds of a phase in the demo.
fn demo(phase: Phase) -> (u64, u64) {
    match phase {
        Phase::Register | Phase::PowerOn | Phase::PowerOff | Phase::Delete | Phase::Bootstrap => {
            (1_000, 1_000)
        }
        Phase::Inspect => (2_000, 2_000),
        Phase::Prepare => (500, 500),
        Phase::Provision => (5_000, 10_000),
        Phase::Deprovision => (3_000, 3_000),
        Phase::DeprovisionWithCleaning => (10_000, 10_000),
        Phase::Join => (3_000, 3_600),
        Phase::NodeMonitorGrace => (4_000, 4_000),
        Phase::Evict => (2_000, 2_000),
    }
}

/// Least and most milliseconds of a phase on real machines.
fn realistic(phase: Phase) -> (u64, u64) {
    match phase {
        Phase::Register => (1_000, 5_000),
        Phase::Inspect => (130_000, 156_000),
        Phase::Prepare => (5_000, 6_000),
        Phase::Provision => (393_000, 470_000),
        Phase::Deprovision => (60_000, 72_000),
        Phase::DeprovisionWithCleaning => (180_000, 216_000),
        Phase::PowerOn | Phase::PowerOff | Phase::Delete => (10_000, 12_000),
        Phase::Bootstrap => (2_000, 2_400),
        Phase::Join => (60_000, 180_000),
        Phase::NodeMonitorGrace => (40_000, 50_000),
        Phase::Evict => (20_000, 40_000),
    }
}

/// A number from a text, the same on every machine (FNV-1a).
pub(crate) fn digest(text: &str) -> u64 {
    text.bytes()
        .fold(0xCBF2_9CE4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
}

/// Since when each object is in its present phase.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    clock: Clock,
    started: Mutex<Started>,
}

/// Since when each object is in its present phase, told the time.
#[derive(Debug, Default)]
pub(crate) struct Started(BTreeMap<ObjectKey, (Phase, Timestamp)>);

impl Started {
    /// What is left of a phase; the first question starts it, another phase ends it.
    pub(crate) fn left(
        &mut self,
        key: &ObjectKey,
        phase: Phase,
        total: Duration,
        now: Timestamp,
    ) -> Duration {
        if total.is_zero() {
            return total;
        }
        let since = match self.0.get(key) {
            Some((known, since)) if *known == phase => *since,
            _ => {
                self.0.insert(key.clone(), (phase, now));
                now
            }
        };
        let elapsed = Duration::try_from(now.duration_since(since)).unwrap_or_default();
        total.saturating_sub(elapsed)
    }

    /// Ends whatever phase the object is in.
    pub(crate) fn stop(&mut self, key: &ObjectKey) {
        self.0.remove(key);
    }
}

impl Stopwatch {
    pub(crate) fn new(clock: Clock) -> Self {
        Self { clock, started: Mutex::default() }
    }

    /// What is left of a phase; the first question starts it, another phase ends it.
    pub(crate) fn left(&self, key: &ObjectKey, phase: Phase, total: Duration) -> Duration {
        self.started.lock().left(key, phase, total, self.clock.now())
    }

    /// Ends whatever phase the object is in.
    pub(crate) fn stop(&self, key: &ObjectKey) {
        self.started.lock().stop(key);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host() -> ObjectKey {
        ObjectKey::new("metal3", "host-1")
    }

    #[test]
    fn nothing_takes_time_in_the_instant_profile() {
        let pace = Pace::new(Profile::Instant, 1.0, 1);
        assert_eq!(pace.duration(Phase::Provision, &host()), Duration::ZERO);
    }

    #[test]
    fn durations_are_within_the_profile_repeatable_and_scaled_by_speed() {
        let pace = Pace::new(Profile::Demo, 1.0, 7);
        let once = pace.duration(Phase::Provision, &host());
        assert!((5..=10).contains(&once.as_secs()), "{once:?}");
        assert_eq!(pace.duration(Phase::Provision, &host()), once);
        let fast = Pace::new(Profile::Demo, 10.0, 7).duration(Phase::Inspect, &host());
        assert_eq!(fast, Duration::from_millis(200));
        let odd = Pace::new(Profile::Demo, 0.0, 7).duration(Phase::Inspect, &host());
        assert_eq!(odd, Duration::from_secs(2), "a speed that makes no sense is one");
    }

    #[test]
    fn given_steps_take_what_is_given_and_everything_else_takes_no_time() {
        let steps = Steps { provision: Duration::from_secs(60), clean: Duration::from_secs(90) };
        let pace = Pace::new(Profile::Steps(steps), 10.0, 1);
        for (phase, seconds) in [
            (Phase::Provision, 60),
            (Phase::Deprovision, 90),
            (Phase::DeprovisionWithCleaning, 90),
            (Phase::Inspect, 0),
            (Phase::Join, 0),
        ] {
            assert_eq!(pace.duration(phase, &host()).as_secs(), seconds, "{phase:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_phase_runs_out_and_another_phase_starts_again() {
        let watch = Stopwatch::new(Clock::starting_at(Timestamp::UNIX_EPOCH));
        let total = Duration::from_secs(10);
        assert_eq!(watch.left(&host(), Phase::Inspect, total), total);
        tokio::time::advance(Duration::from_secs(4)).await;
        assert_eq!(watch.left(&host(), Phase::Inspect, total), Duration::from_secs(6));
        assert_eq!(watch.left(&host(), Phase::Prepare, total), total);
        tokio::time::advance(Duration::from_secs(11)).await;
        assert_eq!(watch.left(&host(), Phase::Prepare, total), Duration::ZERO);
    }
}
