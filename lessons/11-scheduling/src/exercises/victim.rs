//! Which request is preempted when memory has run out.

use crate::meta::Class;

/// The request to be preempted, among the running ones, by its index in `classes`; the oldest request stands at index
/// 0.
///
/// It is the youngest of the least urgent class, as it has the least to lose and the longest still to go. No request
/// before `first` may be chosen: those have their memory for this step already. And never the one at index 0: as long
/// as the oldest keeps its memory, it gets to its end and frees all of it, and the next one is the oldest. Without that
/// rule two requests can preempt each other for ever. `None`: no request may be preempted.
///
/// Cost: one look at each request.
pub fn choose_victim(classes: &[Class], first: usize) -> Option<usize> {
    // ANCHOR: ex_11_3
    // Index 0 is left out whatever `first` is. Of equal classes the larger index wins: the younger request.
    let allowed = first.max(1)..classes.len();
    allowed.max_by_key(|place| (classes[*place], *place))
    // ANCHOR_END: ex_11_3
}
