//! Lesson library `layout`.
