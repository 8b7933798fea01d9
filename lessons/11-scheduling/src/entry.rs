//! A request with what a scheduler wants to know of it.

use continuous_batching::request::{Request, SeqId};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A customer of the server: requests of one tenant share a quota, and what is computed alike.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TenantId(pub u32);

/// How urgent a request is; class 0 is the most urgent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Class(pub u8);

/// What comes with a request besides its tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// On whose account its rows are counted.
    pub tenant: TenantId,
    /// How urgent.
    pub class: Class,
}

// ANCHOR: entry
/// A request on its way through the engine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its tokens, and how many of them are computed.
    pub request: Request,
    /// What came with it.
    pub meta: Meta,
    /// When it was submitted, on the engine's clock.
    pub arrived: Duration,
    /// How often it was sent back to the waiting ones.
    pub preemptions: u32,
    /// Tokens whose keys and values lie in the host pool; 0: none.
    pub stored: usize,
}
// ANCHOR_END: entry

impl Entry {
    /// Its number. A lower number came earlier.
    pub fn id(&self) -> SeqId {
        self.request.id
    }

    /// Whether its keys and values lie in the host pool.
    pub fn is_swapped(&self) -> bool {
        self.stored > 0
    }

    /// Tokens that are known and have no keys and values anywhere.
    pub fn missing(&self) -> usize {
        let kept = self.request.num_computed.max(self.stored);
        self.request.num_tokens().saturating_sub(kept).max(1)
    }

    /// The numbers that policies decide by.
    pub fn candidate(&self, served_tokens: u64, class_running: usize) -> Candidate {
        Candidate {
            id: self.id(),
            arrived: self.arrived,
            tenant: self.meta.tenant,
            class: self.meta.class,
            prompt_tokens: self.request.prompt.len(),
            missing_tokens: self.missing(),
            served_tokens,
            class_running,
        }
    }
}

// ANCHOR: candidate
/// A waiting request as a policy sees it: numbers, no tokens, no floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its number; of two that are equal in all else, the lower one came first.
    pub id: SeqId,
    /// When it came.
    pub arrived: Duration,
    /// Who pays.
    pub tenant: TenantId,
    /// How urgent.
    pub class: Class,
    /// Tokens of its prompt.
    pub prompt_tokens: usize,
    /// Tokens that have to be computed before its next one.
    pub missing_tokens: usize,
    /// Rows that its tenant was given so far.
    pub served_tokens: u64,
    /// Requests of its class that run.
    pub class_running: usize,
}
// ANCHOR_END: candidate
