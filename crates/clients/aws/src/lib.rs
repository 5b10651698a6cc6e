//! Amazon Web Services: the few calls to EC2 and STS that a launch needs, in their Query form.
//!
//! Our own credentials take the role of an account, for the session of one operation. Instances are made with
//! a client token and carry the mark of their launch as a tag, so they can be found again by either. A key
//! pair carries the mark too.

mod endpoint;
mod error;
mod form;
mod identity;
mod images;
mod instance_request;
mod instance_types;
mod instances;
mod keys;
mod options;
mod permissions;
mod provider;
mod query;
mod regions;
mod sessions;
mod signature;
mod templates;
mod xml;

use std::fmt;
use std::sync::Arc;

use cloud::{Category, CloudAccount, CloudError};
use engine::{Clock, WallClock};
use http_client::{DriverError, ExternalSystem};

pub use self::options::{AccessKeys, Options};

use self::endpoint::Region;
use self::form::QueryForm;
use self::query::{AwsQuery, AwsService, CallTarget};
use self::sessions::Sessions;
use self::xml::{Element, Parts as _, ResponseXmlError};

const SYSTEM: ExternalSystem = ExternalSystem("aws");
/// A list that has not ended after so many pages goes round in circles.
const PAGES_MAX: usize = 100;

/// AWS, for all accounts. Clones share their connections and the roles they took.
#[derive(Clone)]
pub struct Aws {
    query: Arc<AwsQuery>,
    sessions: Arc<Sessions>,
}

impl Aws {
    pub fn new(options: &Options) -> Result<Aws, DriverError> {
        Aws::with_clock(options, Arc::new(WallClock))
    }

    /// Signatures and sessions are good for a while; this clock says for how long.
    pub fn with_clock(options: &Options, clock: Arc<dyn Clock>) -> Result<Aws, DriverError> {
        let query = Arc::new(AwsQuery::new(options, clock)?);
        Ok(Aws { query, sessions: Arc::new(Sessions::new(options)) })
    }

    async fn ec2(&self, place: &CloudAccount<'_>, form: &QueryForm) -> Result<Element, CloudError> {
        let region = Region::parse(place.region)?;
        self.call(AwsService::Ec2, &region, place, form).await
    }

    async fn sts(&self, place: &CloudAccount<'_>, form: &QueryForm) -> Result<Element, CloudError> {
        self.call(AwsService::Sts, &self.query.home, place, form).await
    }

    /// One call in the name of the account. A session that turns out to have ended is taken once more.
    async fn call(
        &self,
        service: AwsService,
        region: &Region,
        place: &CloudAccount<'_>,
        form: &QueryForm,
    ) -> Result<Element, CloudError> {
        let target = CallTarget { service, region, source: &place.account.source };
        let keys = self.sessions.keys(&self.query, place).await?;
        match self.query.ask(target, &keys, form).await {
            Err(error) if error::ended_session(&error) && self.sessions.forget(place, &keys).await => {
                let keys = self.sessions.keys(&self.query, place).await?;
                self.query.ask(target, &keys, form).await
            }
            answer => answer,
        }
    }

    /// All pages of a list, one after the other.
    async fn pages(
        &self,
        place: &CloudAccount<'_>,
        form: QueryForm,
        mut read: impl FnMut(&Element) -> Result<(), ResponseXmlError> + Send,
    ) -> Result<(), CloudError> {
        let mut next = None;
        for _ in 0..PAGES_MAX {
            let page = form.clone().maybe("NextToken", next.as_deref());
            let answer = self.ec2(place, &page).await?;
            read(&answer)?;
            next = answer.text("nextToken").map(str::to_owned);
            if next.is_none() {
                return Ok(());
            }
        }
        let message = format!("the list of {} does not end after {PAGES_MAX} pages", form.action);
        Err(CloudError::new(Category::Upstream, "", message))
    }
}

impl fmt::Debug for Aws {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Aws").finish_non_exhaustive()
    }
}
