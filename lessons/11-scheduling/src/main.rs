//! Lesson 11.

fn main() {}
