//! Lesson library `ladder`.
