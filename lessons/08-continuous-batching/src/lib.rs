//! Lesson 08.
