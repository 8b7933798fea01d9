//! Records the trace of the interactive figure in the book's chapter on layout, as JSON on stdout. The figure's script
//! writes its sentences.
//!
//! ```text
//! cargo run -q -p lesson02 --example trace_layout > book/figures/layout.json
//! ```
//!
//! A matrix of 8 x 8 numbers is read in four orders, each of them the places of a [`Layout`], through a cache so small
//! that it can be drawn: lines of four numbers, six or eight of them, and the line that was not used for the longest
//! time has to go.

use layout::layout::Layout;
use serde::Serialize;

/// Rows and columns of the matrix.
const SIDE: usize = 8;
/// Numbers of a line.
const LINE: usize = 4;
/// Lines that the two caches hold: less than a column touches, and just as many.
const CACHES: [usize; 2] = [6, 8];

#[derive(Serialize)]
struct Trace {
    schema: u32,
    figure: &'static str,
    source: &'static str,
    side: usize,
    line: usize,
    /// The steps of the run that is shown first.
    steps: Vec<Step>,
    runs: Vec<Run>,
}

#[derive(Serialize)]
struct Run {
    walk: &'static str,
    shape: Vec<usize>,
    strides: Vec<usize>,
    cache: usize,
    /// Empty in the first run, which is `steps` of the trace.
    steps: Vec<Step>,
}

#[derive(Clone, Serialize)]
struct Step {
    /// The place that is read; `None` before the first read and after the last.
    place: Option<usize>,
    hit: bool,
    /// The line that left the cache to make room, and how many of its numbers were used.
    #[serde(skip_serializing_if = "Option::is_none")]
    gone: Option<(usize, usize)>,
    /// The cache, the line used last in front: its number, and for each of its numbers whether it was used since it
    /// came.
    cache: Vec<(usize, Vec<u8>)>,
    reads: usize,
    lines: usize,
}

/// The orders of reading: each is a view of the same 64 numbers, and a walk visits the elements of the view in
/// row-major order.
fn walks() -> [(&'static str, Layout); 4] {
    let matrix = Layout::row_major(&[SIDE, SIDE]);
    let tiles = matrix
        .reshape(&[2, 4, 2, 4])
        .expect("strides can express how a dense axis is split");
    [
        ("rows", matrix.clone()),
        ("columns", matrix.transpose(0, 1)),
        ("blocks", tiles.permute(&[0, 2, 3, 1])),
        ("step", matrix.slice(1, 0..SIDE, LINE)),
    ]
}

fn main() {
    lab::term::print(&trace());
}

/// The whole document.
pub fn trace() -> String {
    let mut runs: Vec<Run> = walks()
        .iter()
        .flat_map(|(walk, view)| CACHES.map(|cache| run(walk, view, cache)))
        .collect();
    let trace = Trace {
        schema: 1,
        figure: "layout",
        source: "cargo run -q -p lesson02 --example trace_layout",
        side: SIDE,
        line: LINE,
        steps: std::mem::take(&mut runs[0].steps),
        runs,
    };
    // A line for each step: small, and a change shows where it is.
    let text = serde_json::to_string(&trace).expect("numbers and texts");
    text.replace("{\"place\"", "\n{\"place\"") + "\n"
}

fn run(walk: &'static str, view: &Layout, capacity: usize) -> Run {
    let mut now = Step {
        place: None,
        hit: false,
        gone: None,
        cache: Vec::new(),
        reads: 0,
        lines: 0,
    };
    let mut steps = vec![now.clone()];
    for place in view.places() {
        let (line, number) = (place / LINE, place % LINE);
        now.gone = None;
        match now.cache.iter().position(|(held, _)| *held == line) {
            Some(at) => {
                now.hit = true;
                now.cache[..=at].rotate_right(1);
            }
            None => {
                now.hit = false;
                if now.cache.len() == capacity {
                    let used = |used: Vec<u8>| used.iter().map(|&used| usize::from(used)).sum();
                    now.gone = now.cache.pop().map(|(line, numbers)| (line, used(numbers)));
                }
                now.cache.insert(0, (line, vec![0; LINE]));
                now.lines += 1;
            }
        }
        now.cache[0].1[number] = 1;
        now.reads += 1;
        now.place = Some(place);
        steps.push(now.clone());
    }
    steps.push(Step {
        place: None,
        hit: false,
        gone: None,
        ..now
    });
    Run {
        walk,
        shape: view.shape().to_vec(),
        strides: view.strides().to_vec(),
        cache: capacity,
        steps,
    }
}
