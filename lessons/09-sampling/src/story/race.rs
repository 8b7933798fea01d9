//! S2: what a choice costs, by size of the vocabulary.

use super::Scene;
use generation::generate::greedy;
use lab::chart::Chart;
use lab::number::grouped;
use lab::race::{Race, RaceResult};
use lab::story::{Choice, Claim, Prediction, Story, Verdict};
use lab::table::Table;
use sampling::counted::{Counted, comparisons, made_up_logits};
use sampling::select::top_k;
use sampling::{CheckedParams, Sampler, SamplingParams, full_sort};
use std::time::Duration;

/// Tokens of the vocabularies: this workbook's, Llama 2's, Llama 3's (all in powers of two).
const VOCABULARIES: [usize; 3] = [2048, 32_768, 131_072];
/// Candidates of top-k.
const TOP_K: usize = 50;
/// "Much faster": times as fast at least.
const MUCH: f64 = 3.0;

const GREEDY: &str = "greedy (08)";
const SELECT: &str = "select";
const NUCLEUS: &str = "select, top-p alone";
const SORT: &str = "full sort";

/// Counts, then races.
pub fn vocabularies(story: &mut Story, scene: &Scene) -> anyhow::Result<()> {
    story.step(
        "Do not sort what is thrown away",
        "Top-k 50 and top-p 0.9 need the 50 likeliest in order. A sort puts all the others in order, too. Comparisons are counted by numbers that count.",
    );
    let counts = VOCABULARIES.map(|vocab_size| count(vocab_size, scene.seed));
    let (last, largest) = (counts[2], VOCABULARIES[2]);
    let right = format!("about {:.1}", last.0 as f64 / largest as f64);
    let because = format!(
        "{} comparisons for {}: nearly every number is compared once, with the bar, and forgotten. The sort takes {:.1} a number.",
        grouped(last.0),
        grouped(largest as u64),
        last.1 as f64 / largest as f64
    );
    story.predict(Prediction {
        id: "comparisons",
        question: "The 50 largest of 131 072 numbers: how many comparisons a number does it take to find them?",
        options: &[
            Choice {
                text: "17, the logarithm of 131 072",
                answer_to_wrong: Some("That is what sorting takes. It finds out the order of 131 022 numbers that are thrown away next."),
            },
            Choice {
                text: "50, one for each that is kept",
                answer_to_wrong: Some("A pass for each of them would do it so. But most numbers are below the smallest of 50 that are known already, and one comparison says so."),
            },
            Choice { text: &right, answer_to_wrong: None },
        ],
        answer: 2,
        because: &because,
    });
    let mut table = Table::new(&["vocabulary", "select", "a number", "full sort", "a number", "times"]);
    for (vocab_size, (select, sort)) in VOCABULARIES.iter().zip(counts) {
        let each = |count: u64| format!("{:.2}", count as f64 / *vocab_size as f64);
        table.row([
            grouped(*vocab_size as u64),
            grouped(select),
            each(select),
            grouped(sort),
            each(sort),
            format!("{:.1}", sort as f64 / select as f64),
        ]);
    }
    story.table(&table);
    story.values("comparisons", counts);
    let race = raced(story, scene)?;
    report(story, &race)
}

/// Comparisons of the selection and of a sort.
fn count(vocab_size: usize, seed: u64) -> (u64, u64) {
    let logits = made_up_logits(vocab_size, seed);
    let numbers: Vec<Counted> = logits.into_iter().map(Counted).collect();
    let select = comparisons(|| top_k(&numbers, TOP_K, &mut Vec::new()));
    let sort = comparisons(|| {
        let mut ids: Vec<u32> = (0..vocab_size as u32).collect();
        let number = |id: &u32| numbers[*id as usize];
        ids.sort_by(|a, b| number(b).partial_cmp(&number(a)).expect("no NaN"));
    });
    (select, sort)
}

/// What the entries choose with.
fn params(scene: &Scene, top_k: usize, vocab_size: usize) -> anyhow::Result<CheckedParams> {
    let params = SamplingParams {
        top_k,
        top_p: 0.9,
        seed: scene.seed,
        ..SamplingParams::default()
    };
    Ok(params.check(vocab_size)?)
}

fn raced(story: &mut Story, scene: &Scene) -> anyhow::Result<RaceResult> {
    let mut race = Race::new("vocabulary", "One token, by size of the vocabulary")
        .unit("µs")
        .rounds(5)
        .at_least(Duration::from_millis(5));
    for vocab_size in VOCABULARIES {
        let logits = made_up_logits(vocab_size, scene.seed);
        let few = params(scene, TOP_K, vocab_size)?;
        let nucleus = params(scene, 0, vocab_size)?;
        let fast = Sampler::new().sample(&few, &[], &[], &mut logits.clone())?;
        let slow = full_sort::sample(&few, &[], &[], &mut logits.clone())?;
        anyhow::ensure!(fast.token == slow, "select and full sort chose differently");
        // Nothing here writes on the logits, so that all calls see the same: no bias, no penalty.
        let (of_greedy, mut of_select) = (logits.clone(), logits.clone());
        let (mut of_nucleus, mut of_sort) = (logits.clone(), logits);
        let (mut a, mut b) = (Sampler::new(), Sampler::new());
        let slow = few.clone();
        let x = Some(vocab_size as f64);
        race = race
            .entry(GREEDY, x, move || greedy(std::hint::black_box(&of_greedy)).is_ok())
            .entry(SELECT, x, move || {
                a.sample(&few, &[], &[], std::hint::black_box(&mut of_select)).is_ok()
            })
            .entry(NUCLEUS, x, move || {
                b.sample(&nucleus, &[], &[], std::hint::black_box(&mut of_nucleus))
                    .is_ok()
            })
            .entry(SORT, x, move || {
                full_sort::sample(&slow, &[], &[], std::hint::black_box(&mut of_sort)).is_ok()
            });
    }
    let race = race.baseline(SORT).check(|a, b| match *a && *b {
        true => Ok(()),
        false => Err("a choice failed".into()),
    });
    story.race(race)
}

fn report(story: &mut Story, race: &RaceResult) -> anyhow::Result<()> {
    let mut chart = Chart::lines("vocabulary", "What one token costs")
        .x_label("tokens of the vocabulary")
        .y_label("µs a token")
        .note("top-k 50 and top-p 0.9; logits made up; one thread")
        .log_x()
        .log_y();
    for name in [SORT, NUCLEUS, SELECT, GREEDY] {
        chart = chart.series(name, race.line(name));
    }
    let times = VOCABULARIES.map(|vocab_size| race.ratio_at(SELECT, SORT, vocab_size as f64));
    story.values("sort_over_select", times);
    let verdict = match times[1..].iter().copied().fold(f64::INFINITY, f64::min) {
        least if least >= MUCH => Verdict::Holds,
        least if least > 1.2 => Verdict::Partly,
        _ => Verdict::NotHere,
    };
    let note = format!(
        "Times as fast as the sort at vocabularies of 2 048, 32 768 and 131 072: {:.1}, {:.1}, {:.1}. “Much” is taken as {MUCH:.0} times at the two larger ones.",
        times[0], times[1], times[2]
    );
    story.claim(Claim {
        id: "S2",
        claimed: "With k <= 50, top-p on the top-k result avoids the full sort and is much faster at real vocabulary sizes",
        value: times[2],
        unit: "times as fast at 131 072",
        verdict,
        note: &note,
    });
    story.chart(&chart)?;
    Ok(())
}
