//! Cancelling from elsewhere: while a step computes, or from another thread.

use crate::request::SeqId;
use std::sync::{Arc, Mutex, MutexGuard};

/// Takes the numbers of requests that somebody wants to end. The engine looks at it before it decides who is computed, and once more between
/// computing and publishing. So a request that is cancelled while the model works on it gets no token from that pass.
#[derive(Clone, Debug)]
pub struct Canceller {
    wanted: Arc<Mutex<Vec<SeqId>>>,
}

impl Canceller {
    /// An empty one with room for `capacity` numbers between two looks.
    pub fn with_capacity(capacity: usize) -> Canceller {
        Canceller {
            wanted: Arc::new(Mutex::new(Vec::with_capacity(capacity))),
        }
    }

    /// Asks for the end of a request. Twice is as good as once, and a number that nobody has does nothing.
    pub fn cancel(&self, id: SeqId) {
        self.wanted().push(id);
    }

    /// Calls `cancel` for each number and forgets it.
    pub fn drain(&self, cancel: impl FnMut(SeqId)) {
        self.wanted().drain(..).for_each(cancel);
    }

    /// A list of numbers is whole whatever panicked beside it, so a poisoned lock is as good as new.
    fn wanted(&self) -> MutexGuard<'_, Vec<SeqId>> {
        self.wanted.lock().unwrap_or_else(|error| error.into_inner())
    }
}
