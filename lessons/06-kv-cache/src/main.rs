//! Lesson 06.

fn main() {}
