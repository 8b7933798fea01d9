//! Policies as orders, and the waiting times under each of them. All on the virtual clock.

use crate::common::{job, meta, ms};
use continuous_batching::SeqId;
use proptest::prelude::*;
use scheduling::fairness::jain;
use scheduling::meta::Candidate;
use scheduling::policy::{
    FairQuota, Fcfs, Lane, LengthCap, PlacesPerClass, Policy, Priority, PriorityWithAgeing, ShortestPrompt, first,
};
use scheduling::simulate::{Job, Setup, Simulation, simulate};
use scheduling::step_cost::StepCost;
use scheduling::{Class, TenantId};
use std::cmp::Ordering;
use std::time::Duration;

fn policies() -> Vec<Box<dyn Policy>> {
    vec![
        Box::new(Fcfs),
        Box::new(ShortestPrompt),
        Box::new(Priority),
        Box::new(PriorityWithAgeing { step: ms(30) }),
        Box::new(PlacesPerClass { places: 1 }),
        Box::new(FairQuota),
        Box::new(Lane {
            from: Class(1),
            places: 2,
        }),
        Box::new(LengthCap {
            prompt_tokens: 4,
            patience: ms(40),
            inner: Priority,
        }),
    ]
}

fn candidates() -> impl Strategy<Value = Vec<Candidate>> {
    // Few values, so that many are equal in something.
    let numbers = (0..120u64, 0..3u32, 0..4u8, 1..8usize, 1..8usize, 0..4u64);
    prop::collection::vec((numbers, 0..3usize), 1..9).prop_map(|drawn| {
        let candidate = |(id, ((at, tenant, class, prompt, missing, served), running))| Candidate {
            id: SeqId(id),
            arrival: ms(at),
            tenant: TenantId(tenant),
            class: Class(class),
            prompt_tokens: prompt,
            missing_tokens: missing,
            served_tokens: served,
            class_running: running,
        };
        (0..).zip(drawn).map(candidate).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    /// With the number as the last word each policy is a total order at any time: no two are equal, turning round turns
    /// round, and a request that goes before one that goes before a third goes before the third.
    #[test]
    fn every_policy_is_a_total_order(waiting in candidates(), now in 100..300u64) {
        for policy in policies() {
            let order = |a: &Candidate, b: &Candidate| policy.compare(ms(now), a, b).then(a.id.cmp(&b.id));
            for a in &waiting {
                prop_assert_eq!(order(a, a), Ordering::Equal);
                prop_assert_eq!(policy.compare(ms(now), a, a), Ordering::Equal);
                for b in waiting.iter().filter(|b| b.id != a.id) {
                    prop_assert_ne!(order(a, b), Ordering::Equal);
                    prop_assert_eq!(order(a, b), order(b, a).reverse());
                    for c in &waiting {
                        if order(a, b).is_lt() && order(b, c).is_lt() {
                            prop_assert!(order(a, c).is_lt(), "{}: {a:?} {b:?} {c:?}", policy.name());
                        }
                    }
                }
            }
            // One goes first unless none may join, and it goes before all others that may.
            let place = first(&*policy, ms(now), waiting.iter().copied());
            prop_assert_eq!(place.is_some(), waiting.iter().any(|other| policy.may_join(other)));
            if let Some(best) = place.map(|place| &waiting[place]) {
                prop_assert!(policy.may_join(best));
                let mut others = waiting.iter().filter(|other| policy.may_join(other));
                prop_assert!(others.all(|other| order(best, other).is_le()));
            }
        }
    }

    /// The stated bound of ageing: no request that came `class * step` or more after another one starts before it. So a
    /// request waits for the work of those that came before that moment, and for no other, however many come.
    #[test]
    fn ageing_keeps_its_bound(
        drawn in prop::collection::vec((0..30u64, 0..4u8, 1..5usize), 1..60),
        places in 1..4usize,
        step in 5..80u64,
    ) {
        const STEP: Duration = Duration::from_millis(10);
        let mut at = 0;
        let jobs: Vec<Job> = drawn.iter().map(|(gap, class, new)| {
            at += gap;
            job(at, *class, 1, *new)
        }).collect();
        let mut setup = Setup::new(places, 16);
        setup.cost = StepCost::equal_steps(STEP);
        let done = simulate(&setup, Box::new(PriorityWithAgeing { step: ms(step) }), &jobs).unwrap();
        for (one, job) in done.outcomes.iter().zip(&jobs) {
            let late = one.arrived + ms(step) * u32::from(job.meta.class.0);
            let mut before = Duration::ZERO;
            for (other, work) in done.outcomes.iter().zip(&jobs) {
                if other.arrived >= late && other.arrived > one.arrived {
                    prop_assert!(other.started >= one.started, "{job:?} waits for {work:?}");
                } else {
                    before += STEP * work.new_tokens as u32;
                }
            }
            // One step may be running when it comes.
            prop_assert!(one.waited(done.end) <= before + STEP, "{job:?} waited {:?}", one.waited(done.end));
        }
    }
}

/// One place, steps of 10 ms, urgent requests of one step for `steps` steps without a pause, and one of class 2 that
/// comes at the beginning.
fn flooded(policy: Box<dyn Policy>, steps: u64) -> Duration {
    let mut setup = Setup::new(1, 16);
    setup.cost = StepCost::equal_steps(ms(10));
    let mut jobs: Vec<Job> = (0..steps).map(|i| job(10 * i, 0, 1, 1)).collect();
    jobs.insert(1, job(1, 2, 1, 1));
    let done = simulate(&setup, policy, &jobs).unwrap();
    done.outcomes[1].waited(done.end)
}

/// Pure priority has no bound: a patient request waits as long as urgent ones keep coming. Ageing has a bound.
#[test]
fn pure_priority_has_no_bound_and_ageing_has_one() {
    for steps in [50, 100, 400] {
        assert_eq!(flooded(Box::new(Priority), steps), ms(10 * steps - 1), "{steps} steps");
        let aged = flooded(Box::new(PriorityWithAgeing { step: ms(100) }), steps);
        assert!(aged <= ms(2 * 100 + 10), "{steps} steps: {aged:?}");
    }
}

/// Two places, of which each class that waits keeps one: half of the steps for the patient class, and the urgent one is
/// only slowed down.
#[test]
fn a_quota_keeps_a_place_for_the_low_class() {
    let run = |policy: Box<dyn Policy>| -> Simulation {
        let mut setup = Setup::new(4, 16);
        setup.cost = StepCost::equal_steps(ms(10));
        setup.horizon = ms(2000);
        // Eight urgent requests of 4 steps come in the time that serves four of them.
        let jobs: Vec<Job> = (0..400).map(|i| job(5 * i, u8::from(i % 20 == 0), 1, 4)).collect();
        simulate(&setup, policy, &jobs).unwrap()
    };
    let worst = |done: &Simulation| {
        let low = done.outcomes.iter().step_by(20);
        low.map(|outcome| outcome.waited(done.end)).max().unwrap()
    };
    let (strict, quota) = (run(Box::new(Priority)), run(Box::new(PlacesPerClass { places: 1 })));
    assert!(worst(&strict) > ms(1500), "{:?}", worst(&strict));
    // At most the request of its own class that came 100 ms before, and one that holds a place for 40 ms.
    assert!(worst(&quota) <= ms(50), "{:?}", worst(&quota));
}

/// Four places, and four patient requests of 100 steps come first. Without a lane they hold all places for 1000 ms; in
/// a lane of one place they run one after the other, and an urgent request never waits.
#[test]
fn a_lane_holds_its_places_and_leaves_the_others_free() {
    let run = |policy: Box<dyn Policy>| {
        let mut setup = Setup::new(4, 128);
        setup.cost = StepCost::equal_steps(ms(10));
        let mut jobs: Vec<Job> = (0..4).map(|_| job(0, 1, 1, 100)).collect();
        jobs.extend((1..=20).map(|i| job(20 * i, 0, 1, 2)));
        simulate(&setup, policy, &jobs).unwrap()
    };
    let urgent = |done: &Simulation| done.outcomes[4..].iter().map(|o| o.waited(done.end)).max().unwrap();
    let (first_come, lane) = (
        run(Box::new(Fcfs)),
        run(Box::new(Lane {
            from: Class(1),
            places: 1,
        })),
    );
    assert!(urgent(&first_come) >= ms(900), "{:?}", urgent(&first_come));
    assert_eq!(urgent(&lane), ms(0));
    let ends: Vec<_> = lane.outcomes[..4].iter().map(|outcome| outcome.finished).collect();
    assert_eq!(ends, [1000, 2000, 3000, 4000].map(|end| Some(ms(end))));
}

/// A cap lets long prompts wait for short ones, but no longer than its patience.
#[test]
fn a_length_cap_has_patience() {
    let run = |patience: Duration| {
        let mut setup = Setup::new(1, 64);
        setup.cost = StepCost::equal_steps(ms(10));
        setup.horizon = ms(900);
        let mut jobs: Vec<Job> = (0..100).map(|i| job(10 * i, 0, 2, 1)).collect();
        jobs.insert(1, job(1, 0, 40, 1));
        let policy = LengthCap {
            prompt_tokens: 8,
            patience,
            inner: Fcfs,
        };
        simulate(&setup, Box::new(policy), &jobs).unwrap().outcomes[1]
    };
    assert_eq!(run(Duration::MAX).started, None);
    assert_eq!(run(ms(300)).started, Some(ms(310)));
}

/// A victim is chosen by the class that ageing gives it, also where a cap stands before the policy.
#[test]
fn a_length_cap_leaves_ageing_alone() {
    let capped = LengthCap {
        prompt_tokens: 8,
        patience: ms(100),
        inner: PriorityWithAgeing { step: ms(100) },
    };
    assert_eq!(capped.class_of(ms(250), Class(3), ms(0)), Class(1));
    assert_eq!(capped.class_of(ms(300), Class(3), ms(0)), Class(0));
}

/// Tenant 0 sends ten times as much as tenant 1. First come first served gives it ten times as much; the quota gives
/// both the same while both have any waiting.
#[test]
fn a_fair_quota_shares_rows_evenly() {
    let run = |policy: Box<dyn Policy>| {
        let mut setup = Setup::new(4, 64);
        setup.horizon = ms(4000);
        let jobs: Vec<Job> = (0..4000)
            .map(|i| Job {
                meta: meta(u32::from(i % 11 == 0), 0),
                ..job(i, 0, 10, 10)
            })
            .collect();
        let done = simulate(&setup, policy, &jobs).unwrap();
        let rows: Vec<f64> = [0, 1].map(|tenant| done.served[&TenantId(tenant)] as f64).into();
        jain(&rows)
    };
    let (fcfs, quota) = (run(Box::new(Fcfs)), run(Box::new(FairQuota)));
    assert!(fcfs < 0.65, "{fcfs}");
    assert!(quota > 0.98, "{quota}");
}

/// Tenant 1 sends nothing for a second, then as much as tenant 0. It is not served alone until it has caught up.
#[test]
fn a_tenant_that_was_away_brings_no_credit() {
    let mut setup = Setup::new(1, 64);
    setup.cost = StepCost::equal_steps(ms(10));
    setup.horizon = ms(1400);
    let mut jobs: Vec<Job> = (0..300).map(|_| job(0, 0, 1, 1)).collect();
    let late = |_| Job {
        meta: meta(1, 0),
        ..job(1000, 0, 1, 1)
    };
    jobs.extend((0..100).map(late));
    let done = simulate(&setup, Box::new(FairQuota), &jobs).unwrap();
    let served = |tenant: u32| {
        let pairs = done.outcomes.iter().zip(&jobs);
        let since =
            pairs.filter(|(outcome, job)| job.meta.tenant == TenantId(tenant) && outcome.started >= Some(ms(1000)));
        since.count() as i64
    };
    assert!((served(0) - served(1)).abs() <= 1, "{} {}", served(0), served(1));
}

/// The same where all tenants were away: the first one to ask owes nothing, and is owed nothing.
#[test]
fn after_an_idle_time_all_tenants_start_from_the_same_number() {
    let mut setup = Setup::new(1, 64);
    setup.cost = StepCost::equal_steps(ms(10));
    let mut jobs: Vec<Job> = (0..50).map(|_| job(0, 0, 1, 1)).collect();
    let of = |tenant: u32| {
        move |_| Job {
            meta: meta(tenant, 0),
            ..job(1000, 0, 1, 1)
        }
    };
    jobs.extend((0..20).map(of(1)));
    jobs.extend((0..20).map(of(0)));
    let done = simulate(&setup, Box::new(FairQuota), &jobs).unwrap();
    let early = |tenant: u32| {
        let pairs = done.outcomes.iter().zip(&jobs);
        let early = pairs.filter(|(outcome, job)| {
            let started = outcome.started.unwrap_or_default();
            job.meta.tenant == TenantId(tenant) && (ms(1000)..ms(1200)).contains(&started)
        });
        early.count()
    };
    assert_eq!((early(0), early(1)), (10, 10));
}

/// First come, first served with a limit on waiting: a request is served soon, or told that it is not.
#[test]
fn with_a_timeout_no_request_is_served_late() {
    let mut setup = Setup::new(2, 64);
    setup.limits.max_wait = Some(ms(100));
    let jobs: Vec<Job> = (0..400).map(|i| job(2 * i, 0, 4, 10)).collect();
    let done = simulate(&setup, Box::new(Fcfs), &jobs).unwrap();
    assert!(done.stats.timed_out > 100, "{:?}", done.stats);
    let gave_up = done.outcomes.iter().filter(|outcome| outcome.gave_up);
    assert_eq!(gave_up.count() as u64, done.stats.timed_out);
    for outcome in done.outcomes.iter().filter(|outcome| !outcome.gave_up) {
        assert_eq!(outcome.tokens, 10);
        assert!(outcome.waited(done.end) < ms(100), "{outcome:?}");
    }
    assert!((done.outcomes.iter()).all(|outcome| !outcome.gave_up || outcome.tokens == 0));
}
