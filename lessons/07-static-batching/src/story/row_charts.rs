//! The charts of the steps: time and rate over the batch size.

use super::steps::Steps;
use lab::chart::Chart;
use lab::story::Story;

/// Step time in times of lesson 06's step, and tokens a second.
pub fn charts(story: &mut Story, all: &[Steps]) -> anyhow::Result<()> {
    let mut times = Chart::lines("step-time", "Rows ride almost free, up to a point")
        .x_label("rows in the step (sequences in the batch)")
        .y_label("times lesson 06's step of one row")
        .log_x()
        .log_y();
    let mut rates = Chart::lines("tokens-per-second", "What a batch brings")
        .x_label("rows in the step (sequences in the batch)")
        .y_label("tokens a second")
        .log_x()
        .log_y();
    for steps in all {
        times = times.series(&steps.name, steps.line(|rows, _| steps.times(rows)));
        let rate = |rows: usize, ms: f64| 1e3 * rows as f64 / ms;
        rates = rates
            .series(&steps.name, steps.line(|rows, _| rate(rows, steps.ms(rows))))
            .dashed(
                &format!("{}: limit by bytes and multiply-adds", steps.name),
                steps.line(|rows, index| rate(rows, steps.limit_ms(index))),
            )
            .rule(&format!("{}: lesson 06, one row", steps.name), rate(1, steps.alone()));
    }
    let large = &all[0];
    times = times
        .dashed(
            &format!("{}: limit by bytes and multiply-adds", large.name),
            large.line(|_, index| large.limit_ms(index) / large.alone()),
        )
        .dashed("each row in a step of its own", large.line(|rows, _| rows as f64))
        .rule("lesson 06: one row", 1.0);
    story.chart(&times)?;
    story.chart(&rates)?;
    story.say(
        "Bigger is not always better. Where the limit turns from memory to arithmetic each further row pays in full: the rate stands still, and \
         every sequence in the batch gets its next token later.",
    );
    Ok(())
}
