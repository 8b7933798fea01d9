//! Lesson 11.
