//! Lesson library `course`.
