//! Static batching in steps, from lengths alone.
//!
//! A step is one pass of the model over all rows of a batch. The first pass of a batch computes the prompts and gives
//! each row its first token, every further pass gives one more: a batch whose longest answer has n tokens takes n
//! steps. No request joins or leaves a running batch, and its answers are handed back together. So the plan needs no
//! model, no clock and no text.
//!
//! ```text
//! answers of 2, 8, 3, 3 tokens, two rows        steps
//!   batch 1: |2 · · · · · · ·|                  8: the row of 2 is computed 8 times
//!            |8 8 8 8 8 8 8 8|
//!   batch 2:                  |3 3 3|           3
//!                             |3 3 3|           11 in all
//! ```

use serde::{Deserialize, Serialize};

/// A request: its arrival in steps, and its lengths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRequest {
    /// The step before which it arrives; requests are given in this order.
    pub arrives: u64,
    /// Number of tokens of the prompt.
    pub prompt_tokens: usize,
    /// Number of tokens of the answer.
    pub new_tokens: usize,
}

/// One batch of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedBatch {
    /// Indices of its requests.
    pub requests: Vec<usize>,
    /// The step with which it starts.
    pub start: u64,
    /// Number of its steps: the tokens of the longest answer.
    pub steps: u64,
    /// Number of cells that each prompt is padded to: the tokens of the longest prompt.
    pub width: usize,
}

/// The times of one request, in steps since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Index of its batch.
    pub batch: usize,
    /// Step at which its batch started.
    pub started: u64,
    /// Step at which its own last token was known.
    pub finished: u64,
    /// Step at which its batch ended and its answer was handed back.
    pub returned: u64,
}

/// The batches of some requests, and their cost.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The batches, one after the other.
    pub batches: Vec<PlannedBatch>,
    /// One outcome for each request, in the order of the requests.
    pub outcomes: Vec<Outcome>,
    /// Step at which the last batch ends.
    pub end: u64,
    /// Number of rows that go through the model: the size of each batch times its width, and its size once more for
    /// each further step.
    pub rows_computed: u64,
    /// Number of those rows that an answer needs: no padding, and no finished row.
    pub rows_useful: u64,
}

impl Plan {
    /// Number of steps in which the model computes, without the waiting for arrivals.
    pub fn steps(&self) -> u64 {
        self.batches.iter().map(|batch| batch.steps).sum()
    }

    /// Share of the computed rows that an answer needs; 1 if no row is computed.
    pub fn useful_share(&self) -> f64 {
        match self.rows_computed {
            0 => 1.0,
            computed => self.rows_useful as f64 / computed as f64,
        }
    }
}

/// Serves requests in batches, first come first served. When a batch ends, up to `max_batch` of the waiting requests
/// form the next one; if no request waits, the model waits for the next arrival.
///
/// Cost: linear in the requests.
///
/// # Panics
/// If `max_batch` is zero, or the requests are not in order of arrival.
pub fn static_plan(requests: &[StepRequest], max_batch: usize) -> Plan {
    assert!(max_batch >= 1, "a batch holds at least one request");
    assert!(requests.is_sorted_by_key(|request| request.arrives));
    let mut plan = Plan::default();
    let mut first = 0;
    while first < requests.len() {
        let start = plan.end.max(requests[first].arrives);
        let next = requests[first..].iter().take(max_batch);
        let count = next.take_while(|r| r.arrives <= start).count();
        add_batch(&mut plan, requests, first..first + count, start);
        first += count;
    }
    plan
}

/// Adds a batch of these requests, which starts at `start`.
fn add_batch(plan: &mut Plan, requests: &[StepRequest], ids: std::ops::Range<usize>, start: u64) {
    let batch = &requests[ids.clone()];
    let longest = |length: fn(&StepRequest) -> usize| batch.iter().map(length).max().unwrap_or(0);
    let (width, steps) = (longest(|r| r.prompt_tokens), longest(|r| r.new_tokens) as u64);
    for request in batch {
        plan.outcomes.push(Outcome {
            batch: plan.batches.len(),
            started: start,
            finished: start + request.new_tokens as u64,
            returned: start + steps,
        });
        // The last token of an answer is not computed: no row reads it.
        if request.new_tokens > 0 {
            plan.rows_useful += (request.prompt_tokens + request.new_tokens - 1) as u64;
        }
    }
    if steps > 0 {
        plan.rows_computed += batch.len() as u64 * (width as u64 + steps - 1);
    }
    plan.batches.push(PlannedBatch {
        requests: ids.collect(),
        start,
        steps,
        width,
    });
    plan.end = start + steps;
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(answers: &[(u64, usize)], max_batch: usize) -> Plan {
        let request = |(arrives, new_tokens): &(u64, usize)| StepRequest {
            arrives: *arrives,
            prompt_tokens: 4,
            new_tokens: *new_tokens,
        };
        static_plan(&answers.iter().map(request).collect::<Vec<_>>(), max_batch)
    }

    #[test]
    fn a_batch_lasts_as_long_as_its_longest_answer() {
        let all = plan(&[(0, 2), (0, 8), (0, 3), (0, 3)], 2);
        assert_eq!((all.steps(), all.end), (11, 11));
        let ends: Vec<(u64, u64)> = all.outcomes.iter().map(|o| (o.finished, o.returned)).collect();
        assert_eq!(ends, [(2, 8), (8, 8), (11, 11), (11, 11)]);
        // 2 · (4 + 7) and 2 · (4 + 2) rows; 5 + 11 + 6 + 6 of them are needed.
        assert_eq!((all.rows_computed, all.rows_useful), (34, 28));
        let none = plan(&[(0, 0), (0, 0)], 2);
        assert_eq!((none.end, none.rows_computed, none.useful_share()), (0, 0, 1.0));
    }

    #[test]
    fn a_request_that_arrives_during_a_batch_waits_for_its_end() {
        let plan = plan(&[(0, 5), (1, 1), (20, 1)], 8);
        let started: Vec<u64> = plan.outcomes.iter().map(|o| o.started).collect();
        assert_eq!(started, [0, 5, 20]);
        assert_eq!((plan.steps(), plan.end), (7, 21));
    }
}
