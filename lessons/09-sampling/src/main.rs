//! Lesson 09.

fn main() {}
