//! Who is computed in a step, and how much of whom. Numbers only.
//!
//! ```text
//! running, oldest first:   rows by budget; room for them, or a victim is sent back
//! waiting, by the policy:  join while places, budget and memory for the whole known text are there
//! batch:                   the rows; logits only where the last known token is among them
//! ```
//!
//! Why it ends: the oldest running request is never sent back and gets a row in every step, so it comes to its end; then the next one is the oldest.
//! What can not fit alone was refused when it was submitted.

use crate::budget::fill;
use crate::entry::{Class, Entry};
use crate::limits::{Preemption, StepLimits};
use crate::memory::{Device, SwapSpace};
use crate::policy::{Policy, first};
use crate::queues::Queues;
use crate::recompute::send_back;
use crate::stats::ScheduleStats;
use crate::victim::choose_victim;
use continuous_batching::batch::{Batch, BatchSequence};
use continuous_batching::memory::{Admission, Memory};
use continuous_batching::request::Status;
use std::time::Duration;

/// Scratch of scheduling, so that no step allocates.
#[derive(Debug, Default)]
pub struct Scratch {
    missing: Vec<usize>,
    rows: Vec<usize>,
    classes: Vec<Class>,
}

/// Decides one step and writes it into `batch`. Its sequences stand in the order of the running queue; who sits the step out has none.
pub fn schedule<D: Device>(
    now: Duration,
    limits: &StepLimits,
    policy: &dyn Policy,
    queues: &mut Queues,
    memory: &mut SwapSpace<D>,
    scratch: &mut Scratch,
    batch: &mut Batch,
    stats: &mut ScheduleStats,
) {
    scratch.missing.clear();
    scratch
        .missing
        .extend(queues.running.iter().map(Entry::missing));
    scratch.rows.clear();
    scratch.rows.resize(queues.running.len(), 0);
    fill(
        limits.max_step_tokens,
        limits.max_chunk_tokens,
        &scratch.missing,
        &mut scratch.rows,
    );
    let sent_back = make_room(limits, queues, memory, scratch, stats);
    let used: usize = scratch.rows.iter().sum();
    // Whoever was just sent back shows that there is no room for others.
    if !sent_back {
        join(
            now,
            limits,
            policy,
            queues,
            memory,
            scratch,
            stats,
            limits.max_step_tokens - used,
        );
    }
    build_batch(queues, &scratch.rows, batch);
    stats.steps += 1;
    stats.rows += batch.num_rows() as u64;
}

// ANCHOR: make_room
/// Reserves memory for the rows of those who run, the oldest first. Where there is none, somebody is sent back. Returns whether anybody was.
fn make_room<D: Device>(
    limits: &StepLimits,
    queues: &mut Queues,
    memory: &mut SwapSpace<D>,
    scratch: &mut Scratch,
    stats: &mut ScheduleStats,
) -> bool {
    let mut sent_back = false;
    let mut place = 0;
    while place < queues.running.len() {
        let entry = &queues.running[place];
        let wanted = entry.request.num_computed + scratch.rows[place];
        if scratch.rows[place] == 0 || memory.reserve(entry.id(), wanted) {
            place += 1;
            continue;
        }
        scratch.classes.clear();
        scratch
            .classes
            .extend(queues.running.iter().map(|entry| entry.meta.class));
        let victim = choose_victim(&scratch.classes, place);
        let victim = victim.expect("the oldest fits alone: what does not was refused");
        let entry = queues.running.remove(victim);
        scratch.rows.remove(victim);
        preempt(limits, entry, queues, memory, stats);
        sent_back = true;
    }
    sent_back
}
// ANCHOR_END: make_room

/// Takes a request's memory back. It keeps its prompt, its output and its place in the order of arrival.
fn preempt<D: Device>(
    limits: &StepLimits,
    mut entry: Entry,
    queues: &mut Queues,
    memory: &mut SwapSpace<D>,
    stats: &mut ScheduleStats,
) {
    entry.is_swapped = limits.preemption == Preemption::Swap && memory.swap_out(entry.id());
    let computed = entry.request.num_computed;
    if entry.is_swapped {
        stats.swapped += 1;
    } else {
        memory.release(entry.id());
        stats.recomputed_tokens += computed as u64;
    }
    send_back(&mut entry.request);
    entry.preemptions += 1;
    stats.preemptions += 1;
    queues.wait(entry);
}

// ANCHOR: join
/// Lets waiting requests join in the policy's order. The first that finds no room ends it, so nobody overtakes for ever.
fn join<D: Device>(
    now: Duration,
    limits: &StepLimits,
    policy: &dyn Policy,
    queues: &mut Queues,
    memory: &mut SwapSpace<D>,
    scratch: &mut Scratch,
    stats: &mut ScheduleStats,
    mut budget: usize,
) {
    while queues.running.len() < limits.engine.max_running && budget > 0 {
        let served = &queues.served;
        let candidates = (queues.waiting.iter())
            .map(|entry| entry.candidate(served.get(&entry.meta.tenant).copied().unwrap_or(0)));
        let Some(place) = first(policy, now, candidates) else {
            return;
        };
        let entry = &mut queues.waiting[place];
        let admission = match entry.is_swapped {
            true => memory.swap_in(&mut entry.request),
            false => memory.admit(&mut entry.request),
        };
        if admission == Admission::NoRoom {
            return;
        }
        let mut entry = queues.waiting.remove(place);
        entry.is_swapped = false;
        entry.request.status = Status::Prefilling;
        let rows = entry.missing().min(limits.max_chunk_tokens).min(budget);
        budget -= rows;
        stats.admitted += 1;
        let place = queues.run(entry);
        scratch.rows.insert(place, rows);
    }
}
// ANCHOR_END: join

/// The rows of a step: of each running request the next `rows` that are not computed.
fn build_batch(queues: &Queues, rows: &[usize], batch: &mut Batch) {
    batch.clear();
    for (entry, rows) in queues.running.iter().zip(rows) {
        if *rows == 0 {
            continue;
        }
        let request = &entry.request;
        let first_row = batch.num_rows();
        let first = request.num_computed;
        batch
            .tokens
            .extend(request.tokens().skip(first).take(*rows));
        batch.positions.extend(first..first + rows);
        batch.sequences.push(BatchSequence {
            id: request.id,
            first_row,
            num_rows: *rows,
            wants_logits: first + rows == request.num_tokens(),
        });
    }
}
