//! A test of a scheduler that a reader writes. It gets schedulers and says what is wrong with them.

use crate::unjust::{AGE, Subject};

/// Tests whether a scheduler forgets a request: `Ok` for the right one ([`crate::unjust::correct`]), and for each
/// unjust one of [`crate::unjust::UNJUST`] an error that says in a few words what was seen.
///
/// `make` gives a new scheduler at each call. The promise: of the waiting requests the most urgent class goes first,
/// and within a class the oldest; each [`AGE`] steps since its arrival make a request one class more urgent, whether it
/// was preempted meanwhile or not; and the first that finds no room ends the search. So no request that came
/// `class * AGE` or more steps after another one joins while that one waits.
///
/// # Errors
/// What was seen, for a scheduler that breaks one of these.
pub fn test_starvation(make: &dyn Fn() -> Box<dyn Subject>) -> Result<(), String> {
    // ANCHOR: ex_11_5
    // The urgent one came later and goes first: one of two places is free in step 4.
    let mut scheduler = make();
    scheduler.submit(0, 4, 1);
    scheduler.submit(0, 9, 1);
    scheduler.step();
    let patient = scheduler.submit(1, 1, 1);
    scheduler.step();
    let urgent = scheduler.submit(0, 1, 1);
    let order: Vec<_> = (0..10)
        .flat_map(|_| scheduler.step())
        .filter(|id| *id == patient || *id == urgent)
        .collect();
    if order != [urgent, patient] {
        return Err(format!("class 0 came one step after class 1; they ran as {order:?}"));
    }

    // One request of each kind in a flood of short, small, urgent ones: two in every step, where one can be served.
    for (class, steps, size, is_preempted) in (0..3u8)
        .flat_map(|class| [1, 5].map(|steps| (class, steps)))
        .flat_map(|(class, steps)| [1, 4].map(|size| (class, steps, size)))
        .flat_map(|(class, steps, size)| [false, true].map(|back| (class, steps, size, back)))
    {
        let mut scheduler = make();
        // Both places are taken when it comes, and they will be free one after the other.
        scheduler.submit(0, 3, 1);
        scheduler.submit(0, 2, 1);
        scheduler.step();
        let one = scheduler.submit(class, steps, size);
        let late = u64::from(class) * AGE;
        let (mut flood, mut seen, mut left) = (Vec::new(), Vec::new(), steps);
        for now in 0..60 {
            flood.extend([0, 1].map(|_| (scheduler.submit(0, 2, 1), now)));
            let ran = scheduler.step();
            if ran.contains(&one) {
                left -= 1;
                // It is as old as before, so it comes back before all that are late.
                if is_preempted {
                    scheduler.preempt(one);
                }
            } else if left > 0 {
                let is_new = |id| ran.contains(id) && !seen.contains(id);
                let passed = flood.iter().find(|(id, came)| is_new(id) && *came >= late);
                if let Some((id, came)) = passed {
                    return Err(format!(
                        "class {class}, {steps} steps, size {size}, preempted: {is_preempted}: \
                         {id} came {came} steps later and joined before it"
                    ));
                }
            }
            seen.extend(ran);
        }
        if left > 0 {
            return Err(format!(
                "class {class}, {steps} steps, size {size}: {left} steps are left after 60"
            ));
        }
    }
    Ok(())
    // ANCHOR_END: ex_11_5
}
