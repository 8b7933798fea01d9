//! Slots: memory cut into equal pieces, one for each request, used again as soon as the request has left.
//!
//! A slot is either free or held. The free ones form a list that runs through the slots themselves: each holds the
//! number of the next one. So taking a slot and putting it back are two writes each, whatever the number of slots, and
//! nothing is allocated or moved. To find the slot of a request, [`Slots::find`] looks at each slot.
//!
//! ```text
//! first_free = 2        slot 0: held by 7     slot 1: free, next none     slot 2: free, next 1     slot 3: held by 4
//! ```

use crate::exercises::recycle::recycle;
use crate::memory::{Admission, Memory};
use crate::request::{Request, SeqId};
use serde::{Deserialize, Serialize};

/// The number of a slot, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SlotId(pub usize);

// ANCHOR: slot
/// The state of one slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// No request holds the slot. The floats in it are left over from an earlier owner.
    Free {
        /// The slot after this one on the free list; `None` in the last one.
        next: Option<SlotId>,
    },
    /// A request holds the slot.
    Held {
        /// Number of that request.
        owner: SeqId,
        /// Number of positions in use; the floats behind them are left over from an earlier owner.
        len: usize,
    },
}
// ANCHOR_END: slot

/// Which request holds which slot. The floats are in [`crate::slot_cache::SlotCache`].
#[derive(Clone, Debug)]
pub struct Slots {
    slots: Vec<Slot>,
    /// The slot that the next request gets: the one that became free last, as its lines may still be in the processor's
    /// cache.
    first_free: Option<SlotId>,
    /// Number of positions in one slot.
    capacity: usize,
}

impl Slots {
    /// `num_slots` free slots for up to `capacity` tokens each, taken in the order of their numbers.
    pub fn new(num_slots: usize, capacity: usize) -> Slots {
        let next = |slot: usize| (slot + 1 < num_slots).then_some(SlotId(slot + 1));
        Slots {
            // All slots are free, and each names the one after it.
            slots: (0..num_slots).map(|slot| Slot::Free { next: next(slot) }).collect(),
            first_free: (num_slots > 0).then_some(SlotId(0)),
            capacity,
        }
    }

    /// All slots, by number.
    pub fn all(&self) -> &[Slot] {
        &self.slots
    }

    /// Number of positions in one slot.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// Takes the first free slot. Cost: constant.
    pub fn take(&mut self, owner: SeqId) -> Option<SlotId> {
        let slot = self.first_free?;
        let Slot::Free { next } = self.slots[slot.0] else {
            panic!("{slot:?} is on the free list and held: {:?}", self.slots[slot.0]);
        };
        // The list goes on behind the taken slot.
        self.first_free = next;
        // Length 0: what the floats hold belongs to an earlier owner.
        self.slots[slot.0] = Slot::Held { owner, len: 0 };
        Some(slot)
    }

    /// The slot that a sequence holds. Cost: a look at each slot.
    pub fn find(&self, owner: SeqId) -> Option<SlotId> {
        let is_it = |slot: &Slot| matches!(slot, Slot::Held { owner: held_by, .. } if *held_by == owner);
        self.slots.iter().position(is_it).map(SlotId)
    }

    /// Number of positions in use in a slot; zero in a free slot.
    pub fn len(&self, slot: SlotId) -> usize {
        match self.slots[slot.0] {
            Slot::Held { len, .. } => len,
            Slot::Free { .. } => 0,
        }
    }

    /// Number of free slots. Cost: a look at each slot.
    pub fn num_free(&self) -> usize {
        self.slots
            .iter()
            .filter(|slot| matches!(slot, Slot::Free { .. }))
            .count()
    }
}

impl<X> Memory<X> for Slots {
    /// The capacity of a slot; zero where there is no slot, so that no request waits for one.
    fn max_seq_len(&self) -> usize {
        // With the capacity instead of 0, a request would be accepted and wait for a slot that never comes.
        match self.slots.is_empty() {
            true => 0,
            false => self.capacity,
        }
    }

    fn admit(&mut self, request: &mut Request<X>) -> Admission {
        assert!(self.find(request.id).is_none(), "{} holds a slot already", request.id);
        match self.take(request.id) {
            Some(_) => Admission::Admitted,
            None => Admission::NoRoom,
        }
    }

    /// A slot has room for `capacity` tokens from the start: this only notes how many are in use.
    fn grow(&mut self, id: SeqId, num_tokens: usize) -> bool {
        let slot = self.find(id).expect("an admitted sequence holds a slot");
        let has_room = num_tokens <= self.capacity;
        // A refused growth leaves the length as it was.
        if has_room && let Slot::Held { len, .. } = &mut self.slots[slot.0] {
            *len = num_tokens;
        }
        has_room
    }

    fn free(&mut self, id: SeqId) -> bool {
        match self.find(id) {
            // `recycle` compares the owner once more, as it may be called with any slot.
            Some(slot) => recycle(&mut self.slots, &mut self.first_free, slot, id),
            None => false,
        }
    }

    fn holds(&self, id: SeqId) -> bool {
        self.find(id).is_some()
    }

    fn num_holders(&self) -> usize {
        self.slots.len() - self.num_free()
    }

    fn write_table(&self, id: SeqId, table: &mut Vec<u32>) {
        let slot = self.find(id).expect("an admitted sequence holds a slot");
        // One piece of memory holds all positions.
        table.push(slot.0 as u32);
    }

    fn check_invariants(&self) {
        let mut owners: Vec<SeqId> = Vec::new();
        for slot in &self.slots {
            // `free` finds only the first slot of an owner, so a second one would never be freed.
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
            // A list in a circle would never end, so its length is limited.
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
