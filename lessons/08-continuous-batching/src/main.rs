//! Lesson 08.

fn main() {}
