//! Lesson 07.
