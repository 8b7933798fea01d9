//! Memory that grows on demand and stays in one piece: a text that reaches the end of its region moves to one of twice
//! the length.
//!
//! ```text
//! |AAAA....|BB..|        |CCCC|     |      five free positions on the right and eight in the middle; none of them fits sixteen
//! ```
//!
//! Only numbers, to be compared with blocks. A move costs a copy of all that the text holds, and between regions of
//! different length holes remain.

use continuous_batching::request::SeqId;
use std::ops::Range;

/// Shortest region.
const SHORTEST: usize = 16;

/// Regions of one memory, by where they begin.
#[derive(Clone, Debug)]
pub struct Regions {
    total: usize,
    longest: usize,
    /// The holders and their regions, in the order of the regions.
    held: Vec<(SeqId, Range<usize>)>,
    moved: u64,
}

impl Regions {
    /// Nothing is held. No region is longer than `longest`.
    pub fn new(total: usize, longest: usize) -> Regions {
        Regions {
            total,
            longest,
            held: Vec::new(),
            moved: 0,
        }
    }

    /// The region that a text of `len` positions gets: a power of two, or the longest that there is.
    ///
    /// # Panics
    /// If no region is so long.
    pub fn region_of(&self, len: usize) -> usize {
        assert!(len <= self.longest, "a text of {len} positions fits no region");
        len.max(SHORTEST).next_power_of_two().min(self.longest)
    }

    /// Gives a text a region for `len` positions: the first hole that is large enough.
    pub fn admit(&mut self, id: SeqId, len: usize) -> bool {
        let wanted = self.region_of(len);
        let Some(start) = self.hole(wanted) else {
            return false;
        };
        let place = self.held.partition_point(|(_, held)| held.start < start);
        self.held.insert(place, (id, start..start + wanted));
        true
    }

    /// Makes room for `len` positions: where the region is, or in a new one, to which everything is copied.
    pub fn grow(&mut self, id: SeqId, len: usize) -> bool {
        let Some((_, region)) = self.held.iter().find(|(holder, _)| *holder == id) else {
            return self.admit(id, len);
        };
        let old = region.clone();
        if len <= old.len() {
            return true;
        }
        // The old region stays held until its content is copied, so both have to fit for a moment.
        if !self.admit(id, len) {
            return false;
        }
        self.held.retain(|(_, held)| *held != old);
        self.moved += (len - 1) as u64;
        true
    }

    /// Gives a region back.
    pub fn free(&mut self, id: SeqId) {
        self.held.retain(|(holder, _)| *holder != id);
    }

    /// Positions of all regions.
    pub fn num_held(&self) -> usize {
        self.held.iter().map(|(_, held)| held.len()).sum()
    }

    /// Positions copied so far.
    pub fn moved(&self) -> u64 {
        self.moved
    }

    /// Free positions that are of no use to a text of `len` positions, since no hole is long enough although all
    /// together would be.
    pub fn unusable(&self, len: usize) -> usize {
        let (wanted, free) = (self.region_of(len), self.total - self.num_held());
        match free >= wanted && self.hole(wanted).is_none() {
            true => free,
            false => 0,
        }
    }

    /// Where the first hole of `wanted` positions begins. Cost: a look at each region.
    fn hole(&self, wanted: usize) -> Option<usize> {
        let mut start = 0;
        for (_, held) in &self.held {
            if held.start - start >= wanted {
                return Some(start);
            }
            start = held.end;
        }
        (self.total - start >= wanted).then_some(start)
    }

    /// Checks that regions are in order and do not overlap.
    ///
    /// # Panics
    /// When a rule is broken: our own bug.
    pub fn check_invariants(&self) {
        let mut end = 0;
        for (id, held) in &self.held {
            assert!(end <= held.start, "{id} overlaps");
            end = held.end;
        }
        assert!(end <= self.total);
    }
}
