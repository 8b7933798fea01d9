//! Who has to give memory back when there is none left.

use crate::entry::Class;

/// The one to be sent back, among requests that run, by its place in `classes`; the oldest request stands at place 0.
///
/// The least urgent class pays; within it the youngest, for it has the least to lose and the longest still to go. Nobody before `first` may be chosen:
/// their rows are already in this step's batch. And never the one at place 0: as long as the oldest keeps what it has, it gets to its end, frees all
/// of it, and the next one is the oldest. Without that rule two requests can send each other back for ever. `None`: nobody may be sent back.
///
/// Cost: one look at each.
pub fn choose_victim(classes: &[Class], first: usize) -> Option<usize> {
    // ANCHOR: ex_11_3
    let allowed = first.max(1)..classes.len();
    allowed.max_by_key(|place| (classes[*place], *place))
    // ANCHOR_END: ex_11_3
}
