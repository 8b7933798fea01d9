//! Engines that treat cancellations carelessly. The exercise "Catch the careless cancel" asks for a test that tells them from the right one.
//!
//! They have no model and no text: a request is a number of tokens, two slots stand side by side, and whoever sits in one gets a token in
//! every step. What is left is what goes wrong in real engines: who waits, who sits where, which slot is free.

use crate::request::SeqId;
use std::collections::{BTreeMap, VecDeque};

/// Slots of these engines.
pub const NUM_SLOTS: usize = 2;

// ANCHOR: subject
/// What a test sees of an engine.
pub trait Subject {
    /// A request for so many tokens, at least one. It waits at the end of the queue. Ids count up from 1.
    fn submit(&mut self, new_tokens: usize) -> SeqId;
    /// Ends a request wherever it is. One that ended before, or never was, stays as it is.
    fn cancel(&mut self, id: SeqId);
    /// One step: free slots go to those who wait longest, then everybody in a slot gets a token. The cancels of `during` arrive in
    /// between, when the batch is made and no token is handed out. Returns who got a token.
    fn step(&mut self, during: &[SeqId]) -> Vec<SeqId>;
    /// Slots in which nobody sits.
    fn num_free(&self) -> usize;
    /// Requests that wait.
    fn num_waiting(&self) -> usize;
}
// ANCHOR_END: subject

/// A new engine.
pub type Make = fn() -> Box<dyn Subject>;

/// The right one.
pub fn correct() -> Box<dyn Subject> {
    Box::new(Small::new(Fault::None))
}

// ANCHOR: careless
/// The careless ones, each with what it does.
pub const CARELESS: [(&str, Make); 9] = [
    ("leaves a cancelled request in the queue", || make(Fault::StaysInQueue)),
    (
        "lets the last of the queue take the place of the one that left it",
        || make(Fault::SwapsQueue),
    ),
    ("does not give the slot back", || make(Fault::KeepsSlot)),
    ("gives the slot back and writes on", || make(Fault::WritesOn)),
    ("gives the slot back once more at a second cancel", || {
        make(Fault::FreesAtSecondCancel)
    }),
    (
        "gives back the slot of a request that is done, whoever sits there now",
        || make(Fault::FreesAfterEnd),
    ),
    (
        "keeps the slot of a request that is cancelled in its first step",
        || make(Fault::KeepsSlotInFirstStep),
    ),
    (
        "hands out the token of a request that was cancelled during the step",
        || make(Fault::HandsOutAnyway),
    ),
    (
        "gives the slot back twice when the cancel comes during the last step",
        || make(Fault::FreesTwiceInLastStep),
    ),
];
// ANCHOR_END: careless

fn make(fault: Fault) -> Box<dyn Subject> {
    Box::new(Small::new(fault))
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
    HandsOutAnyway,
    FreesTwiceInLastStep,
}

/// A request in a slot.
#[derive(Clone, Copy)]
struct Seated {
    id: SeqId,
    /// Tokens that it still gets.
    left: usize,
    /// Whether it has had one.
    started: bool,
}

struct Small {
    fault: Fault,
    waiting: VecDeque<(SeqId, usize)>,
    slots: [Option<Seated>; NUM_SLOTS],
    free: Vec<usize>,
    /// Where those sat who ended, and whether they were cancelled.
    ended: BTreeMap<u64, (usize, bool)>,
    num_submitted: u64,
}

impl Small {
    fn new(fault: Fault) -> Small {
        Small {
            fault,
            waiting: VecDeque::new(),
            slots: [None; NUM_SLOTS],
            free: (0..NUM_SLOTS).rev().collect(),
            ended: BTreeMap::new(),
            num_submitted: 0,
        }
    }

    fn cancel_waiting(&mut self, at: usize) {
        match self.fault {
            Fault::StaysInQueue => {}
            Fault::SwapsQueue => drop(self.waiting.swap_remove_back(at)),
            _ => drop(self.waiting.remove(at)),
        }
    }

    fn cancel_seated(&mut self, slot: usize, seated: Seated) {
        if self.fault != Fault::WritesOn {
            self.slots[slot] = None;
        }
        let keeps = self.fault == Fault::KeepsSlot || (self.fault == Fault::KeepsSlotInFirstStep && !seated.started);
        if !keeps {
            self.free.push(slot);
        }
        self.ended.insert(seated.id.0, (slot, true));
    }

    fn cancel_ended(&mut self, id: SeqId) {
        let faulty = match self.ended.get(&id.0) {
            Some((slot, true)) if self.fault == Fault::FreesAtSecondCancel => Some(*slot),
            Some((slot, false)) if self.fault == Fault::FreesAfterEnd => Some(*slot),
            _ => None,
        };
        self.free.extend(faulty);
    }

    /// The token of one who was in the batch.
    fn hand_out(&mut self, slot: usize, was: Seated) -> bool {
        match &mut self.slots[slot] {
            Some(seated) if seated.id == was.id => {
                (seated.left, seated.started) = (seated.left - 1, true);
                if seated.left == 0 {
                    self.slots[slot] = None;
                    self.free.push(slot);
                    self.ended.insert(was.id.0, (slot, false));
                }
                true
            }
            // Cancelled while the step ran.
            _ => {
                if self.fault == Fault::FreesTwiceInLastStep && was.left == 1 {
                    self.free.push(slot);
                }
                self.fault == Fault::HandsOutAnyway
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
        let sits = |slot: &Option<Seated>| slot.is_some_and(|seated| seated.id == id);
        let slot = self.slots.iter().position(sits);
        match slot.and_then(|slot| Some((slot, self.slots[slot]?))) {
            Some((slot, seated)) => self.cancel_seated(slot, seated),
            None => self.cancel_ended(id),
        }
    }

    fn step(&mut self, during: &[SeqId]) -> Vec<SeqId> {
        while !self.waiting.is_empty()
            && let Some(slot) = self.free.pop()
        {
            let next = self.waiting.pop_front();
            self.slots[slot] = next.map(|(id, left)| Seated {
                id,
                left,
                started: false,
            });
        }
        let batch: Vec<(usize, Seated)> = (0..NUM_SLOTS)
            .filter_map(|slot| Some((slot, self.slots[slot]?)))
            .collect();
        for id in during {
            self.cancel(*id);
        }
        let got = batch.into_iter().filter(|(slot, was)| self.hand_out(*slot, *was));
        got.map(|(_, was)| was.id).collect()
    }

    fn num_free(&self) -> usize {
        self.free.len()
    }

    fn num_waiting(&self) -> usize {
        self.waiting.len()
    }
}
