//! The queues. A request is in exactly one of them.

use crate::entry::{Entry, TenantId};
use continuous_batching::request::{FinishReason, SeqId, Status};
use std::collections::BTreeMap;
use std::time::Duration;

/// All requests that are not over, and those whose end was not announced yet.
#[derive(Debug, Default)]
pub struct Queues {
    /// Not running, in the order of their numbers. A swapped one holds room in the host pool; the others hold nothing.
    pub waiting: Vec<Entry>,
    /// Holding memory on the device, in the order of their numbers: the oldest stands first.
    pub running: Vec<Entry>,
    /// Finished, to be announced in the next step.
    pub ended: Vec<Entry>,
    /// Rows that each tenant was given.
    pub served: BTreeMap<TenantId, u64>,
}

impl Queues {
    /// A tenant is about to send a request. One that has nothing here was away: it starts with as many rows as the least served of those who are here, or it
    /// would be served alone until it had caught up with what the others were given meanwhile. Where nobody is here, all start from the same number,
    /// the highest so far.
    pub fn welcome(&mut self, tenant: TenantId) {
        let alive = self.waiting.iter().chain(&self.running);
        let tenants = alive.map(|entry| entry.meta.tenant);
        if (tenants.clone()).any(|other| other == tenant) {
            return;
        }
        let least = tenants.map(|other| self.served_rows(other)).min();
        let least = least.or_else(|| self.served.values().max().copied());
        let served = self.served.entry(tenant).or_default();
        *served = (*served).max(least.unwrap_or(0));
    }

    /// Rows that a tenant was given.
    pub fn served_rows(&self, tenant: TenantId) -> u64 {
        self.served.get(&tenant).copied().unwrap_or(0)
    }

    /// Notes rows that a tenant is given.
    pub fn serve(&mut self, tenant: TenantId, rows: usize) {
        *self.served.entry(tenant).or_default() += rows as u64;
    }

    /// Ends those who have waited for their first row since `latest` or longer, and tells `release` who they are. Returns how many.
    pub fn give_up(&mut self, latest: Duration, release: &mut dyn FnMut(SeqId)) -> usize {
        let before = self.ended.len();
        let gives_up = |entry: &mut Entry| entry.preemptions == 0 && entry.arrived <= latest;
        for mut entry in self.waiting.extract_if(.., gives_up) {
            release(entry.id());
            entry.request.finish(FinishReason::Cancelled);
            self.ended.push(entry);
        }
        self.ended.len() - before
    }

    /// Puts a request among the waiting ones, in its place.
    pub fn wait(&mut self, entry: Entry) {
        let place = self.waiting.partition_point(|other| other.id() < entry.id());
        self.waiting.insert(place, entry);
    }

    /// Puts a request among the running ones, in its place, and returns the place.
    pub fn run(&mut self, entry: Entry) -> usize {
        let place = self.running.partition_point(|other| other.id() < entry.id());
        self.running.insert(place, entry);
        place
    }

    /// Whether there is nothing to do and nothing to say.
    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty() && self.running.is_empty() && self.ended.is_empty()
    }

    /// Ends a request, whatever its state, and tells `release` of a waiting one, which may hold room in the host pool or have a wish. A running one stays in
    /// its queue until it leaves. Returns whether it was alive.
    pub fn cancel(&mut self, id: SeqId, release: &mut dyn FnMut(SeqId)) -> bool {
        if let Some(place) = self.waiting.iter().position(|entry| entry.id() == id) {
            let mut entry = self.waiting.remove(place);
            release(id);
            entry.request.finish(FinishReason::Cancelled);
            self.ended.push(entry);
            return true;
        }
        let is_it = |entry: &&mut Entry| entry.id() == id && !entry.request.is_finished();
        match self.running.iter_mut().find(is_it) {
            Some(entry) => {
                entry.request.finish(FinishReason::Cancelled);
                true
            }
            None => false,
        }
    }

    /// Takes all finished requests out of the running ones, in order. `release` gets each of them, to give its memory back.
    pub fn leave(&mut self, mut release: impl FnMut(SeqId)) {
        for entry in self.running.extract_if(.., |entry| entry.request.is_finished()) {
            release(entry.id());
            self.ended.push(entry);
        }
    }

    /// Checks what must hold between two steps.
    ///
    /// # Panics
    /// When a rule is broken: our own bug.
    pub fn check_invariants(&self) {
        let all = self.waiting.iter().chain(&self.running).chain(&self.ended);
        let mut ids: Vec<SeqId> = all.clone().map(Entry::id).collect();
        ids.sort_unstable();
        assert!(
            ids.windows(2).all(|pair| pair[0] < pair[1]),
            "a request is in two queues: {ids:?}"
        );
        for entry in all {
            let request = &entry.request;
            assert!(request.num_computed <= request.num_tokens(), "{request:?}");
            assert!(request.output.len() <= request.max_new_tokens, "{request:?}");
        }
        for entry in &self.waiting {
            assert_eq!(entry.request.status, Status::Waiting, "{entry:?}");
            assert_eq!(entry.request.num_computed, 0, "{entry:?}");
        }
        assert!(self.running.iter().all(|entry| !entry.is_swapped()));
        for queue in [&self.waiting, &self.running] {
            assert!(queue.is_sorted_by_key(Entry::id), "in the order of arrival");
        }
        assert!(self.ended.iter().all(|entry| entry.request.is_finished()));
    }
}
