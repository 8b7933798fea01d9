//! Small engines, each with one fault in how it handles a cancel. The exercise "Catch the careless cancel" asks for a
//! test that tells them from the right one.
//!
//! They have no model and no text: a request is a number of tokens, there are two slots, and each request in a slot
//! gets a token in every step. What remains is what goes wrong in real engines: which requests wait, which slot holds
//! which request, which slots are free.

use crate::request::SeqId;
use std::collections::{BTreeMap, VecDeque};

/// Number of slots of these engines.
pub const NUM_SLOTS: usize = 2;

// ANCHOR: subject
/// An engine as a test sees it.
pub trait Subject {
    /// Adds a request for `new_tokens` tokens, at least one, at the end of the queue. Ids count up from 1.
    fn submit(&mut self, new_tokens: usize) -> SeqId;

    /// Ends a request in any state. A request that has ended, or an unknown id, stays as it is.
    fn cancel(&mut self, id: SeqId);

    /// One step: free slots go to the requests that wait longest, then each request in a slot gets a token. The cancels
    /// of `during` arrive in between, when the batch is made and no token is given out.
    ///
    /// Returns the ids of the requests that got a token, in the order of their **slots**. Two requests that begin in
    /// the same step may stand in any order here, so compare the steps in which requests begin, not their order within
    /// a step.
    fn step(&mut self, during: &[SeqId]) -> Vec<SeqId>;

    /// Number of free slots.
    fn num_free(&self) -> usize;

    /// Number of waiting requests.
    fn num_waiting(&self) -> usize;
}
// ANCHOR_END: subject

/// The right engine.
pub fn correct() -> Box<dyn Subject> {
    make(Fault::None)
}

// ANCHOR: careless
/// The careless engines, each with a description of its fault.
#[expect(clippy::type_complexity, reason = "a name for a pair would say no more")]
pub const CARELESS: [(&str, fn() -> Box<dyn Subject>); 9] = [
    ("leaves a cancelled request in the queue", || make(Fault::StaysInQueue)),
    (
        "moves the last waiting request to the place of the cancelled one",
        || make(Fault::SwapsQueue),
    ),
    ("does not free the slot", || make(Fault::KeepsSlot)),
    ("frees the slot and goes on giving out tokens", || make(Fault::WritesOn)),
    ("frees the slot once more at a second cancel", || {
        make(Fault::FreesAtSecondCancel)
    }),
    (
        "frees the slot of a request that had ended, though another one holds it now",
        || make(Fault::FreesAfterEnd),
    ),
    (
        "keeps the slot of a request that is cancelled in its first step",
        || make(Fault::KeepsSlotInFirstStep),
    ),
    (
        "gives out the token of a request that was cancelled during the step",
        || make(Fault::GivesOutAnyway),
    ),
    (
        "frees the slot twice when the cancel comes during the last step",
        || make(Fault::FreesTwiceInLastStep),
    ),
];
// ANCHOR_END: careless

fn make(fault: Fault) -> Box<dyn Subject> {
    Box::new(Small {
        fault,
        waiting: VecDeque::new(),
        slots: [None; NUM_SLOTS],
        free: (0..NUM_SLOTS).rev().collect(),
        ended: BTreeMap::new(),
        num_submitted: 0,
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Fault {
    None,
    StaysInQueue,
    SwapsQueue,
    KeepsSlot,
    WritesOn,
    FreesAtSecondCancel,
    FreesAfterEnd,
    KeepsSlotInFirstStep,
    GivesOutAnyway,
    FreesTwiceInLastStep,
}

/// A request in a slot.
#[derive(Clone, Copy)]
struct Placed {
    id: SeqId,
    /// Number of tokens that it still gets.
    left: usize,
    /// Whether it has got a token yet.
    started: bool,
}

struct Small {
    fault: Fault,
    /// Waiting requests and the number of tokens that each asks for.
    waiting: VecDeque<(SeqId, usize)>,
    slots: [Option<Placed>; NUM_SLOTS],
    free: Vec<usize>,
    /// For each request that ended in a slot: that slot, and whether the request was cancelled.
    ended: BTreeMap<u64, (usize, bool)>,
    num_submitted: u64,
}

impl Small {
    fn cancel_waiting(&mut self, at: usize) {
        match self.fault {
            Fault::StaysInQueue => {}
            Fault::SwapsQueue => drop(self.waiting.swap_remove_back(at)),
            _ => drop(self.waiting.remove(at)),
        }
    }

    fn cancel_placed(&mut self, slot: usize, placed: Placed) {
        if self.fault != Fault::WritesOn {
            self.slots[slot] = None;
        }
        let keeps = self.fault == Fault::KeepsSlot || (self.fault == Fault::KeepsSlotInFirstStep && !placed.started);
        if !keeps {
            self.free.push(slot);
        }
        // Kept for the faulty engines that free the slot later.
        self.ended.insert(placed.id.0, (slot, true));
    }

    fn cancel_ended(&mut self, id: SeqId) {
        let faulty = match self.ended.get(&id.0) {
            Some((slot, true)) if self.fault == Fault::FreesAtSecondCancel => Some(*slot),
            Some((slot, false)) if self.fault == Fault::FreesAfterEnd => Some(*slot),
            _ => None,
        };
        // A slot that is freed twice stands on the list twice.
        self.free.extend(faulty);
    }

    /// Gives a token to a request of the batch, if it still is in its slot. Returns whether it got one.
    fn give_out(&mut self, slot: usize, was: Placed) -> bool {
        match &mut self.slots[slot] {
            Some(placed) if placed.id == was.id => {
                (placed.left, placed.started) = (placed.left - 1, true);
                if placed.left == 0 {
                    self.slots[slot] = None;
                    self.free.push(slot);
                    self.ended.insert(was.id.0, (slot, false));
                }
                true
            }
            // The request was cancelled while the step ran.
            _ => {
                if self.fault == Fault::FreesTwiceInLastStep && was.left == 1 {
                    self.free.push(slot);
                }
                self.fault == Fault::GivesOutAnyway
            }
        }
    }
}

impl Subject for Small {
    fn submit(&mut self, new_tokens: usize) -> SeqId {
        self.num_submitted += 1;
        let id = SeqId(self.num_submitted);
        self.waiting.push_back((id, new_tokens.max(1)));
        id
    }

    fn cancel(&mut self, id: SeqId) {
        if let Some(at) = self.waiting.iter().position(|(waits, _)| *waits == id) {
            return self.cancel_waiting(at);
        }
        let holds_it = |slot: &Option<Placed>| slot.is_some_and(|placed| placed.id == id);
        let slot = self.slots.iter().position(holds_it);
        match slot.and_then(|slot| Some((slot, self.slots[slot]?))) {
            Some((slot, placed)) => self.cancel_placed(slot, placed),
            None => self.cancel_ended(id),
        }
    }

    fn step(&mut self, during: &[SeqId]) -> Vec<SeqId> {
        while !self.waiting.is_empty()
            && let Some(slot) = self.free.pop()
        {
            let next = self.waiting.pop_front();
            self.slots[slot] = next.map(|(id, left)| Placed {
                id,
                left,
                started: false,
            });
        }
        // The batch is made before the cancels arrive, as in an engine whose model computes meanwhile.
        let batch: Vec<(usize, Placed)> = (0..NUM_SLOTS)
            .filter_map(|slot| Some((slot, self.slots[slot]?)))
            .collect();
        for id in during {
            self.cancel(*id);
        }
        let got = batch.into_iter().filter(|(slot, was)| self.give_out(*slot, *was));
        got.map(|(_, was)| was.id).collect()
    }

    fn num_free(&self) -> usize {
        self.free.len()
    }

    fn num_waiting(&self) -> usize {
        self.waiting.len()
    }
}
