//! Lesson 10.

fn main() {}
