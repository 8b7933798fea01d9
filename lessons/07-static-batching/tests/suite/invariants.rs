//! Properties that hold for every input.

use crate::common::{MS, simulate};
use proptest::prelude::*;
use static_batching::Padding;
use static_batching::buckets::into_buckets;
use static_batching::padding::{mask, pad, positions};
use static_batching::parts::Span;
use static_batching::percentile::percentile;
use static_batching::plan::{StepRequest, static_plan};
use static_batching::rules::{Rule, cells};
use std::time::Duration;
use training::TokenId;

fn lengths() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1usize..40, 1..30)
}

proptest! {
    /// Every token of every prompt stands in exactly one cell, in order. Every other cell is padding that is neither
    /// stored nor seen.
    #[test]
    fn a_batch_holds_each_token_once(
        lengths in prop::collection::vec(0usize..9, 1..6),
        extra in 0usize..4,
        side in prop::sample::select(&[Padding::Left, Padding::Right]),
        cached in 0usize..5,
    ) {
        let width = lengths.iter().max().unwrap() + extra;
        let prompts: Vec<Vec<TokenId>> = lengths
            .iter()
            .enumerate()
            .map(|(row, len)| (0..*len).map(|i| TokenId((100 * row + i + 1) as u32)).collect())
            .collect();
        let slices: Vec<&[TokenId]> = prompts.iter().map(Vec::as_slice).collect();
        let batch_size = prompts.len();
        let mut tokens = vec![TokenId(7777); batch_size * width];
        let mut spans = vec![Span { start: 99, len: 99 }; batch_size];
        pad(&slices, width, side, TokenId(0), &mut tokens, &mut spans);
        let cached = vec![cached; batch_size];
        let mut places = vec![Some(999); batch_size * width];
        positions(&spans, width, &cached, &mut places);
        let (mut stored, mut seen) = (vec![0..0; batch_size], vec![999; batch_size * width]);
        mask(&spans, width, &cached, &mut stored, &mut seen);
        for (row, prompt) in prompts.iter().enumerate() {
            let span = spans[row];
            prop_assert_eq!(&tokens[row * width + span.start..][..span.len], &prompt[..]);
            prop_assert_eq!(stored[row].clone(), row * width + span.start..row * width + span.start + span.len);
            for column in 0..width {
                let cell = row * width + column;
                let inside = (span.start..span.start + span.len).contains(&column);
                prop_assert_eq!(tokens[cell] == TokenId(0), !inside);
                prop_assert_eq!(places[cell], inside.then(|| cached[row] + column - span.start));
                // A token at position p sees p + 1 positions.
                prop_assert_eq!(seen[cell], places[cell].map_or(0, |position| position + 1));
            }
        }
    }

    /// Buckets are a partition: each prompt once, in the narrowest bucket that holds it.
    #[test]
    fn each_prompt_is_in_one_bucket_and_fits(
        lengths in lengths(),
        percents in prop::collection::vec(1.0f64..100.0, 0..4),
    ) {
        let buckets = into_buckets(&lengths, &percents);
        let mut prompts: Vec<usize> = buckets.iter().flat_map(|b| b.prompts.clone()).collect();
        prompts.sort_unstable();
        prop_assert_eq!(prompts, (0..lengths.len()).collect::<Vec<_>>());
        prop_assert!(buckets.windows(2).all(|w| w[0].width < w[1].width));
        let mut below = 0;
        for bucket in &buckets {
            prop_assert!(!bucket.prompts.is_empty() && bucket.prompts.is_sorted());
            prop_assert!(bucket.prompts.iter().all(|p| (below + 1..=bucket.width).contains(&lengths[*p])));
            // A border is a length that occurs.
            prop_assert!(lengths.contains(&bucket.width));
            below = bucket.width;
        }
    }

    /// Own widths never compute more than a global one, buckets never more than one bucket, and own widths inside a
    /// bucket never more than its border.
    #[test]
    fn narrower_rules_never_compute_more(lengths in lengths(), max_batch in 1usize..9) {
        let computed = |rule: Rule| cells(&lengths, max_batch, &rule).computed;
        let longest = *lengths.iter().max().unwrap();
        let percents = vec![50.0, 80.0, 95.0];
        let global = computed(Rule::Global(longest));
        let buckets = computed(Rule::Buckets(percents.clone()));
        prop_assert!(computed(Rule::Own) <= global);
        prop_assert!(buckets <= global);
        prop_assert!(computed(Rule::BucketsOwn(percents)) <= buckets);
        prop_assert_eq!(computed(Rule::Buckets(vec![])), global);
    }

    /// At least that share of the samples is no larger, and it is the smallest sample for which this is true.
    #[test]
    fn a_percentile_is_the_smallest_sample_that_covers_its_share(
        samples in prop::collection::vec(0u32..50, 1..60),
        percent in 1u32..=100,
    ) {
        let found = percentile(&samples, f64::from(percent)).unwrap();
        let covers = |value: u32| {
            100 * samples.iter().filter(|s| **s <= value).count() >= percent as usize * samples.len()
        };
        prop_assert!(samples.contains(&found) && covers(found));
        prop_assert!(samples.iter().all(|s| *s >= found || !covers(*s)));
    }

    /// Each request is served once, in its turn, in a batch that is not too large. While the machine is idle no request
    /// waits longer than the window.
    #[test]
    fn a_stream_is_served_in_order_and_in_time(
        gaps in prop::collection::vec(0u32..40, 1..60),
        max_batch in 1usize..6,
        max_wait in 0u32..30,
        time in 1u32..40,
    ) {
        let mut at = 0;
        let stream: Vec<Duration> = gaps.iter().map(|gap| { at += gap; at * MS }).collect();
        let served = simulate(&stream, max_batch, max_wait * MS, |_| time * MS);
        prop_assert!(served.iter().map(|request| request.arrived).eq(stream));
        let mut idle_since = Duration::ZERO;
        let mut first = 0;
        while first < served.len() {
            let batch = &served[first..first + served[first].batch_size];
            prop_assert!(batch.len() <= max_batch);
            let (started, finished) = (batch[0].started, batch[0].finished);
            prop_assert!(batch.iter().all(|r| (r.started, r.finished) == (started, finished) && r.arrived <= started));
            // The oldest starts when it has waited long enough or when the machine is free, whichever is later; earlier
            // only if full.
            let latest = (batch[0].arrived + max_wait * MS).max(idle_since);
            if batch.len() == max_batch {
                prop_assert!((idle_since..=latest).contains(&started));
            } else {
                prop_assert_eq!(started, latest);
                // The batch takes every request that has arrived.
                let next = served.get(first + batch.len());
                prop_assert!(next.is_none_or(|next| next.arrived > started));
            }
            idle_since = finished;
            first += batch.len();
        }
    }

    /// A plan serves all requests in order, never starts one before its arrival, and counts as useful what single runs
    /// would compute.
    #[test]
    fn a_plan_serves_all_requests_in_order(
        requests in prop::collection::vec((0u64..20, 1usize..9, 0usize..9), 1..40),
        max_batch in 1usize..6,
    ) {
        let mut arrives = 0;
        let requests: Vec<StepRequest> = requests
            .into_iter()
            .map(|(gap, prompt_tokens, new_tokens)| {
                arrives += gap;
                StepRequest { arrives, prompt_tokens, new_tokens }
            })
            .collect();
        let plan = static_plan(&requests, max_batch);
        let ids: Vec<usize> = plan.batches.iter().flat_map(|b| b.requests.clone()).collect();
        prop_assert_eq!(ids, (0..requests.len()).collect::<Vec<_>>());
        prop_assert!(plan.batches.windows(2).all(|w| w[0].start + w[0].steps <= w[1].start));
        for (request, outcome) in requests.iter().zip(&plan.outcomes) {
            prop_assert!(request.arrives <= outcome.started);
            prop_assert_eq!(outcome.finished - outcome.started, request.new_tokens as u64);
            prop_assert!(outcome.finished <= outcome.returned);
        }
        let alone: u64 = static_plan(&requests, 1).rows_computed;
        prop_assert_eq!(plan.rows_useful, alone);
        prop_assert!(plan.rows_computed >= alone);
    }
}
