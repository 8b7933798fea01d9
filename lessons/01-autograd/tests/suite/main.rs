//! The tests of this lesson, a module for each subject.

mod claims;
mod common;
mod golden;
mod invariants;
mod numeric;
mod optim;
mod snapshots;
mod tape;
mod trace;

#[test]
fn the_predictions_of_the_story_are_complete() {
    lab::story::check_predictions(include_str!("../../course.toml"));
}
