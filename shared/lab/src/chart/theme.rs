//! The one theme: a pale card with a thin border, which reads well on a white page and on a black one.
//!
//! plotters places by whole pixels, so charts are drawn on a grid twice as fine as they are shown: 1600 pixels across
//! for
//! 800. All sizes here are pixels of that grid.

use plotters::style::RGBColor;

/// The card that a chart stands on. Off-white, so that it does not glare on a dark page.
pub const CARD: RGBColor = RGBColor(0xfa, 0xf8, 0xf4);
/// The card's border: parts it from a white page.
pub const BORDER: RGBColor = RGBColor(0xd9, 0xd4, 0xc9);
/// Titles and names.
pub const INK: RGBColor = RGBColor(0x22, 0x24, 0x28);
/// Units, ticks, notes: 5.9 to 1 against the card.
pub const SOFT_INK: RGBColor = RGBColor(0x5c, 0x5f, 0x66);
/// The axis on which values stand.
pub const AXIS: RGBColor = RGBColor(0x8b, 0x8d, 0x92);
/// Lines behind the data.
pub const GRID: RGBColor = RGBColor(0xe6, 0xe2, 0xd9);
/// The bar that others are compared with.
pub const BASELINE: RGBColor = RGBColor(0x9a, 0x9c, 0xa1);

/// Pixels of the grid for each pixel shown.
pub const GRID_SCALE: u32 = 2;
/// Width of most charts.
pub const WIDTH: f64 = 1600.0;
/// Free border inside the card.
pub const MARGIN: f64 = 44.0;
/// Size of the title.
pub const TITLE: f64 = 34.0;
/// Size of all other text.
pub const BODY: f64 = 25.0;
/// Size of ticks and values.
pub const SMALL: f64 = 23.0;
/// From line to line of body text.
pub const LINE: f64 = 32.0;

/// Colours of series, told apart by the colour-blind too: neighbours differ in lightness, and every series of a chart
/// of lines has its own marker.
const SERIES: [RGBColor; 8] = [
    RGBColor(0x1b, 0x6c, 0xa8),
    RGBColor(0xd9, 0x5f, 0x1e),
    RGBColor(0x1e, 0x8f, 0x62),
    RGBColor(0x8d, 0x4b, 0xa0),
    RGBColor(0xc0, 0x92, 0x0c),
    RGBColor(0x35, 0xa0, 0xb8),
    RGBColor(0xc2, 0x3f, 0x6d),
    RGBColor(0x5d, 0x5a, 0x4e),
];

/// The sign of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    /// ●
    Disc,
    /// ■
    Square,
    /// ▲
    Triangle,
    /// ◆
    Diamond,
}

/// Colour of the series at `index`.
pub fn series(index: usize) -> RGBColor {
    SERIES[index % SERIES.len()]
}

/// Marker of the series at `index`; the second round of colours gets other markers.
pub fn marker(index: usize) -> Marker {
    const MARKERS: [Marker; 4] = [Marker::Disc, Marker::Square, Marker::Triangle, Marker::Diamond];
    MARKERS[(index + index / SERIES.len()) % MARKERS.len()]
}

/// `share` (0 to 1) of `color` over the rest of `below`.
pub fn over(color: RGBColor, below: RGBColor, share: f64) -> RGBColor {
    let mix = |a: u8, b: u8| (f64::from(a) * share + f64::from(b) * (1.0 - share)).round() as u8;
    RGBColor(mix(color.0, below.0), mix(color.1, below.1), mix(color.2, below.2))
}

/// Black or white, whichever is read more easily on `fill`.
pub fn ink_on(fill: RGBColor) -> RGBColor {
    let linear = |channel: u8| (f64::from(channel) / 255.0).powf(2.2);
    let luminance = 0.2126 * linear(fill.0) + 0.7152 * linear(fill.1) + 0.0722 * linear(fill.2);
    if luminance > 0.3 {
        INK
    } else {
        RGBColor(0xff, 0xff, 0xff)
    }
}
