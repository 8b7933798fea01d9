//! Lesson library `generation`.
