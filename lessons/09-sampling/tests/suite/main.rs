//! All tests of the lesson in one program; those of the exercises and of allocations are programs of their own.

mod claims;
mod command;
mod common;
mod concurrent;
mod distribution;
mod edges;
mod errors;
mod faults;
mod figure;
mod parity;
mod run;
mod steps;
mod stop;
mod story;
