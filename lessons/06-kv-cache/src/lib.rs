//! Lesson 06, KV cache: what may be kept?

pub mod error;

pub mod memory;
pub mod place;
pub mod shapes;

pub mod append;
pub mod cache;
pub mod offset;

pub mod forward;
pub mod generate;
pub mod session;
pub mod timings;

pub mod concat;
pub mod mask;
pub mod masked;
pub mod views;

pub mod costs;
pub mod work;

pub use cache::{CacheOrder, ContiguousCache};
pub use error::CacheError;
pub use session::{Timed, cache_for};
pub use timings::Timings;
