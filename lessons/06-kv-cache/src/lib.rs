//! Lesson 06.
