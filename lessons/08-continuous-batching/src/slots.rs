//! Slots: memory cut into equal places, one request each, used again as soon as it leaves.
//!
//! A slot is either free or held, and it knows which. The free ones form a list that runs through the slots themselves: each names the next
//! one. So taking a slot and giving it back are two writes each, whatever the number of slots, and nothing is ever allocated or moved.
//!
//! ```text
//! first_free = 2        slot 0: held by 7     slot 1: free, next none     slot 2: free, next 1     slot 3: held by 4
//! ```

use crate::memory::{Admission, Memory};
use crate::recycle::recycle;
use crate::request::{Request, SeqId};
use serde::{Deserialize, Serialize};

/// The number of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SlotId(pub usize);

// ANCHOR: slot
/// One place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// Nobody's. What is stored in it is left over and means nothing.
    Free {
        /// The free slot after this one.
        next: Option<SlotId>,
    },
    /// Somebody's.
    Held {
        /// Whose.
        owner: SeqId,
        /// Positions that are stored; what lies beyond is left over from an earlier owner.
        len: usize,
    },
}
// ANCHOR_END: slot

/// Numbers of all slots; the floats are in [`crate::slot_cache::SlotCache`]. By itself it is the memory of a scheduler without a model.
#[derive(Clone, Debug)]
pub struct Slots {
    slots: Vec<Slot>,
    /// The slot that the next request gets: the one that became free last, whose lines may still be in the processor's cache.
    first_free: Option<SlotId>,
    /// Most tokens of one slot.
    capacity: usize,
}

impl Slots {
    /// `num_slots` free slots for up to `capacity` tokens each, to be taken in the order of their numbers.
    pub fn new(num_slots: usize, capacity: usize) -> Slots {
        let next = |slot: usize| (slot + 1 < num_slots).then_some(SlotId(slot + 1));
        Slots {
            slots: (0..num_slots).map(|slot| Slot::Free { next: next(slot) }).collect(),
            first_free: (num_slots > 0).then_some(SlotId(0)),
            capacity,
        }
    }

    /// All slots, by number.
    pub fn all(&self) -> &[Slot] {
        &self.slots
    }

    /// Most tokens of one slot.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Takes the first free slot. Cost: constant.
    pub fn take(&mut self, owner: SeqId) -> Option<SlotId> {
        let slot = self.first_free?;
        let Slot::Free { next } = self.slots[slot.0] else {
            panic!("{slot:?} is on the free list and held: {:?}", self.slots[slot.0]);
        };
        self.first_free = next;
        self.slots[slot.0] = Slot::Held { owner, len: 0 };
        Some(slot)
    }

    /// The slot that a sequence holds. Cost: a look at each slot.
    pub fn find(&self, owner: SeqId) -> Option<SlotId> {
        let is_it = |slot: &Slot| matches!(slot, Slot::Held { owner: held_by, .. } if *held_by == owner);
        self.slots.iter().position(is_it).map(SlotId)
    }

    /// Positions stored in a slot; zero in a free one.
    pub fn len(&self, slot: SlotId) -> usize {
        match self.slots[slot.0] {
            Slot::Held { len, .. } => len,
            Slot::Free { .. } => 0,
        }
    }

    /// Says how many positions a held slot stores now.
    ///
    /// # Panics
    /// If it is free, or `len` is beyond its capacity.
    pub fn set_len(&mut self, slot: SlotId, len: usize) {
        assert!(len <= self.capacity, "{len} positions in a slot of {}", self.capacity);
        match &mut self.slots[slot.0] {
            Slot::Held { len: stored, .. } => *stored = len,
            Slot::Free { .. } => panic!("{slot:?} is free, it stores nothing"),
        }
    }

    /// Slots that nobody holds. Cost: a look at each slot.
    pub fn num_free(&self) -> usize {
        self.slots.len() - self.num_holders()
    }
}

impl Memory for Slots {
    /// The capacity of a slot; nothing where there is no slot, so that nobody waits for one.
    fn max_seq_len(&self) -> usize {
        match self.slots.is_empty() {
            true => 0,
            false => self.capacity,
        }
    }

    fn admit(&mut self, request: &mut Request) -> Admission {
        assert!(!self.holds(request.id), "{} holds a slot already", request.id);
        match self.take(request.id) {
            Some(_) => Admission::Admitted,
            None => Admission::NoRoom,
        }
    }

    fn release(&mut self, id: SeqId) -> bool {
        match self.find(id) {
            Some(slot) => recycle(&mut self.slots, &mut self.first_free, slot, id),
            None => false,
        }
    }

    fn holds(&self, id: SeqId) -> bool {
        self.find(id).is_some()
    }

    fn num_holders(&self) -> usize {
        let is_held = |slot: &&Slot| matches!(slot, Slot::Held { .. });
        self.slots.iter().filter(is_held).count()
    }

    fn slot_of(&self, id: SeqId) -> Option<SlotId> {
        self.find(id)
    }

    fn check_invariants(&self) {
        let mut owners: Vec<SeqId> = Vec::new();
        for slot in &self.slots {
            if let Slot::Held { owner, len } = *slot {
                assert!(!owners.contains(&owner), "{owner} holds two slots: {:?}", self.slots);
                assert!(len <= self.capacity, "{slot:?}");
                owners.push(owner);
            }
        }
        // The list visits every free slot once, and no other.
        let (mut on_list, mut place) = (0, self.first_free);
        while let Some(slot) = place {
            let Slot::Free { next } = self.slots[slot.0] else {
                panic!("{slot:?} is on the free list and held: {:?}", self.slots);
            };
            on_list += 1;
            assert!(
                on_list <= self.slots.len(),
                "the free list runs in a circle: {:?}",
                self.slots
            );
            place = next;
        }
        assert_eq!(
            on_list + owners.len(),
            self.slots.len(),
            "a slot is neither held nor on the free list: {:?}",
            self.slots
        );
    }
}
