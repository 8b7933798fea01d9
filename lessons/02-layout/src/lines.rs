//! A model of a first-level cache, which counts the lines that a loop fetches.
//!
//! Memory moves in lines of 64 bytes. A loop that reads one f32 of each line pays for sixteen. The model has 64 sets of
//! 12 lines (48 KiB, as on current cores; older ones have 8) and evicts the line of a set that was not used for the
//! longest time. The address of a line determines its set, so addresses that are a multiple of 4 KiB apart compete for
//! 12 places, even if the rest of the cache is empty. It has no prefetcher: a count says which lines must come, not
//! when.

/// Bytes of a line.
pub const LINE: usize = 64;
/// Lines of a set.
const WAYS: usize = 12;
/// Sets.
const SETS: usize = 64;

/// The cache and its counts.
#[derive(Clone, Debug)]
pub struct Cache {
    /// For each set its lines, the one used last in front.
    sets: Vec<Vec<usize>>,
    reads: u64,
    lines: u64,
    runs: u64,
    last: Option<usize>,
}

impl Default for Cache {
    fn default() -> Cache {
        Cache {
            sets: (0..SETS).map(|_| Vec::with_capacity(WAYS)).collect(),
            reads: 0,
            lines: 0,
            runs: 0,
            last: None,
        }
    }
}

impl Cache {
    // ANCHOR: read
    /// Reads four bytes at this address.
    pub fn read(&mut self, address: usize) {
        self.reads += 1;
        let line = address / LINE;
        let set = &mut self.sets[line % SETS];
        match set.iter().position(|&l| l == line) {
            Some(at) => set[..=at].rotate_right(1),
            None => {
                set.truncate(WAYS - 1);
                set.insert(0, line);
                self.lines += 1;
                // A fetch of the line behind the last fetched one continues a run, which a prefetcher guesses.
                if self.last.is_none_or(|last| line != last + 1) {
                    self.runs += 1;
                }
                self.last = Some(line);
            }
        }
    }
    // ANCHOR_END: read

    /// Empties the cache and sets the counts to zero, without a new allocation.
    pub fn clear(&mut self) {
        self.sets.iter_mut().for_each(Vec::clear);
        (self.reads, self.lines, self.runs, self.last) = (0, 0, 0, None);
    }

    /// Number of reads so far.
    pub fn reads(&self) -> u64 {
        self.reads
    }

    /// Number of lines fetched so far because they were not in the cache.
    pub fn lines_fetched(&self) -> u64 {
        self.lines
    }

    /// Number of runs of neighbouring lines among the fetches: how often the next line was unexpected.
    pub fn runs_fetched(&self) -> u64 {
        self.runs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(addresses: impl IntoIterator<Item = usize>) -> (u64, u64) {
        let mut cache = Cache::default();
        addresses.into_iter().for_each(|address| cache.read(address));
        (cache.lines_fetched(), cache.runs_fetched())
    }

    #[test]
    fn neighbours_share_a_line_and_lines_in_a_row_are_one_run() {
        assert_eq!(lines_of((0..1024).map(|i| 4 * i)), (64, 1));
        assert_eq!(lines_of((0..1024).map(|i| 128 * i)), (1024, 1024));
    }

    #[test]
    fn what_was_read_lately_is_not_fetched_again() {
        let twice = (0..2).flat_map(|_| (0..768).map(|line| LINE * line));
        assert_eq!(lines_of(twice).0, 768);
        let too_much = (0..2).flat_map(|_| (0..769).map(|line| LINE * line));
        assert!(lines_of(too_much).0 > 769);
    }

    #[test]
    fn addresses_4_kib_apart_compete_for_one_set() {
        let twice = |lines: usize| (0..2).flat_map(move |_| (0..lines).map(|i| 4096 * i));
        assert_eq!(lines_of(twice(12)).0, 12);
        assert_eq!(lines_of(twice(13)).0, 26);
    }
}
