//! A guard around libraries that may panic on data from outside.
//!
//! A file must not end a program with a panic. Where a library has asserts and `unwrap`s on its input, the caller checks
//! what it can, and the rest of the call runs in here.

use std::any::Any;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Whether this thread runs guarded work.
    static IS_GUARDED: Cell<bool> = const { Cell::new(false) };
}

/// Runs `work`. A panic inside becomes an error with the panic's own message, and prints nothing.
///
/// Drop what `work` may have left half done: after an error it is not used again.
///
/// # Errors
/// The message of the panic.
pub fn guarded<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static QUIET: Once = Once::new();
    QUIET.call_once(|| {
        let before = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_GUARDED.get() {
                before(panic);
            }
        }));
    });
    let outer = IS_GUARDED.replace(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    IS_GUARDED.set(outer);
    done.map_err(|panic| message(&*panic))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without a message").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_inside_is_an_error_with_its_message() {
        assert_eq!(guarded(|| 7), Ok(7));
        let found = guarded(|| std::hint::black_box(&[0_u8][..])[std::hint::black_box(1)]);
        assert_eq!(
            found.unwrap_err(),
            "index out of bounds: the len is 1 but the index is 1"
        );
        assert_eq!(guarded(|| panic!("plain")), Err::<(), _>("plain".into()));
    }

    #[test]
    fn guards_nest_and_the_guard_ends_with_its_work() {
        let inner = guarded(|| {
            assert!(guarded(|| panic!("inner")).is_err());
            IS_GUARDED.get()
        });
        assert_eq!(inner, Ok(true));
        assert!(!IS_GUARDED.get());
    }
}
