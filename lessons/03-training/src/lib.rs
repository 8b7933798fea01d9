//! Lesson library `training`.
