//! Every kind of chart with awkward data. `LAB_GALLERY=folder cargo test -p lab --test suite gallery` writes them, and
//! the recorded charts of all lessons, for the eye.

use lab::chart::{Chart, font};

/// A text of an SVG and what it covers, in pixels of its grid.
struct Shown {
    text: String,
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
}

/// The texts of an SVG document that plotters wrote.
fn texts(svg: &str) -> Vec<Shown> {
    let shown = |element: &str| {
        let (tag, rest) = element.split_once(">\n").unwrap();
        let text = rest.split("\n</text>").next().unwrap();
        let text = text
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&apos;", "'")
            .replace("&amp;", "&");
        let attribute = |name: &str| {
            tag.split(&format!(" {name}=\""))
                .nth(1)
                .and_then(|rest| rest.split('"').next())
        };
        let number = |name: &str| attribute(name).unwrap().parse::<f64>().unwrap();
        let size = number("font-size");
        // Half an ex, about a quarter of an em, is what plotters moves a text down that it centres.
        let below = if attribute("dy") == Some("0.76em") { 0.76 } else { 0.27 };
        let baseline = number("y") + below * size;
        let width = font::width(&text, size, attribute("font-weight").is_some());
        let left = number("x")
            - width
                * ["start", "middle", "end"]
                    .iter()
                    .position(|a| Some(*a) == attribute("text-anchor"))
                    .unwrap() as f64
                / 2.0;
        Shown {
            text,
            left,
            top: baseline - 0.75 * size,
            right: left + width,
            bottom: baseline + 0.22 * size,
        }
    };
    svg.split("<text").skip(1).map(shown).collect()
}

/// Width and height of an SVG's grid.
fn size(svg: &str) -> (f64, f64) {
    let numbers = svg.split("viewBox=\"0 0 ").nth(1).unwrap().split('"').next().unwrap();
    let (width, height) = numbers.split_once(' ').unwrap();
    (width.parse().unwrap(), height.parse().unwrap())
}

fn curve(n: usize, f: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    (1..=n).map(|x| (x as f64, f(x as f64))).collect()
}

fn doublings(n: u32, f: impl Fn(f64) -> f64) -> Vec<(f64, f64)> {
    (0..n).map(|power| f64::from(1 << power)).map(|x| (x, f(x))).collect()
}

fn spiral(turn: f64) -> Vec<(f64, f64)> {
    (0..60)
        .map(|i| (f64::from(i) / 60.0, f64::from(i) / 60.0 * 9.0 + turn))
        .map(|(r, a)| (0.1 + r * a.cos(), r * a.sin()))
        .collect()
}

fn gallery() -> Vec<Chart> {
    let lengths = [16.0, 32.0, 64.0, 128.0, 256.0];
    let over = |f: &dyn Fn(f64) -> f64| lengths.iter().map(|&x| (x, f(x))).collect::<Vec<_>>();
    let names = [
        "naive",
        "reordered loops",
        "blocked for the first-level cache",
        "packed panels",
        "packed panels with AVX-512 and two threads that spin",
        "ndarray's dot",
        "the gemm crate",
        "eight",
    ];
    let eight = names.iter().enumerate().fold(
        Chart::lines(
            "eight-series",
            "Share of peak against the number of rows, one line for each rung of the ladder",
        )
        .x_label("rows")
        .y_label("GFLOP/s, more is better")
        .note("hidden 576, ffn 1536, one thread")
        .log_x(),
        |chart, (index, name)| {
            chart.series(
                name,
                doublings(8, move |x| {
                    3.0 + index as f64 * 0.4 + (x.ln() * (1.0 + (index % 4) as f64)).min(20.0)
                }),
            )
        },
    );
    let values: Vec<f32> = (0..80 * 80)
        .map(|i| ((i % 80) as f32 / 40.0 - 1.0, (i / 80) as f32 / 40.0 - 1.0))
        .map(|(x, y)| 0.5 + 0.5 * (3.0 * (x * x + y * y).sqrt() * 3.0 - y.atan2(x)).sin())
        .collect();
    vec![
        Chart::lines("per-token", "Each token costs more than the one before")
            .x_label("prefix length, tokens")
            .y_label("ms per token, less is better")
            .note("stories, 2 threads, median of 7 rounds")
            .series("measured", over(&|x| 4.0 + 0.6 * x))
            .dashed("counted work", over(&|x| 0.58 * x))
            .rule("one row", 3.1),
        eight,
        Chart::lines("log-log", "Bandwidth against run length")
            .x_label("bytes read in one run")
            .y_label("GB/s")
            .log_x()
            .log_y()
            .series("with gaps", doublings(15, |x| 0.004 * x.min(2000.0)))
            .series("without gaps", doublings(15, |x| 0.02 * x.min(1024.0) + 1e-3))
            .points(
                "a few single measurements",
                vec![(3.0, 0.02), (100.0, 7.5), (3000.0, 22.0)],
            )
            .rule("measured peak", 24.0),
        Chart::lines("loss", "The loss stops at the text's own entropy")
            .x_label("training tokens")
            .y_label("nats per token, held out")
            .log_x()
            .series(
                "model",
                curve(200, |x| 0.36 + 6.0 / (1.0 + x * 0.4))
                    .into_iter()
                    .map(|(x, y)| (x * 1e5, y))
                    .collect(),
            )
            .rule("bigram", 2.31)
            .rule("trigram", 1.42)
            .rule("unigram", 5.2)
            .rule("entropy of the grammar's choices", 0.35)
            .y_range(0.0, 5.5),
        Chart::lines("tiny", "Values close to nothing")
            .x_label("step of the finite difference")
            .y_label("relative error")
            .series("f64", curve(5, |x| x * 1e-9))
            .series("also f64", curve(5, |x| x * 1.02e-9)),
        Chart::bars("two-bars", "Naive against cached")
            .y_label("ms per token, less is better")
            .bar("naive", 12.3)
            .bar("cached", 2.41)
            .baseline("naive"),
        Chart::bars("ladder", "The matmul ladder, from three loops to all cores")
            .y_label("GFLOP/s, more is better")
            .note("512 x 512 x 512, one thread but for the last")
            .bar("naive", 1.23)
            .bar("reordered", 4.9)
            .bar("blocked for the first-level cache", 9.7)
            .bar(
                "packed panels with AVX-512 and a scalar tail for what is left over at every edge of the matrix",
                44.0,
            )
            .bar("threads", 81.3)
            .rule("measured peak", 96.0)
            .baseline("naive"),
        Chart::bars("stages", "What happens before the first token")
            .y_label("ms, less is better")
            .stack(
                "f32 eager",
                &[
                    ("config", 2.0),
                    ("instantiate", 11.0),
                    ("copy", 80.0),
                    ("first token", 14.0),
                ],
            )
            .stack(
                "f32 mapped",
                &[
                    ("config", 2.0),
                    ("instantiate", 1.0),
                    ("copy", 0.4),
                    ("first token", 70.0),
                ],
            )
            .stack(
                "bf16 eager",
                &[
                    ("config", 2.0),
                    ("instantiate", 9.0),
                    ("copy", 43.0),
                    ("first token", 15.0),
                ],
            )
            .stack(
                "bf16 mapped",
                &[("config", 2.0), ("instantiate", 1.0), ("first token", 41.0)],
            ),
        Chart::bars("wrong-gradients", "Error of the first layer's gradient")
            .y_label("error over norm, logarithmic")
            .log_y()
            .group("right", &[("plain", 1e-9), ("residual", 1.4e-9)])
            .group("overwrite", &[("plain", 1e-9), ("residual", 0.8)])
            .group("re-send all", &[("plain", 2.1e-9), ("residual", 2.4)])
            .group("each path", &[("plain", 1e-9), ("residual", f64::NAN)]),
        Chart::bars("grouped-long", "Tokens per second by policy and load")
            .y_label("tokens per second")
            .group(
                "first come, first served",
                &[
                    ("light load", 812.0),
                    ("heavy load", 1240.0),
                    ("with preemption", 1193.5),
                ],
            )
            .group(
                "priority with ageing after two seconds",
                &[
                    ("light load", 801.0),
                    ("heavy load", 123_456.0),
                    ("with preemption", 0.2),
                ],
            )
            .baseline("light load"),
        Chart::bars("signed", "Change after fusion")
            .y_label("percent")
            .bar("norm", -12.0)
            .bar("rotary", 3.0)
            .bar("attention", 41.0)
            .bar("head", 0.0),
        Chart::field(
            "regions",
            "Where the network says blue and where orange",
            (-1.0, 1.0),
            (-1.0, 1.0),
            80,
            values,
        )
        .x_label("x")
        .y_label("y")
        .points("first arm", spiral(0.0))
        .points("second arm", spiral(std::f64::consts::PI)),
        Chart::lines("empty", "Nothing was measured").x_label("x").y_label("y"),
        Chart::bars("one", "A single bar").bar("only", 3.0),
    ]
}

#[test]
fn no_chart_writes_one_text_over_another_or_off_its_card() {
    for chart in gallery() {
        let svg = chart.to_svg().unwrap();
        let (width, height) = size(&svg);
        let texts = texts(&svg);
        for (index, one) in texts.iter().enumerate() {
            let inside = one.left >= 8.0 && one.top >= 8.0 && one.right <= width - 8.0 && one.bottom <= height - 8.0;
            assert!(inside, "{}: {:?} leaves the card", chart.id, one.text);
            for other in &texts[index + 1..] {
                let beside = one.right <= other.left || other.right <= one.left;
                let apart = beside || one.bottom <= other.top || other.bottom <= one.top;
                assert!(apart, "{}: {:?} and {:?} overlap", chart.id, one.text, other.text);
            }
        }
    }
}

#[test]
fn a_chart_survives_its_json_and_draws_the_same_bytes() {
    for chart in gallery() {
        let json = serde_json::to_string(&chart).unwrap();
        let read: Chart = serde_json::from_str(&json).unwrap();
        assert!(read == chart, "{}", chart.id);
        assert!(read.to_svg().unwrap() == chart.to_svg().unwrap(), "{}", chart.id);
    }
}

/// A snapshot of the whole document: whatever moves in a chart shows here first.
#[test]
fn an_svg_is_the_same_bytes_everywhere() {
    let two_bars = &gallery()[5];
    assert_eq!(two_bars.id, "two-bars");
    insta::assert_snapshot!("two_bars", two_bars.to_svg().unwrap());
}

#[test]
fn pictures_are_written_where_they_are_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let chart = &gallery()[5];
    let path = chart.write(folder.path()).unwrap();
    assert_eq!(path, folder.path().join("two-bars.svg"));
    assert_eq!(&Chart::read(&folder.path().join("two-bars.chart.json")).unwrap(), chart);
    let Some(folder) = std::env::var_os("LAB_GALLERY") else {
        return;
    };
    for chart in gallery() {
        chart.write(folder.as_ref()).unwrap();
    }
    let lessons = lab::paths::workspace_root().join("lessons");
    for lesson in std::fs::read_dir(lessons).unwrap() {
        for file in std::fs::read_dir(lesson.unwrap().path().join("results")).unwrap() {
            let path = file.unwrap().path();
            if path.to_string_lossy().ends_with(".chart.json") {
                Chart::read(&path).unwrap().write(folder.as_ref()).unwrap();
            }
        }
    }
}
