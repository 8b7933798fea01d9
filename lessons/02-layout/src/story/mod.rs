//! The story: the experiments, one file each, in the order in which they are told.

mod convert;
mod ladder;
mod opening;
mod permuted;
mod rows;
mod views;
mod walks;

use lab::args::CommonArgs;
use lab::story::{LessonInfo, Story};
use layout::pool::Pool;

/// What all experiments share.
struct Bench {
    pool: Pool,
    one: Pool,
    seed: u64,
}

impl Bench {
    /// `n` numbers between -1 and 1, the same for the same seed and salt. Zeros would flatter: some machines skip work
    /// on them.
    fn random(&self, n: usize, salt: u64) -> Vec<f32> {
        let mut state = self.seed ^ salt.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut next = || {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (state >> 40) as f32 / (1 << 23) as f32 - 1.0
        };
        (0..n).map(|_| next()).collect()
    }
}

/// Tells the lesson.
pub fn tell(args: &CommonArgs) -> anyhow::Result<()> {
    let info = LessonInfo {
        folder: "02-layout",
        course: include_str!("../../course.toml"),
    };
    let mut story = Story::begin(info, args);
    let bench = Bench {
        pool: Pool::new(args.threads()),
        one: Pool::new(1),
        seed: args.seed,
    };
    opening::tell(&mut story, &bench)?;
    views::tell(&mut story);
    walks::tell(&mut story)?;
    permuted::tell(&mut story, &bench)?;
    ladder::tell(&mut story, &bench)?;
    rows::tell(&mut story, &bench)?;
    convert::tell(&mut story, &bench)?;
    walks::one_head(&mut story);
    story.finish()
}

/// An entry of a race: `work` computes `n` numbers into a buffer that is used again and again.
fn product<'a>(n: usize, mut work: impl FnMut(&mut [f32]) + 'a) -> impl FnMut() -> Vec<f32> + 'a {
    let mut out = vec![0.0; n];
    move || {
        work(&mut out);
        out.clone()
    }
}

/// The check of a race: both results are equal bit for bit.
#[expect(
    clippy::ptr_arg,
    reason = "a race hands its outputs to the check, and these are vectors"
)]
fn same_bits(expected: &Vec<f32>, found: &Vec<f32>) -> Result<(), String> {
    equal_by(expected, found, |a, b| a.to_bits() == b.to_bits())
}

fn equal_by(expected: &[f32], found: &[f32], equal: impl Fn(f32, f32) -> bool) -> Result<(), String> {
    let differs = |(a, b): (&f32, &f32)| !equal(*a, *b);
    match expected.iter().zip(found).position(differs) {
        None if expected.len() == found.len() => Ok(()),
        None => Err(format!("{} numbers instead of {}", found.len(), expected.len())),
        Some(i) => Err(format!("number {i} is {} instead of {}", found[i], expected[i])),
    }
}
