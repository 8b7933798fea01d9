//! Three slower ways to keep keys and values or to read them. The story races them against the lesson's cache; all give
//! the same bits.

pub mod concat;
pub mod masked;
pub mod views;
