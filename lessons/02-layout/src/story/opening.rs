//! Before the first step: the whole lesson as one table.

use super::{Bench, product, same_bits};
use lab::race::Race;
use lab::story::Story;
use layout::ladder::{Ladder, Rung};

const ROWS: usize = 32;
const SIDE: usize = 1024;

pub(super) fn tell(story: &mut Story, bench: &Bench) -> anyhow::Result<()> {
    let (a, b) = (bench.random(ROWS * SIDE, 1), bench.random(SIDE * SIDE, 2));
    let ladder = Ladder::new(&b, SIDE, SIDE, &bench.pool);
    story.say(format!(
        "Five ways to multiply [{ROWS}, {SIDE}] by [{SIDE}, {SIDE}]: each does the same {:.1} million multiply-adds, in the same order \
         for each output, and gives the same bits.",
        (ROWS * SIDE * SIDE) as f64 / 1e6
    ));
    let mut race = Race::new("opening", "One product, five ways")
        .unit("ms")
        .rounds(3)
        .baseline(Rung::Naive.name())
        .check(same_bits);
    for rung in Rung::ALL {
        let (ladder, a) = (&ladder, &a);
        race = race.entry(
            rung.name(),
            None,
            product(ROWS * SIDE, move |c| ladder.run(rung, a, ROWS, c)),
        );
    }
    let result = story.race(race)?;
    let best = result.ratio(Rung::Packed.name(), Rung::Naive.name());
    story.say(format!(
        "On one thread, the best way is {best:.0} times as fast as the textbook's, with the same arithmetic. This lesson finds out where the time goes."
    ));
    story.recall(
        "On lesson 01. If you begin here, skip them with Enter.",
        &["recall-diamond", "recall-tape"],
    );
    Ok(())
}
