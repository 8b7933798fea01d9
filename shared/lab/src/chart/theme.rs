//! The one theme: a pale card with a thin border, which reads well on a white page and on a black one.

use super::picture::{Color, Marker};

/// The card that a chart stands on. Off-white, so that it does not glare on a dark page.
pub const CARD: Color = Color(0xfa, 0xf8, 0xf4);
/// The card's border: parts it from a white page.
pub const BORDER: Color = Color(0xd9, 0xd4, 0xc9);
/// Titles and names.
pub const INK: Color = Color(0x22, 0x24, 0x28);
/// Units, ticks, notes: 5.9 to 1 against the card.
pub const SOFT_INK: Color = Color(0x5c, 0x5f, 0x66);
/// The axis on which values stand.
pub const AXIS: Color = Color(0x8b, 0x8d, 0x92);
/// Lines behind the data.
pub const GRID: Color = Color(0xe6, 0xe2, 0xd9);
/// The bar that others are compared with.
pub const BASELINE: Color = Color(0x9a, 0x9c, 0xa1);

/// Width of every chart.
pub const WIDTH: f64 = 800.0;
/// Free border inside the card.
pub const MARGIN: f64 = 22.0;
/// Size of the title.
pub const TITLE: f64 = 17.0;
/// Size of all other text.
pub const BODY: f64 = 12.5;
/// Size of ticks and values.
pub const SMALL: f64 = 11.5;
/// From line to line of body text.
pub const LINE: f64 = 16.0;

/// Colours of series, told apart by the colour-blind too: neighbours differ in lightness, and every series of a chart of
/// lines has its own marker.
const SERIES: [Color; 8] = [
    Color(0x1b, 0x6c, 0xa8),
    Color(0xd9, 0x5f, 0x1e),
    Color(0x1e, 0x8f, 0x62),
    Color(0x8d, 0x4b, 0xa0),
    Color(0xc0, 0x92, 0x0c),
    Color(0x35, 0xa0, 0xb8),
    Color(0xc2, 0x3f, 0x6d),
    Color(0x5d, 0x5a, 0x4e),
];

/// Colour of the series at `index`.
pub fn series(index: usize) -> Color {
    SERIES[index % SERIES.len()]
}

/// Marker of the series at `index`; the second round of colours gets other markers.
pub fn marker(index: usize) -> Marker {
    const MARKERS: [Marker; 4] = [Marker::Disc, Marker::Square, Marker::Triangle, Marker::Diamond];
    MARKERS[(index + index / SERIES.len()) % MARKERS.len()]
}

/// Black or white, whichever is read more easily on `fill`.
pub fn ink_on(fill: Color) -> Color {
    let linear = |channel: u8| (f64::from(channel) / 255.0).powf(2.2);
    let luminance = 0.2126 * linear(fill.0) + 0.7152 * linear(fill.1) + 0.0722 * linear(fill.2);
    if luminance > 0.3 { INK } else { Color(0xff, 0xff, 0xff) }
}
