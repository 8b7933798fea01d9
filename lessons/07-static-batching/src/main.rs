//! Lesson 07.

fn main() {}
