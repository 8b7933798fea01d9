//! Lesson library `lab`.
