//! Texts that end an answer, found in the text as it streams.
//!
//! A stop text may be split over tokens, and a token may hold the end of one and the beginning of something else. So the search is in the text, not in
//! the tokens, and text that may still become a stop is held back: shown too early, it could not be taken back.

/// Watches the text of one answer.
#[derive(Clone, Debug)]
pub struct StopText {
    stops: Vec<String>,
    /// Text that was not handed out: the longest end of the answer so far with which a stop begins.
    held: String,
    stopped: Option<usize>,
}

/// What became of a piece of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Released {
    /// Text that may be shown now; often empty.
    pub text: String,
    /// The stop text that was found, by its index. Nothing after it is shown, and it is no part of the answer.
    pub stop: Option<usize>,
}

impl StopText {
    /// Looks for these texts; none of them is empty (see [`crate::params::SamplingParams::check`]).
    pub fn new(stops: &[String]) -> StopText {
        assert!(
            stops.iter().all(|stop| !stop.is_empty()),
            "an empty text stands everywhere"
        );
        StopText {
            stops: stops.to_vec(),
            held: String::new(),
            stopped: None,
        }
    }

    /// Takes the next piece of the answer. The stop that ends first wins; of two that end together the one that begins first.
    ///
    /// Cost: each end of the held text is compared with each stop; what is held is shorter than the longest stop.
    pub fn push(&mut self, piece: &str) -> Released {
        if self.stopped.is_some() {
            return self.nothing();
        }
        self.held.push_str(piece);
        let ends = |(index, stop): (usize, &String)| {
            let start = self.held.find(stop.as_str())?;
            Some((start + stop.len(), start, index))
        };
        if let Some((_, start, index)) = self.stops.iter().enumerate().filter_map(ends).min() {
            self.stopped = Some(index);
            let text = self.held[..start].to_owned();
            self.held.clear();
            return Released {
                text,
                stop: Some(index),
            };
        }
        let release = self.held.len() - self.num_held();
        Released {
            text: self.held.drain(..release).collect(),
            stop: None,
        }
    }

    /// The end of the answer: what was held back has not become a stop.
    pub fn finish(&mut self) -> String {
        std::mem::take(&mut self.held)
    }

    fn nothing(&self) -> Released {
        Released {
            text: String::new(),
            stop: self.stopped,
        }
    }

    /// Bytes of the longest end of the text with which a stop begins.
    fn num_held(&self) -> usize {
        let begins = |end: &str| self.stops.iter().any(|stop| stop.starts_with(end));
        (self.held.char_indices())
            .map(|(at, _)| &self.held[at..])
            .find(|end| begins(end))
            .map_or(0, str::len)
    }
}
