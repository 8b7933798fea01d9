//! The font of the charts: DejaVu Sans, cut down to the characters that charts use, in the binary.
//!
//! A font from the system would give other widths on every machine, and none at all on some. `fonts/README.md` says how
//! the subset is made.

use std::sync::{LazyLock, Once};

use ab_glyph::{Font, FontRef};
use plotters::style::{FontStyle, register_font};
use unicode_width::UnicodeWidthChar;

/// The family under which the font is registered, and the one that an SVG asks its viewer for.
pub const FAMILY: &str = "sans-serif";

static REGULAR: &[u8] = include_bytes!("../../fonts/DejaVuSans.subset.ttf");
static BOLD: &[u8] = include_bytes!("../../fonts/DejaVuSans-Bold.subset.ttf");

/// Registers the font with plotters. Any number of calls, from any thread, do it once.
///
/// Programs that draw with plotters without [`crate::chart::Chart`] call it, too: criterion's reports.
pub fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for (style, bytes) in [(FontStyle::Normal, REGULAR), (FontStyle::Bold, BOLD)] {
            // The bytes are part of the binary: if they are no font, the build is broken.
            assert!(
                register_font(FAMILY, style, bytes).is_ok(),
                "the embedded font can be read"
            );
        }
    });
}

fn face(bold: bool) -> &'static FontRef<'static> {
    static FACES: LazyLock<[FontRef<'static>; 2]> = LazyLock::new(|| {
        [REGULAR, BOLD].map(|bytes| FontRef::try_from_slice(bytes).expect("the embedded font can be read"))
    });
    &FACES[usize::from(bold)]
}

/// Advance of a character in ems. Those that the subset lacks come from the viewer's own fonts: a square for Chinese.
fn advance(face: &FontRef<'static>, character: char) -> f64 {
    let glyph = face.glyph_id(character);
    if glyph.0 == 0 {
        return if character.width() == Some(2) { 1.0 } else { 0.65 };
    }
    f64::from(face.h_advance_unscaled(glyph)) / f64::from(face.units_per_em().unwrap_or(1.0))
}

/// Width of `text` in pixels where an em has `size`.
pub fn width(text: &str, size: f64, bold: bool) -> f64 {
    let face = face(bold);
    text.chars().map(|character| advance(face, character)).sum::<f64>() * size
}

/// Breaks `text` into lines of at most `room`, at blanks; a word that is longer than a line stays whole.
pub fn wrap(text: &str, size: f64, bold: bool, room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(&format!("{line} {word}"), size, bold) <= room => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

/// `text`, cut with `…` where it is longer than `room`.
pub fn cut(text: &str, size: f64, room: f64) -> String {
    if width(text, size, false) <= room {
        return text.to_string();
    }
    let mut kept: String = text.to_string();
    while kept.pop().is_some() {
        let candidate = format!("{}…", kept.trim_end());
        if width(&candidate, size, false) <= room {
            return candidate;
        }
    }
    String::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_grow_with_text_size_and_weight() {
        assert!(width("wide", 12.0, false) > width("wid", 12.0, false));
        assert!((width("wide", 24.0, false) - 2.0 * width("wide", 12.0, false)).abs() < 1e-9);
        assert!(width("wide", 12.0, true) > width("wide", 12.0, false));
        assert_eq!(width("你好", 12.0, false), 24.0);
    }

    #[test]
    fn long_names_are_wrapped_or_cut_to_the_room() {
        let name = "packed with SIMD and eight threads";
        let lines = wrap(name, 12.0, false, 100.0);
        assert!(lines.len() > 1 && lines.iter().all(|line| width(line, 12.0, false) <= 100.0));
        assert_eq!(lines.join(" "), name);
        let short = cut("unbreakably_long_identifier_of_a_kernel", 12.0, 100.0);
        assert!(short.ends_with('…') && width(&short, 12.0, false) <= 100.0);
        assert_eq!(cut("short", 12.0, 100.0), "short");
    }
}
