//! The accounts of clouds in which clusters run: each tenant has its own, or shares one.
//!
//! Who has which account is a record in the store, so that two nodes never give one account to two tenants.

use std::collections::BTreeSet;
use std::sync::Arc;

use engine::store::{Expect, Receipt, ResourceQuery, ResourceRow, ResourceWrite, Store, StoreError, Write};
use engine::{Halt, Resource, Timestamp};
use serde::{Deserialize, Serialize};

use super::catalog::Provider;
use super::instance::InstanceRecord;

/// One account, as it is configured.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Account {
    /// The name of the credentials at the Provisioner.
    pub name: String,
    pub provider: Provider,
    /// Any number of tenants may use it.
    #[serde(default)]
    pub shared: bool,
    /// It belongs to this tenant and to no other client.
    #[serde(default)]
    pub tenant: Option<String>,
}

impl Account {
    fn is_claimable(&self) -> bool {
        !self.shared && self.tenant.is_none()
    }
}

/// Which tenant has an account, and which clusters of it. The row stays when the account is free.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct AccountClaim {
    account: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    /// The resources of the clusters. Claims of older releases name none.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    users: BTreeSet<String>,
}

impl Resource for AccountClaim {
    const KIND: &'static str = "cloud_account";

    fn labels(&self) -> Vec<(&'static str, String)> {
        vec![("tenant", self.tenant.clone().unwrap_or_default())]
    }
}

/// A cluster that needs an account.
#[derive(Debug, Clone, Copy)]
pub struct AccountUser<'a> {
    pub tenant: &'a str,
    /// The resource of its instance.
    pub resource: &'a str,
    pub provider: Provider,
}

/// All accounts that may be used.
#[derive(Clone)]
pub struct Accounts {
    accounts: Arc<[Account]>,
    store: Arc<dyn Store>,
}

const FILE_BYTES_MAX: usize = 1024 * 1024;
/// Others may claim between a look and a write; then we look again.
const LOOKS_MAX: usize = 5;
/// More accounts than one tenant has claimed.
const CLAIMS_MAX: usize = 1000;

impl Accounts {
    pub fn new(accounts: Vec<Account>, store: Arc<dyn Store>) -> Accounts {
        Accounts { accounts: accounts.into(), store }
    }

    /// One account per provider that everybody shares, for when none are configured.
    pub fn shared_by_all() -> Vec<Account> {
        let all = [Provider::Azure, Provider::Gcp, Provider::Aws, Provider::Openstack];
        let shared = |provider: Provider| Account {
            name: format!("shared-{}", provider.as_str()),
            provider,
            shared: true,
            tenant: None,
        };
        all.map(shared).to_vec()
    }

    pub fn parse(text: &str) -> Result<Vec<Account>, String> {
        if text.len() > FILE_BYTES_MAX {
            return Err(format!("a list of accounts has at most {FILE_BYTES_MAX} bytes"));
        }
        let accounts: Vec<Account> = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        for (index, account) in accounts.iter().enumerate() {
            if accounts[..index].iter().any(|other| other.name == account.name) {
                return Err(format!("account {} is listed twice", account.name));
            }
            if account.shared && account.tenant.is_some() {
                return Err(format!("account {} cannot be shared and belong to a tenant", account.name));
            }
        }
        Ok(accounts)
    }

    /// The account for this cluster: its tenant's own, one that the tenant has already, a free one, or the shared one.
    /// `None` when all are taken.
    pub async fn claim(&self, user: AccountUser<'_>, now: Timestamp) -> Result<Option<String>, Halt> {
        let fitting = || self.accounts.iter().filter(|account| account.provider == user.provider);
        if let Some(own) = fitting().find(|account| account.tenant.as_deref() == Some(user.tenant)) {
            return Ok(Some(own.name.clone()));
        }
        for account in fitting().filter(|account| account.is_claimable()) {
            if self.take(&account.name, user, now).await? {
                return Ok(Some(account.name.clone()));
            }
        }
        Ok(fitting().find(|account| account.shared).map(|account| account.name.clone()))
    }

    /// Claims the account with this name. `false` where the tenant may not have it: the account is unknown, of another
    /// provider, or of another tenant.
    pub async fn claim_named(&self, name: &str, user: AccountUser<'_>, now: Timestamp) -> Result<bool, Halt> {
        match self.fitting(name, user) {
            Some(account) if account.is_claimable() => self.take(name, user, now).await,
            found => Ok(found.is_some()),
        }
    }

    /// As `claim_named`, and takes nothing.
    pub async fn may_claim(&self, name: &str, user: AccountUser<'_>) -> Result<bool, Halt> {
        let Some(account) = self.fitting(name, user) else { return Ok(false) };
        let row = self.store.resource(&self::name(&account.name)).await.map_err(lost)?;
        let holder = row.as_ref().map(read).transpose()?.and_then(|claim| claim.tenant);
        Ok(!account.is_claimable() || holder.is_none_or(|holder| holder == user.tenant))
    }

    fn fitting(&self, name: &str, user: AccountUser<'_>) -> Option<&Account> {
        let is_open = |account: &&Account| account.tenant.as_deref().is_none_or(|own| own == user.tenant);
        let found = self.accounts.iter().find(|one| one.name == name && one.provider == user.provider);
        found.filter(is_open)
    }

    /// The account that a claim would bring, where that is certain without claiming.
    pub fn foresee(&self, tenant: &str, provider: Provider) -> Option<&str> {
        let fitting = || self.accounts.iter().filter(|account| account.provider == provider);
        let own = fitting().find(|account| account.tenant.as_deref() == Some(tenant));
        let is_open = fitting().any(Account::is_claimable);
        own.or_else(|| fitting().find(|account| account.shared && !is_open))
            .map(|account| account.name.as_str())
    }

    /// Removes the cluster from every claim of its tenant. An account without users is free.
    pub async fn release(&self, tenant: &str, leaving: &str, now: Timestamp) -> Result<(), Halt> {
        let query = ResourceQuery {
            kind: AccountClaim::KIND.into(),
            labels: vec![("tenant".into(), vec![tenant.to_owned()])],
            limit: CLAIMS_MAX,
            ..ResourceQuery::default()
        };
        for row in self.store.resources(&query).await.map_err(lost)?.rows {
            self.leave(row, tenant, leaving, now).await?;
        }
        Ok(())
    }

    async fn leave(&self, row: ResourceRow, tenant: &str, leaving: &str, now: Timestamp) -> Result<(), Halt> {
        let (name, mut row) = (row.name.clone(), Some(row));
        for _ in 0..LOOKS_MAX {
            let Some(seen) = row else { return Ok(()) };
            let mut claim = read(&seen)?;
            let was_user = claim.users.remove(leaving);
            if claim.tenant.as_deref() != Some(tenant) {
                return Ok(());
            }
            let is_free = claim.users.is_empty() && !self.is_used(&claim.account, leaving).await?;
            if !is_free && !was_user {
                return Ok(());
            }
            claim.tenant = claim.tenant.filter(|_| !is_free);
            if self.write(&claim, Expect::Version(seen.version), now).await? {
                return Ok(());
            }
            row = self.store.resource(&name).await.map_err(lost)?;
        }
        Err(contended(&name))
    }

    /// Whether another cluster runs in the account, by the records of instances: releases before 0.2 wrote no users.
    async fn is_used(&self, account: &str, leaving: &str) -> Result<bool, Halt> {
        let query = ResourceQuery {
            kind: InstanceRecord::KIND.into(),
            labels: vec![("cloud_account".into(), vec![account.to_owned()])],
            limit: 2,
            ..ResourceQuery::default()
        };
        let users = self.store.resources(&query).await.map_err(lost)?.rows;
        Ok(users.iter().any(|row| row.name != leaving))
    }

    /// Whether the account is the tenant's now, with this cluster among its users. Always writes: a release that read
    /// the claim before must not free it afterwards.
    async fn take(&self, account: &str, user: AccountUser<'_>, now: Timestamp) -> Result<bool, Halt> {
        for _ in 0..LOOKS_MAX {
            let row = self.store.resource(&name(account)).await.map_err(lost)?;
            let claim = row.as_ref().map(read).transpose()?;
            let expect = row.as_ref().map_or(Expect::Absent, |row| Expect::Version(row.version));
            let mut claim = claim.unwrap_or_else(|| AccountClaim::free(account));
            match &claim.tenant {
                Some(holder) if holder != user.tenant => return Ok(false),
                Some(_) => {}
                // It was not saved: names from before are of clusters that are gone.
                None => claim.users.clear(),
            }
            claim.tenant = Some(user.tenant.to_owned());
            claim.users.insert(user.resource.to_owned());
            if self.write(&claim, expect, now).await? {
                return Ok(true);
            }
        }
        Err(contended(&name(account)))
    }

    async fn write(&self, claim: &AccountClaim, expect: Expect, at: Timestamp) -> Result<bool, Halt> {
        let record_update = Some(claim.record_update().map_err(Halt::fail)?);
        let (name, tenant) = (name(&claim.account), claim.tenant.clone().unwrap_or_default());
        let write = ResourceWrite { name, tenant, expect, record_update, at };
        let receipt = self.store.commit(Write::Resource(Box::new(write))).await.map_err(lost)?;
        Ok(receipt == Receipt::Saved)
    }
}

impl AccountClaim {
    fn free(account: &str) -> AccountClaim {
        AccountClaim { account: account.to_owned(), tenant: None, users: BTreeSet::new() }
    }
}

fn read(row: &ResourceRow) -> Result<AccountClaim, Halt> {
    serde_json::from_str(&row.record)
        .map_err(|error| Halt::fail(format!("the record {} cannot be read: {error}", row.name)))
}

fn contended(name: &str) -> Halt {
    Halt::Retry { after: None, cause: format!("the record {name} is changed by others all the time").into() }
}

fn name(account: &str) -> String {
    format!("cloud_account:{account}")
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn lost(error: StoreError) -> Halt {
    let cause = error.to_string().into();
    if error.may_heal() { Halt::Retry { after: None, cause } } else { Halt::Fail { cause } }
}
