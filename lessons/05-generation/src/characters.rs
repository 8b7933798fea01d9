//! Bytes to characters as they arrive. Functions only; [`crate::text`] keeps the bytes between two calls.

/// Appends to `text` all characters of `bytes` that are complete, and returns how many bytes these were. What stays behind is at
/// most three bytes: the beginning of a character whose end has not come yet.
///
/// A token is a piece of bytes, not of letters: 你 is three bytes and may come as two tokens. Writing out each token as it comes
/// would show the replacement character twice. Bytes that can not become a character, whatever follows, are replaced at once, one
/// U+FFFD for each maximal wrong piece, exactly as [`String::from_utf8_lossy`] does for the whole text. So for any way to cut a
/// text, the pieces add up to the text.
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
