//! A slot goes back to the free list.

use crate::request::SeqId;
use crate::slots::{Slot, SlotId};

/// Returns a slot to the front of the free list if `owner` holds it. The result is true then.
///
/// If the slot is free, or another request holds it by now, nothing changes and the result is false. So a second
/// release of one request can neither put a slot on the list twice nor take it from its next owner. Cost: constant; the
/// floats in the slot stay as they are.
pub fn recycle(slots: &mut [Slot], first_free: &mut Option<SlotId>, slot: SlotId, owner: SeqId) -> bool {
    // ANCHOR: ex_08_3
    match slots[slot.0] {
        Slot::Held { owner: held_by, .. } if held_by == owner => {
            // `next` is read before `first_free` changes: the slot that was first until now follows this one.
            slots[slot.0] = Slot::Free { next: *first_free };
            *first_free = Some(slot);
            true
        }
        // A second free, or a late one: the slot is free or belongs to another request.
        _ => false,
    }
    // ANCHOR_END: ex_08_3
}
