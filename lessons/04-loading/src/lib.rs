//! Lesson library `loading`.
