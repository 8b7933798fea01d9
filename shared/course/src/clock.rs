//! The time of day as text, in UTC.

use std::time::SystemTime;

/// Now, as `2026-01-31T12:00:00Z`.
pub fn now() -> String {
    humantime::format_rfc3339_seconds(SystemTime::now()).to_string()
}

/// Now, for a file's name: `20260131-120000`.
pub fn stamp() -> String {
    now().replace(['-', ':', 'Z'], "").replace('T', "-")
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_stamp_has_the_digits_of_the_time() {
        let (before, stamp, after) = (super::now(), super::stamp(), super::now());
        assert_eq!(stamp.len(), "20260131-120000".len());
        let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
        assert!(digits(&before) <= digits(&stamp) && digits(&stamp) <= digits(&after));
    }
}
