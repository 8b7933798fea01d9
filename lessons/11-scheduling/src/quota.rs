//! Accounts: the rows that each tenant was given.

use crate::meta::TenantId;
use std::collections::BTreeMap;

// ANCHOR: quota
/// Number of rows that each tenant was given.
#[derive(Clone, Debug, Default)]
pub struct Quota {
    served: BTreeMap<TenantId, u64>,
}

impl Quota {
    /// Opens the account of a tenant whose request arrived, where `present` are the tenants of all other requests.
    ///
    /// A tenant without another request was away. It starts with as many rows as the least served of the present ones:
    /// with the few rows of its old account it would be served alone until it had caught up. Where no other tenant is
    /// present, all start from the highest account so far.
    pub fn welcome(&mut self, tenant: TenantId, present: impl Iterator<Item = TenantId> + Clone) {
        if present.clone().any(|other| other == tenant) {
            return;
        }
        let least = present.map(|other| self.served_rows(other)).min();
        // With no other tenant present there is no least served one to start from.
        let least = least.or_else(|| self.served.values().max().copied());
        let served = self.served.entry(tenant).or_default();
        // Never less than before: leaving and coming back clears no account.
        *served = (*served).max(least.unwrap_or(0));
    }
    // ANCHOR_END: quota

    /// Number of rows that a tenant was given.
    pub fn served_rows(&self, tenant: TenantId) -> u64 {
        self.served.get(&tenant).copied().unwrap_or(0)
    }

    /// Adds rows that a tenant is given.
    pub fn serve(&mut self, tenant: TenantId, rows: usize) {
        *self.served.entry(tenant).or_default() += rows as u64;
    }

    /// All accounts.
    pub fn all(&self) -> &BTreeMap<TenantId, u64> {
        &self.served
    }
}
