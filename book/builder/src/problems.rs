//! Where problems are gathered: ours, and mdBook's warnings, which it only logs.

use std::fmt::Write;
use std::sync::{Arc, Mutex};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;

/// A list that every part of the builder adds to.
#[derive(Clone, Debug, Default)]
pub struct Problems(Arc<Mutex<Vec<String>>>);

impl Problems {
    /// Adds a problem, once.
    pub fn add(&self, text: impl Into<String>) {
        let text = text.into();
        let mut list = self.0.lock().expect("nothing panics while it holds the list");
        if !list.contains(&text) {
            list.push(text);
        }
    }

    /// All of them, in the order in which they were found.
    pub fn list(&self) -> Vec<String> {
        self.0.lock().expect("nothing panics while it holds the list").clone()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0
            .lock()
            .expect("nothing panics while it holds the list")
            .is_empty()
    }
}

/// The layer that turns what mdBook logs as a warning or an error into a problem.
impl<S: Subscriber> Layer<S> for Problems {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        if *event.metadata().level() > Level::WARN {
            return;
        }
        let mut message = Message(String::new());
        event.record(&mut message);
        self.add(format!("mdbook: {}", message.0.replace('\n', " ")));
    }
}

struct Message(String);

impl Visit for Message {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        if field.name() == "message" {
            let _ = write!(self.0, "{value:?}");
        }
    }
}
