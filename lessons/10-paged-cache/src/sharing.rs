//! What a request says about sharing: with which requests it may share blocks, and whose blocks it takes over.

use crate::hash::Salt;
use continuous_batching::SeqId;

// ANCHOR: sharing
/// The sharing options of a request. It carries them from its submission on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sharing {
    /// A request with the same prompt and salt, whose blocks this request takes over once they are computed. Until then
    /// it waits, and in an engine without overtaking, so do the requests behind it.
    pub parent: Option<SeqId>,
    /// Requests share blocks by content only with requests of the same salt.
    pub salt: Salt,
}
// ANCHOR_END: sharing

/// Data attached to a request that says how the request shares blocks.
pub trait Shares {
    /// The sharing options of the request.
    fn sharing(&self) -> Sharing;
}

impl Shares for Sharing {
    fn sharing(&self) -> Sharing {
        *self
    }
}

/// A request with nothing attached has the default options: no parent, and the salt that all such requests have in
/// common.
impl Shares for () {
    fn sharing(&self) -> Sharing {
        Sharing::default()
    }
}
