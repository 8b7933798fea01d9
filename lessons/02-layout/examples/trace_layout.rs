//! Records the walks of the interactive figure in the book's chapter on layout, as JSON on stdout.
//!
//! ```text
//! cargo run -q -p lesson02 --example trace_layout > book/figures/layout.json
//! ```
//!
//! A matrix of 8 x 8 numbers is read in four orders, each of them the places of a [`Layout`], through a cache so small that it can be drawn:
//! lines of four numbers, six or eight of them, and the line that was not used for the longest time has to go.

use layout::layout::Layout;
use serde::Serialize;

/// Rows and columns of the matrix.
const SIDE: usize = 8;
/// Numbers of a line.
const LINE: usize = 4;
/// Bytes of a number.
const NUMBER: usize = size_of::<f32>();
/// Lines that the two caches hold: less than a column touches, and just as many.
const CACHES: [usize; 2] = [6, 8];

#[derive(Serialize)]
struct Trace {
    schema: u32,
    figure: &'static str,
    source: &'static str,
    side: usize,
    line: usize,
    /// The run that is shown first, and on paper.
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

#[derive(Serialize)]
struct Step {
    text: String,
    /// The place that is read; `None` before the first read and after the last.
    place: Option<usize>,
    hit: bool,
    /// The cache, the line used last in front: its number, and for each of its numbers whether it was used since it came.
    cache: Vec<(usize, Vec<u8>)>,
    reads: usize,
    lines: usize,
}

/// The orders of reading: each is a view of the same 64 numbers, and a walk visits the elements of the view in row-major order.
fn walks() -> [(&'static str, &'static str, Layout); 4] {
    let matrix = Layout::row_major(&[SIDE, SIDE]);
    let tiles = matrix
        .reshape(&[2, 4, 2, 4])
        .expect("strides can say how a dense axis is split");
    [
        ("rows", "Row by row", matrix.clone()),
        ("columns", "Column by column", matrix.transpose(0, 1)),
        (
            "blocks",
            "Column by column inside blocks of 4 x 4",
            tiles.permute(&[0, 2, 3, 1]),
        ),
        ("step", "Every fourth number", matrix.slice(1, 0..SIDE, LINE)),
    ]
}

fn main() {
    print!("{}", trace());
}

/// The whole document.
pub fn trace() -> String {
    let mut runs: Vec<Run> = walks()
        .iter()
        .flat_map(|(walk, title, view)| CACHES.map(|cache| run(walk, title, view, cache)))
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
    text.replace("{\"text\"", "\n{\"text\"") + "\n"
}

fn run(walk: &'static str, title: &str, view: &Layout, capacity: usize) -> Run {
    let mut cache: Vec<(usize, Vec<u8>)> = Vec::new();
    let (mut reads, mut lines) = (0, 0);
    let mut steps = vec![Step {
        text: format!(
            "{title}: a view with shape {:?} and strides {:?}. The matrix has 64 numbers in 16 lines of four; the cache has room for \
             {capacity} lines and is empty.",
            view.shape(),
            view.strides()
        ),
        place: None,
        hit: false,
        cache: Vec::new(),
        reads,
        lines,
    }];
    for place in view.places() {
        let (line, number) = (place / LINE, place % LINE);
        let found = cache.iter().position(|(held, _)| *held == line);
        let mut gone = String::new();
        match found {
            Some(at) => cache[..=at].rotate_right(1),
            None => {
                if cache.len() == capacity
                    && let Some((old, used)) = cache.pop()
                {
                    let used: usize = used.iter().map(|&used| usize::from(used)).sum();
                    gone = format!(" Line {old} had to go, {used} of its 4 numbers used.");
                }
                cache.insert(0, (line, vec![0; LINE]));
                lines += 1;
            }
        }
        cache[0].1[number] = 1;
        reads += 1;
        let outcome = if found.is_some() {
            "A hit: the line is there."
        } else {
            "A miss: the line is fetched, 16 bytes."
        };
        steps.push(Step {
            text: format!(
                "Read {reads}: row {}, column {} lies at place {place}, in line {line}. {outcome}{gone}",
                place / SIDE,
                place % SIDE
            ),
            place: Some(place),
            hit: found.is_some(),
            cache: cache.clone(),
            reads,
            lines,
        });
    }
    let (used, fetched) = (reads * NUMBER, lines * LINE * NUMBER);
    steps.push(Step {
        text: format!(
            "Done: {reads} reads, {} hits, {lines} lines fetched. {fetched} bytes came and {used} were used: {} %.",
            reads - lines,
            100 * used / fetched
        ),
        place: None,
        hit: false,
        cache,
        reads,
        lines,
    });
    Run {
        walk,
        shape: view.shape().to_vec(),
        strides: view.strides().to_vec(),
        cache: capacity,
        steps,
    }
}
