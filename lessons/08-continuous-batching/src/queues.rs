//! The queues. A request is in exactly one of them: who owns it says where it stands.

use crate::request::{FinishReason, Request, SeqId, Status};
use std::collections::VecDeque;

/// All requests that are not over, and those whose end was not announced yet.
#[derive(Debug, Default)]
pub struct Queues {
    /// Accepted, oldest first. They hold no memory.
    pub waiting: VecDeque<Request>,
    /// In the batch, in the order in which they joined. Each holds memory, also a finished one that has not left yet.
    pub running: Vec<Request>,
    /// Finished, to be announced in the next step. They hold no memory.
    pub ended: Vec<Request>,
}

impl Queues {
    /// Empty queues with room for `max_running` requests that run and end.
    pub fn with_capacity(max_running: usize) -> Queues {
        Queues {
            waiting: VecDeque::new(),
            running: Vec::with_capacity(max_running),
            ended: Vec::with_capacity(max_running),
        }
    }

    /// Whether there is nothing to do and nothing to say.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty() && self.ended.is_empty()
    }

    // ANCHOR: cancel
    /// Ends a request, whatever its state. A running one stays in its queue until it leaves, so that nothing moves while a pass computes.
    /// Returns whether it was alive: a second cancel and a number that nobody has change nothing.
    ///
    /// Cost: a look at each request.
    pub fn cancel(&mut self, id: SeqId) -> bool {
        if let Some(place) = self.waiting.iter().position(|request| request.id == id) {
            let request = self.waiting.remove(place);
            self.ended.extend(request.map(|mut request| {
                request.finish(FinishReason::Cancelled);
                request
            }));
            return true;
        }
        let is_it = |request: &&mut Request| request.id == id && !request.is_finished();
        match self.running.iter_mut().find(is_it) {
            Some(request) => {
                request.finish(FinishReason::Cancelled);
                true
            }
            None => false,
        }
    }
    // ANCHOR_END: cancel

    /// Takes all finished requests out of the running ones, in order. `release` gets each of them, to give its memory back: this is the only way
    /// out of the batch, so no end forgets it.
    pub fn leave(&mut self, mut release: impl FnMut(&Request)) {
        for request in self.running.extract_if(.., |request| request.is_finished()) {
            release(&request);
            self.ended.push(request);
        }
    }

    /// All requests.
    pub fn all(&self) -> impl Iterator<Item = &Request> {
        self.waiting.iter().chain(&self.running).chain(&self.ended)
    }

    /// Checks what must hold between two steps.
    ///
    /// # Panics
    /// When a rule is broken: our own bug.
    pub fn check_invariants(&self) {
        let mut ids: Vec<SeqId> = self.all().map(|request| request.id).collect();
        ids.sort_unstable();
        assert!(
            ids.windows(2).all(|pair| pair[0] < pair[1]),
            "a request is in two queues: {ids:?}"
        );
        for request in self.all() {
            assert!(request.num_computed <= request.num_tokens(), "{request:?}");
            assert!(request.output.len() <= request.max_new_tokens, "{request:?}");
        }
        for request in &self.waiting {
            assert_eq!(request.status, Status::Waiting, "{request:?}");
            assert_eq!(request.num_computed, 0, "{request:?}");
        }
        for request in &self.running {
            assert_ne!(request.status, Status::Waiting, "{request:?}");
            assert!(!request.is_finished(), "it has not left: {request:?}");
        }
        for request in &self.ended {
            assert!(request.is_finished(), "{request:?}");
        }
        let waiting: Vec<SeqId> = self.waiting.iter().map(|request| request.id).collect();
        assert!(waiting.is_sorted(), "first come, first served: {waiting:?}");
    }
}
