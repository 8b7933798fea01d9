//! Bytes to characters as they arrive. [`crate::text`] keeps the bytes between two calls.

/// Appends to `text` all complete characters of `bytes` and returns their length in bytes. At most three bytes stay
/// behind: the beginning of a character whose last byte has not arrived.
///
/// A token is a piece of bytes, not of letters: 你 has three bytes and may arrive as two tokens. If each token were
/// written out alone, two replacement characters would appear instead of 你. Bytes that can not become a character,
/// whatever follows, are replaced at once: one U+FFFD for each maximal invalid piece, as [`String::from_utf8_lossy`]
/// does for a whole text. So the pieces add up to the text, wherever it is cut.
pub fn take_complete_characters(bytes: &[u8], text: &mut String) -> usize {
    // ANCHOR: ex_05_5
    let mut taken = 0;
    loop {
        match std::str::from_utf8(&bytes[taken..]) {
            Ok(rest) => {
                text.push_str(rest);
                return bytes.len();
            }
            Err(error) => {
                let complete = &bytes[taken..taken + error.valid_up_to()];
                text.push_str(std::str::from_utf8(complete).expect("valid up to here"));
                taken += complete.len();
                match error.error_len() {
                    //~ fault 05.5
                    //~ | None => {
                    //~ |     text.push(char::REPLACEMENT_CHARACTER);
                    //~ |     return bytes.len();
                    //~ | }
                    // The end is missing, not wrong: wait for it.
                    None => return taken,
                    //~ end
                    Some(wrong) => {
                        text.push(char::REPLACEMENT_CHARACTER);
                        taken += wrong;
                    }
                }
            }
        }
    }
    // ANCHOR_END: ex_05_5
}
