//! What static batching does with lengths alone, counted in steps.
//!
//! A step is one pass of the model over all rows of a batch. The first pass of a batch computes the prompts and gives each row its first
//! token, every further pass gives one more: a batch whose longest answer has n tokens takes n steps. Nobody joins it meanwhile, and nobody
//! leaves: its answers are handed back together. So the plan needs no model, no clock and no text.
//!
//! ```text
//! answers of 2, 8, 3, 3 tokens, two rows        steps
//!   batch 1: |2 · · · · · · ·|                  8: the row of 2 is computed 8 times
//!            |8 8 8 8 8 8 8 8|
//!   batch 2:                  |3 3 3|           3
//!                             |3 3 3|           11 in all
//! ```

use serde::{Deserialize, Serialize};

/// A request: when it comes, in steps, and how long it is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepRequest {
    /// The step before which it is there; requests are given in this order.
    pub arrives: u64,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Tokens of the answer.
    pub new_tokens: usize,
}

/// One batch of a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedBatch {
    /// Which requests ride in it.
    pub requests: Vec<usize>,
    /// The step with which it starts.
    pub start: u64,
    /// Its steps: the longest answer.
    pub steps: u64,
    /// Tokens that each prompt is padded to: the longest prompt.
    pub width: usize,
}

/// What became of one request. All times are steps since the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// Its batch, as an index.
    pub batch: usize,
    /// When it was computed first.
    pub started: u64,
    /// When its own last token was there.
    pub finished: u64,
    /// When its batch ended, and its answer was handed back.
    pub returned: u64,
}

/// What happens to some requests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The batches, one after the other.
    pub batches: Vec<PlannedBatch>,
    /// One for each request, in the order of the requests.
    pub outcomes: Vec<Outcome>,
    /// When the last batch ends.
    pub end: u64,
    /// Rows that go through the model: the size of each batch times its width, and its size once more for each further step.
    pub rows_computed: u64,
    /// Rows among them that some answer needs: no padding, and no row that is done.
    pub rows_useful: u64,
}

impl Plan {
    /// Steps in which the model computes: the waiting for an arrival is not among them.
    pub fn steps(&self) -> u64 {
        self.batches.iter().map(|batch| batch.steps).sum()
    }

    /// Share of the computed rows that some answer needs; 1 where nothing is computed.
    pub fn useful_share(&self) -> f64 {
        match self.rows_computed {
            0 => 1.0,
            computed => self.rows_useful as f64 / computed as f64,
        }
    }
}

/// Serves requests in batches, first come first served: whenever the last batch has ended, up to `max_batch` of those that are there form
/// the next one; where nobody is there, the model waits for the next arrival.
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
        let there = requests[first..].iter();
        let there = there.take(max_batch);
        let count = there.take_while(|r| r.arrives <= start).count();
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
        // The last token of an answer is never computed: nothing reads it.
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

    fn answers(lengths: &[usize]) -> Vec<StepRequest> {
        let request = |new_tokens: &usize| StepRequest {
            arrives: 0,
            prompt_tokens: 4,
            new_tokens: *new_tokens,
        };
        lengths.iter().map(request).collect()
    }

    #[test]
    fn a_batch_lasts_as_long_as_its_longest_answer() {
        let plan = static_plan(&answers(&[2, 8, 3, 3]), 2);
        assert_eq!((plan.steps(), plan.end), (11, 11));
        let returned: Vec<u64> = plan.outcomes.iter().map(|o| o.returned).collect();
        assert_eq!(returned, [8, 8, 11, 11]);
        assert_eq!(plan.outcomes[0].finished, 2);
        // 2 · (4 + 7) and 2 · (4 + 2) rows; 5 + 11 + 6 + 6 of them are needed.
        assert_eq!((plan.rows_computed, plan.rows_useful), (34, 28));
    }

    #[test]
    fn who_comes_during_a_batch_waits_for_its_end() {
        let mut requests = answers(&[5, 1, 1]);
        requests[1].arrives = 1;
        requests[2].arrives = 20;
        let plan = static_plan(&requests, 8);
        let started: Vec<u64> = plan.outcomes.iter().map(|o| o.started).collect();
        assert_eq!(started, [0, 5, 20]);
        assert_eq!((plan.steps(), plan.end), (7, 21));
    }

    #[test]
    fn an_answer_of_no_tokens_takes_no_step() {
        let plan = static_plan(&answers(&[0, 0]), 2);
        assert_eq!((plan.end, plan.rows_computed, plan.useful_share()), (0, 0, 1.0));
    }
}
