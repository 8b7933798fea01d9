//! Stop texts, found in an answer while it streams.
//!
//! A stop text may be split over tokens, and a token may contain the end of a stop and more. So the search runs in the
//! text and not in the tokens. Text that may still become a stop is held back, because text that was shown can not be
//! taken back.

/// The search for stop texts in one answer.
#[derive(Clone, Debug)]
pub struct StopText {
    stops: Vec<String>,
    /// Text that was not released yet: the longest end of the answer so far that is the beginning of a stop.
    held: String,
    /// Index of the stop that ended the answer.
    stopped: Option<usize>,
}

/// What is known after a piece of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Released {
    /// Text that may be shown now; often empty.
    pub text: String,
    /// Index of the stop text that was found. It is not part of the answer, and nothing after it is released.
    pub stop: Option<usize>,
}

impl StopText {
    /// A search for these texts.
    ///
    /// # Panics
    /// If one is empty; [`crate::params::SamplingParams::check`] refuses it.
    pub fn new(stops: &[String]) -> StopText {
        assert!(
            stops.iter().all(|stop| !stop.is_empty()),
            "every text contains the empty stop"
        );
        StopText {
            stops: stops.to_vec(),
            held: String::new(),
            stopped: None,
        }
    }

    /// Adds the next piece of the answer. The stop that ends first wins; of two that end together, the one that begins
    /// first.
    ///
    /// Cost: each end of the held text is compared with each stop. The held text is shorter than the longest stop.
    pub fn push(&mut self, piece: &str) -> Released {
        if self.stopped.is_none() {
            self.held.push_str(piece);
        }
        let ends = |(index, stop): (usize, &String)| {
            let start = self.held.find(stop.as_str())?;
            Some((start + stop.len(), start, index))
        };
        let release = match self.stops.iter().enumerate().filter_map(ends).min() {
            Some((_, start, index)) => {
                self.stopped = Some(index);
                start
            }
            None => self.held.len() - self.num_held(),
        };
        let text = self.held.drain(..release).collect();
        if self.stopped.is_some() {
            // The stop, and what followed it in the piece, are dropped.
            self.held.clear();
        }
        Released {
            text,
            stop: self.stopped,
        }
    }

    /// The text that is still held back when the answer ends: it did not become a stop.
    pub fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }

    /// Length in bytes of the longest end of the held text that is the beginning of a stop.
    fn num_held(&self) -> usize {
        let begins = |end: &str| self.stops.iter().any(|stop| stop.starts_with(end));
        (self.held.char_indices())
            .map(|(at, _)| &self.held[at..])
            .find(|end| begins(end))
            .map_or(0, str::len)
    }
}
