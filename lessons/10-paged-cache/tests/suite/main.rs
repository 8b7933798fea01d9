//! The lesson's tests, but those of the exercises and those that count allocations.

mod blocks;
mod claims;
mod common;
mod figure;
mod invariants;
mod oracle;
mod parity;
mod story;

/// Refuses what goes beyond a budget.
#[global_allocator]
static ALLOCATOR: lab::alloc::CountingAllocator = lab::alloc::CountingAllocator::new();
