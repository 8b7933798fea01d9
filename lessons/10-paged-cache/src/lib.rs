//! Lesson 10.
