//! Lesson 09.
