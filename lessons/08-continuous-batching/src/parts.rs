//! What a step is made of, besides the four lines that say what it does.

use crate::engine::Engine;
use crate::event::{Delivery, Event};
use crate::memory::Memory;
use crate::request::Status;
use crate::runner::Runner;
use crate::trace::StepTrace;

impl<R: Runner<M>, M: Memory> Engine<R, M> {
    // ANCHOR: parts
    /// First part of a step: who leaves, who joins, which rows are computed.
    pub fn schedule(&mut self) {
        self.take_cancellations();
        self.leave();
        let joined = if self.takes_up_again() {
            0
        } else {
            let (queues, batch) = (&mut self.queues, &mut self.batch);
            (self.scheduler)(queues, &mut self.memory, &self.limits, batch)
        };
        let sampling = self.batch.sampling().map(|sequence| sequence.id);
        assert!(
            self.queues.running.iter().map(|r| r.id).eq(sampling),
            "whoever runs stands in the batch, in its place"
        );
        if let Some(trace) = &mut self.trace {
            let (step, queues, memory) = (self.num_steps, &self.queues, &self.memory);
            // A step that failed is tried again. It stands in the trace once, with those who joined at the first try.
            let failed = trace.pop_if(|last| last.step == step);
            let mut entry = StepTrace::scheduled(step, joined, queues, &self.batch, memory);
            entry
                .joined
                .splice(..0, failed.into_iter().flat_map(|failed| failed.joined));
            trace.push(entry);
        }
    }

    /// After a step that failed, takes up what is left of its batch. Nobody joins it: what its rows were about to write may stand in memory already,
    /// and a newcomer could have found it there. Returns whether there is anything left.
    fn takes_up_again(&mut self) -> bool {
        if !self.has_failed {
            return false;
        }
        let running = &self.queues.running;
        self.batch.retain(|id| running.iter().any(|request| request.id == id));
        !self.batch.is_empty()
    }

    /// Ends whoever was cancelled through a [`crate::mailbox::Canceller`]. Nobody moves: places in the batch and in the running queue still agree.
    pub fn take_cancellations(&mut self) {
        self.canceller.drain(|id| {
            self.queues.cancel(id);
        });
    }

    /// Takes finished requests out of the batch and gives their memory back.
    pub fn leave(&mut self) {
        self.queues.leave(|request| {
            let held = self.memory.release(request.id);
            assert!(held, "{} ran without memory", request.id);
        });
    }

    /// Last part of a step: tells whose end has come since the last one. An end that nobody takes is an end all the same.
    pub fn announce(&mut self, on_event: &mut dyn FnMut(Event<'_>) -> Delivery) {
        let mut traced = self.trace.as_mut().and_then(|trace| trace.last_mut());
        for request in self.queues.ended.drain(..) {
            let Status::Finished(reason) = request.status else {
                panic!("{request:?} is among the ended ones and has not ended");
            };
            let (id, output) = (request.id, request.output.as_slice());
            let _ = on_event(Event::Finished { id, reason, output });
            if let Some(step) = &mut traced {
                step.finished.push((id, reason));
            }
        }
        if traced.is_some_and(|step| step.is_empty()) {
            self.trace.as_mut().map(Vec::pop);
        }
    }
    // ANCHOR_END: parts

    /// Checks what must hold between two steps: every request in one queue, memory held by the running ones and nobody else.
    ///
    /// # Panics
    /// When a rule is broken: our own bug.
    pub fn check_invariants(&self) {
        self.queues.check_invariants();
        self.memory.check_invariants();
        self.batch.check_invariants();
        assert!(self.queues.running.len() <= self.limits.max_running);
        for request in &self.queues.running {
            assert!(self.memory.holds(request.id), "{} runs without memory", request.id);
        }
        assert_eq!(
            self.memory.num_holders(),
            self.queues.running.len(),
            "memory is held by nobody's request"
        );
    }
}
