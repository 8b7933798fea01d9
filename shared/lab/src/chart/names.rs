//! The column of names beside the data: each as near as it can be to what it names, none touching another.
//!
//! plotters offers a box of names inside the plot instead, on top of the data.

use plotters::style::text_anchor::HPos;

use super::sheet::{Frame, SWATCH, SWATCH_GAP, Sheet, Swatch, text};
use super::{font, theme};

/// A name beside the data.
pub struct Name {
    /// The name, in lines.
    pub lines: Vec<String>,
    /// The swatch in front of the name.
    pub swatch: Swatch,
    /// Height of what it names.
    pub wanted: f64,
    /// The end of its line, where that lies at the edge: a hair line leads from there.
    pub from: Option<(f64, f64)>,
}

/// Most room that the texts of the column of names take.
const NAME_ROOM: f64 = 356.0;
/// Gap between the plot and the swatches, crossed by the hair lines.
const LEADER: f64 = 32.0;
const NAME_LINE: f64 = 28.0;
const NAME_GAP: f64 = 10.0;

impl Name {
    /// A name, wrapped to the column.
    pub fn new(name: &str, swatch: Swatch, wanted: f64, from: Option<(f64, f64)>) -> Self {
        let lines = font::wrap(name, theme::BODY, false, NAME_ROOM);
        let lines = lines
            .iter()
            .map(|line| font::cut(line, theme::BODY, NAME_ROOM))
            .collect();
        Self {
            lines,
            swatch,
            wanted,
            from,
        }
    }

    fn height(&self) -> f64 {
        self.lines.len() as f64 * NAME_LINE + NAME_GAP
    }
}

/// Room that a column of these names takes, gaps included.
pub fn name_column(names: &[String]) -> f64 {
    let wrapped = names
        .iter()
        .flat_map(|name| font::wrap(name, theme::BODY, false, NAME_ROOM));
    let widest = wrapped
        .map(|line| font::width(&line, theme::BODY, false).min(NAME_ROOM))
        .fold(0.0, f64::max);
    if names.is_empty() {
        0.0
    } else {
        LEADER + SWATCH + SWATCH_GAP + widest
    }
}

/// Height that these names take when they stand one below the other.
pub fn names_height(names: &[String]) -> f64 {
    names
        .iter()
        .map(|name| Name::new(name, Swatch::Patch(theme::INK), 0.0, None).height())
        .sum()
}

/// Draws the names right of the plot, each as near as it can be to the height that it wants, none touching another.
pub fn draw_names(sheet: &Sheet<'_>, frame: Frame, mut names: Vec<Name>) -> anyhow::Result<()> {
    names.sort_by(|a, b| a.wanted.total_cmp(&b.wanted));
    let heights: Vec<f64> = names.iter().map(Name::height).collect();
    let wanted: Vec<f64> = names.iter().map(|name| name.wanted).collect();
    let middles = spread(&wanted, &heights, frame.top - 16.0, frame.bottom + 16.0);
    let x = frame.right + LEADER;
    for (name, y) in names.iter().zip(middles) {
        let color = match name.swatch {
            Swatch::Line(color, _) | Swatch::Dashes(color) | Swatch::Marker(color, _) | Swatch::Patch(color) => color,
            Swatch::Rule => theme::SOFT_INK,
        };
        if let Some(from) = name.from {
            sheet.line(&[from, (x - 4.0, y)], 2, theme::over(color, theme::CARD, 0.5))?;
        }
        sheet.swatch(name.swatch, x, y)?;
        let first = y + 9.0 - (name.lines.len() as f64 - 1.0) * NAME_LINE / 2.0;
        for (index, line) in name.lines.iter().enumerate() {
            let at = (x + SWATCH + SWATCH_GAP, first + index as f64 * NAME_LINE);
            sheet.text(&text(at, line, theme::BODY, HPos::Left, theme::INK))?;
        }
    }
    Ok(())
}

/// Middles for boxes of these heights, in this order, touching nowhere, within `top` to `bottom` where they fit, with
/// the least squared distance from `wanted`: isotonic regression (pool adjacent violators) on the places less the
/// heights above them.
fn spread(wanted: &[f64], heights: &[f64], top: f64, bottom: f64) -> Vec<f64> {
    let mut offsets = Vec::with_capacity(heights.len());
    let mut below = 0.0;
    for height in heights {
        offsets.push(below + height / 2.0);
        below += height;
    }
    // Pools of neighbours that touch: sum of their places and how many they are.
    let mut pools: Vec<(f64, usize)> = Vec::new();
    for (place, offset) in wanted.iter().zip(&offsets) {
        pools.push((place - offset, 1));
        while let [.., (before, n), (after, m)] = pools[..]
            && before / n as f64 > after / m as f64
        {
            pools.truncate(pools.len() - 2);
            pools.push((before + after, n + m));
        }
    }
    let lowest = bottom - below;
    let starts = pools
        .iter()
        .flat_map(|&(sum, n)| std::iter::repeat_n((sum / n as f64).min(lowest).max(top), n));
    starts.zip(offsets).map(|(start, offset)| start + offset).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_would_touch_are_pushed_apart_evenly() {
        assert_eq!(spread(&[50.0, 50.0, 50.0], &[10.0; 3], 0.0, 100.0), [40.0, 50.0, 60.0]);
        assert_eq!(spread(&[20.0, 80.0], &[10.0; 2], 0.0, 100.0), [20.0, 80.0]);
        assert_eq!(spread(&[99.0, 99.0], &[10.0; 2], 0.0, 100.0), [85.0, 95.0]);
        assert_eq!(spread(&[0.0, 1.0], &[10.0; 2], 0.0, 100.0), [5.0, 15.0]);
        assert_eq!(spread(&[], &[], 0.0, 100.0), [0.0; 0]);
    }
}
