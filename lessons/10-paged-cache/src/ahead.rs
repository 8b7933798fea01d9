//! Asking for numbers before they are needed.

/// Floats of a cache line.
const LINE: usize = 16;

/// Asks the processor to bring numbers into its cache, and does not wait for them. It changes no value; where it can not be asked, nothing happens.
///
/// The processor's own prefetcher follows a run of addresses, and a block is a short run: at its end it would have to find out anew where reading goes
/// on. The table knows.
#[inline]
pub fn ask_for(numbers: &[f32]) {
    for line in numbers.chunks(LINE) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: every x86-64 processor has SSE; a prefetch reads nothing and writes nothing that a program can see.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = line;
    }
}
