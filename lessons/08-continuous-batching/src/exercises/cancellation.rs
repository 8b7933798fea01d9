//! A test that a reader writes: it gets engines and says what is wrong with them.

use crate::careless::{NUM_SLOTS, Subject};
use crate::request::SeqId;

/// Tests what an engine does at a cancel: `Ok` for the right one ([`crate::careless::correct`]), and for each careless
/// one of [`crate::careless::CARELESS`] an error that says in a few words what was seen.
///
/// `make` gives a new engine with two slots at each call. What a cancel promises: the request gets no token after it,
/// whether it waits, is in a slot, or is in the batch of a step that runs; its slot is free again, once; all other
/// requests get all of their tokens, and none of them begins in an earlier step than a request that was submitted
/// before it; a cancel of a request that has ended does nothing.
///
/// # Errors
/// What was seen, for an engine that breaks one of these promises.
pub fn test_cancellation(make: &dyn Fn() -> Box<dyn Subject>) -> Result<(), String> {
    // ANCHOR: ex_08_5
    const LENGTHS: [usize; 4] = [2, 5, 3, 3];
    // Each request is cancelled once before and once during each step, and each time once more one step later.
    for (victim, at, is_during) in
        (0..LENGTHS.len()).flat_map(|victim| (0..10).flat_map(move |at| [(victim, at, false), (victim, at, true)]))
    {
        let mut engine = make();
        let ids: Vec<SeqId> = LENGTHS.iter().map(|length| engine.submit(*length)).collect();
        let case = format!("{:?} cancelled in step {at}, during it: {is_during}", ids[victim]);
        let (mut tokens, mut first_steps) = ([0; LENGTHS.len()], [None; LENGTHS.len()]);
        // More steps than all 13 tokens need, even through one slot.
        for step in 0..16 {
            let cancels = step == at || step == at + 1;
            if cancels && !(is_during && step == at) {
                engine.cancel(ids[victim]);
            }
            let during: &[SeqId] = if is_during && step == at { &[ids[victim]] } else { &[] };
            for id in engine.step(during) {
                let Some(index) = ids.iter().position(|known| *known == id) else {
                    return Err(format!("{case}: a token for the unknown request {id:?}"));
                };
                if index == victim && step >= at {
                    return Err(format!("{case}: it got a token in step {step}"));
                }
                first_steps[index].get_or_insert(step);
                tokens[index] += 1;
            }
        }
        for (index, length) in LENGTHS.iter().enumerate() {
            if index != victim && tokens[index] != *length {
                return Err(format!(
                    "{case}: {:?} got {} tokens of {length}",
                    ids[index], tokens[index]
                ));
            }
        }
        // Steps, not places within a step: `step` returns ids in the order of slots.
        let others = (0..LENGTHS.len()).filter(|index| *index != victim);
        let began: Vec<Option<usize>> = others.map(|index| first_steps[index]).collect();
        if !began.is_sorted() {
            return Err(format!("{case}: the others began in steps {began:?}"));
        }
        if (engine.num_free(), engine.num_waiting()) != (NUM_SLOTS, 0) {
            return Err(format!("{case}: {} free slots at the end", engine.num_free()));
        }
    }
    Ok(())
    // ANCHOR_END: ex_08_5
}
