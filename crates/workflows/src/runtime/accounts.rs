//! The accounts of clouds in which clusters run: each tenant has its own, or shares one.
//!
//! Who has which account is a record in the store, so that two nodes never give one account to two tenants.

use std::sync::Arc;

use engine::store::{Expect, Receipt, ResourceQuery, ResourceRow, ResourceWrite, Store, StoreError, Write};
use engine::{Halt, Resource, Timestamp};
use serde::{Deserialize, Serialize};

use super::catalog::Provider;
use super::instance::Instance;

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
    /// It belongs to this tenant and to nobody else.
    #[serde(default)]
    pub tenant: Option<String>,
}

impl Account {
    fn is_claimable(&self) -> bool {
        !self.shared && self.tenant.is_none()
    }
}

/// Who has an account. Kept also while nobody has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Claim {
    account: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
}

impl Resource for Claim {
    const KIND: &'static str = "cloud_account";

    fn labels(&self) -> Vec<(&'static str, String)> {
        vec![("tenant", self.tenant.clone().unwrap_or_default())]
    }
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

    /// The account of this tenant: its own, one that it claimed before, a free one, or the shared one. `None` when
    /// all are taken.
    pub async fn claim(
        &self,
        tenant: &str,
        provider: Provider,
        now: Timestamp,
    ) -> Result<Option<String>, Halt> {
        let fitting = || self.accounts.iter().filter(|account| account.provider == provider);
        if let Some(own) = fitting().find(|account| account.tenant.as_deref() == Some(tenant)) {
            return Ok(Some(own.name.clone()));
        }
        for account in fitting().filter(|account| account.is_claimable()) {
            if self.take(&account.name, tenant, now).await? {
                return Ok(Some(account.name.clone()));
            }
        }
        Ok(fitting().find(|account| account.shared).map(|account| account.name.clone()))
    }

    /// The account that a claim would bring, where that is certain without claiming.
    pub fn foresee(&self, tenant: &str, provider: Provider) -> Option<&str> {
        let fitting = || self.accounts.iter().filter(|account| account.provider == provider);
        let own = fitting().find(|account| account.tenant.as_deref() == Some(tenant));
        let is_open = fitting().any(Account::is_claimable);
        own.or_else(|| fitting().find(|account| account.shared && !is_open))
            .map(|account| account.name.as_str())
    }

    /// Gives an account back that no cluster of its tenant uses any longer. `leaving` is the resource that goes.
    pub async fn release(&self, account: &str, leaving: &str, now: Timestamp) -> Result<(), Halt> {
        if !self.accounts.iter().any(|one| one.name == account && one.is_claimable()) {
            return Ok(());
        }
        let query = ResourceQuery {
            kind: Instance::KIND.into(),
            labels: vec![("cloud_account".into(), vec![account.to_owned()])],
            limit: 2,
            ..ResourceQuery::default()
        };
        let users = self.store.resources(&query).await.map_err(lost)?.rows;
        let is_used = users.iter().any(|row| row.name != leaving);
        let Some(row) = self.store.resource(&name(account)).await.map_err(lost)?.filter(|_| !is_used) else {
            return Ok(());
        };
        let free = Claim { account: account.to_owned(), tenant: None };
        self.write(&free, Expect::Version(row.version), now).await.map(|_| ())
    }

    /// Whether the account is this tenant's now.
    async fn take(&self, account: &str, tenant: &str, now: Timestamp) -> Result<bool, Halt> {
        let mine = Claim { account: account.to_owned(), tenant: Some(tenant.to_owned()) };
        for _ in 0..LOOKS_MAX {
            let expect = match self.store.resource(&name(account)).await.map_err(lost)? {
                None => Expect::Absent,
                Some(row) => match holder(&row)? {
                    Some(holder) => return Ok(holder == tenant),
                    None => Expect::Version(row.version),
                },
            };
            if self.write(&mine, expect, now).await? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn write(&self, claim: &Claim, expect: Expect, at: Timestamp) -> Result<bool, Halt> {
        let portrait = Some(claim.portrait().map_err(fail)?);
        let (name, tenant) = (name(&claim.account), claim.tenant.clone().unwrap_or_default());
        let write = ResourceWrite { name, tenant, expect, portrait, at };
        let receipt = self.store.commit(Write::Resource(Box::new(write))).await.map_err(lost)?;
        Ok(receipt == Receipt::Saved)
    }
}

fn holder(row: &ResourceRow) -> Result<Option<String>, Halt> {
    let claim: Claim = serde_json::from_str(&row.record)
        .map_err(|error| fail(format!("the record {} cannot be read: {error}", row.name)))?;
    Ok(claim.tenant)
}

fn name(account: &str) -> String {
    format!("cloud_account:{account}")
}

fn fail(cause: impl Into<String>) -> Halt {
    Halt::Fail { cause: cause.into().into() }
}

#[expect(clippy::needless_pass_by_value, reason = "for map_err")]
fn lost(error: StoreError) -> Halt {
    let cause = error.to_string().into();
    if error.may_heal() { Halt::Retry { after: None, cause } } else { Halt::Fail { cause } }
}
