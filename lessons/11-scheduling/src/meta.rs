//! What a request carries for the scheduler.

use continuous_batching::request::{Request, SeqId};
use paged_cache::hash::Salt;
use paged_cache::{Shares, Sharing};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// A customer of the server. Requests of one tenant share a quota, and they share blocks by content.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TenantId(pub u32);

/// How urgent a request is; class 0 is the most urgent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Class(pub u8);

// ANCHOR: meta
/// What a submitter attaches to a request, besides its tokens. A request that has more attached gives access to it by
/// `AsRef` and `AsMut`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Meta {
    /// Tenant whose account the rows of the request are counted on.
    pub tenant: TenantId,
    /// How urgent the request is.
    pub class: Class,
    /// Time of the submission, on the clock of [`crate::Scheduler::now`].
    pub arrival: Duration,
    /// Number of times that the request was preempted; the scheduler counts it.
    pub num_preemptions: u32,
}
// ANCHOR_END: meta

impl AsRef<Meta> for Meta {
    fn as_ref(&self) -> &Meta {
        self
    }
}

impl AsMut<Meta> for Meta {
    fn as_mut(&mut self) -> &mut Meta {
        self
    }
}

/// Requests of one tenant share what they have in common; those of different tenants share nothing, so that no tenant
/// can find out by timing what another one has asked.
impl Shares for Meta {
    fn sharing(&self) -> Sharing {
        Sharing {
            parent: None,
            salt: Salt(self.tenant.0.into()),
        }
    }
}

/// Number of rows that have to be computed before the next token of a request, where `num_stored` of its tokens lie in
/// the host pool.
pub fn missing_rows<X>(request: &Request<X>, num_stored: usize) -> usize {
    // At least one row, also where all tokens are kept: the next token comes from a row that is computed.
    let kept = request.num_computed.max(num_stored);
    request.num_tokens().saturating_sub(kept).max(1)
}

// ANCHOR: candidate
/// A waiting request as a policy sees it: numbers, no tokens, no floats.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Number of the request; a lower number came first.
    pub id: SeqId,
    /// Time of its submission.
    pub arrival: Duration,
    /// Tenant of the request.
    pub tenant: TenantId,
    /// How urgent the request is.
    pub class: Class,
    /// Number of tokens in its prompt.
    pub prompt_tokens: usize,
    /// Number of rows to compute before its next token.
    pub missing_tokens: usize,
    /// Number of rows that its tenant was given so far.
    pub served_tokens: u64,
    /// Number of running requests of its class.
    pub class_running: usize,
}
// ANCHOR_END: candidate
