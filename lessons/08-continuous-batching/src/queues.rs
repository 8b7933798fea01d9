//! The queues of requests. A request is in exactly one of them.

use crate::request::{FinishReason, Request, SeqId, Status};
use std::collections::VecDeque;

/// All requests whose end was not reported yet.
#[derive(Debug)]
pub struct Queues<X = ()> {
    /// Requests that wait to join. They compute nothing.
    pub waiting: VecDeque<Request<X>>,
    /// Requests that run, in the order of their arrival. Each holds memory, also a finished one that has not left
    /// yet.
    pub running: Vec<Request<X>>,
    /// Finished requests whose end the next step reports. They hold no memory once [`Queues::leave`] has run.
    pub ended: Vec<Request<X>>,
}

impl<X> Default for Queues<X> {
    fn default() -> Queues<X> {
        Queues::with_capacity(0)
    }
}

impl<X> Queues<X> {
    /// Empty queues with room for `max_running` requests that run and end.
    pub fn with_capacity(max_running: usize) -> Queues<X> {
        Queues {
            waiting: VecDeque::new(),
            running: Vec::with_capacity(max_running),
            ended: Vec::with_capacity(max_running),
        }
    }

    /// Whether there is no request at all.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty() && self.ended.is_empty()
    }

    // ANCHOR: cancel
    /// Ends a request that waits or runs. It stays in its queue until [`Queues::leave`], so that no request moves while
    /// a pass computes. Returns whether the request was alive: a second cancel, or an unknown number, changes nothing.
    ///
    /// Cost: a look at each waiting and each running request.
    pub fn cancel(&mut self, id: SeqId) -> bool {
        // Ended requests are not looked at: a cancel that comes late changes nothing.
        let mut alive = self.waiting.iter_mut().chain(&mut self.running);
        match alive.find(|request| request.id == id && !request.is_finished()) {
            Some(request) => {
                request.finish(FinishReason::Cancelled);
                true
            }
            None => false,
        }
    }
    // ANCHOR_END: cancel

    /// Moves all finished requests to the ended ones, in order. `free` gets each of them, to free the memory that it
    /// holds.
    pub fn leave(&mut self, mut free: impl FnMut(&Request<X>)) {
        let mut end = |request: Request<X>| {
            // Every request that waited or ran passes here on its way out, so none keeps its memory.
            free(&request);
            self.ended.push(request);
        };
        if self.waiting.iter().any(Request::is_finished) {
            // One turn of the queue in place, so that nothing is allocated: each request leaves the front and, if it
            // still waits, joins the back.
            for _ in 0..self.waiting.len() {
                match self.waiting.pop_front() {
                    Some(request) if request.is_finished() => end(request),
                    request => self.waiting.extend(request),
                }
            }
        }
        // `extract_if` keeps the order of those that stay, and so the order of the batch.
        self.running
            .extract_if(.., |request| request.is_finished())
            .for_each(end);
    }

    /// All requests.
    pub fn all(&self) -> impl Iterator<Item = &Request<X>> {
        self.waiting.iter().chain(&self.running).chain(&self.ended)
    }

    /// Checks what must hold between two steps.
    ///
    /// # Panics
    /// When a rule is broken: a bug of the workbook.
    pub fn check_invariants(&self) {
        let mut ids: Vec<SeqId> = self.all().map(|request| request.id).collect();
        // Numbers are unique, so two equal neighbours are one request in two queues.
        ids.sort_unstable();
        assert!(
            ids.windows(2).all(|pair| pair[0] < pair[1]),
            "a request is in two queues: {ids:?}"
        );
        for request in self.all() {
            let (id, computed, known) = (request.id, request.num_computed, request.num_tokens());
            assert!(computed <= known, "{id}: {computed} of {known} tokens computed");
            assert!(
                request.output.len() <= request.max_new_tokens,
                "{id}: the output is too long"
            );
        }
        // A waiting request has nothing computed.
        for request in &self.waiting {
            assert_eq!(
                (request.status, request.num_computed),
                (Status::Waiting, 0),
                "{} waits",
                request.id
            );
        }
        for request in &self.running {
            assert_ne!(request.status, Status::Waiting, "{} runs", request.id);
            assert!(!request.is_finished(), "{} has ended and not left", request.id);
        }
        // The end of a request that goes on would be reported too early.
        for request in &self.ended {
            assert!(request.is_finished(), "{} has not ended", request.id);
        }
    }
}
