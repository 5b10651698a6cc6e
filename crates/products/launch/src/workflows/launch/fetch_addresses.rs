//! Looks at the instances until each has an address. They run already, so trouble here is a warning and not a failure,
//! unless the profile says otherwise.

use std::collections::BTreeMap;

use cloud::{CloudError, CloudInstance};
use engine::Timestamp;
use engine::prelude::*;

use super::instance_request::sought;
use super::launch_instances::{track, until_all_shown};
use super::reach::{Reach, parameters, reach};
use super::report::refuse;
use super::{parts, surplus};
use crate::model::profile::AfterPivot;
use crate::model::settings::Launches;
use crate::model::state::{LaunchError, Tracked};
use crate::workflows::launch::Launch;

pub(crate) struct FetchAddresses {
    launches: Arc<Launches>,
}

pub(crate) const NAME: &str = "fetch_addresses";

/// When the step began to look.
#[derive(Serialize, Deserialize)]
struct Since(Timestamp);

impl Fact for Since {
    const KEY: &'static str = "fetch_addresses.since";
}

impl FetchAddresses {
    pub(crate) fn new(launches: &Arc<Launches>) -> FetchAddresses {
        FetchAddresses { launches: Arc::clone(launches) }
    }

    /// By id and by mark: an instance that an answer did not name is found all the same.
    async fn look(
        &self,
        op: &mut Operation<Launch>,
        reach: &Reach,
    ) -> Result<Vec<CloudInstance>, CloudError> {
        let ids: Vec<String> = op.state.instances.iter().map(|tracked| tracked.instance.id.clone()).collect();
        let described = reach.provider.describe(&reach.cloud_account(), &ids).await?;
        let tagged = reach.provider.find(&reach.cloud_account(), &sought(op)).await?;
        // A list may leave out the addresses.
        let both = tagged.into_iter().chain(described);
        let by_id: BTreeMap<String, CloudInstance> = both.map(|one| (one.id.clone(), one)).collect();
        Ok(by_id.into_values().collect())
    }

    /// What runs although it was not asked for. It goes, or the launch says that it does not.
    async fn clear(
        &self,
        op: &mut Operation<Launch>,
        reach: &Reach,
        surplus: Vec<CloudInstance>,
        is_late: bool,
    ) -> Result<Option<String>, Halt> {
        let pause = self.launches.settings.instance_poll;
        let refused = surplus::terminate(reach, &surplus).await.err();
        if surplus.is_empty() {
            return Ok(None);
        }
        let count = surplus.len();
        if !is_late && refused.as_ref().is_none_or(CloudError::may_heal) {
            let reason = format!("{count} instances more than asked for are being terminated");
            let after = refused.and_then(|error| error.after).unwrap_or(pause);
            return Err(Halt::Wait { after, reason, key: None });
        }
        let ids: Vec<&str> = surplus.iter().map(|one| one.id.as_str()).collect();
        let why = refused.map_or_else(|| "they are still there".to_owned(), |error| error.to_string());
        let said = format!(
            "{count} instances more than asked for run and could not be terminated ({}): {why}; terminate them by \
             hand",
            ids.join(", ")
        );
        track(op, surplus);
        Ok(Some(said))
    }

    /// Where fewer were made than asked for, the parts of the others may be left.
    async fn clear_parts(&self, op: &Operation<Launch>, reach: &Reach, is_late: bool) -> Result<(), Halt> {
        if is_late || op.state.instances.len() >= parameters(op)?.amount as usize {
            return Ok(());
        }
        let is_left = match parts::sweep(op, reach).await {
            Ok(left) => left.iter().any(|part| part.kind.precedes_instance()),
            Err(error) => error.may_heal(),
        };
        if is_left {
            wait(self.launches.settings.instance_poll, "parts of instances that failed are being deleted")?;
        }
        Ok(())
    }

    /// What is said about instances that are gone or have no address, once nothing more is expected.
    fn conclude(op: &mut Operation<Launch>, page_error: Option<String>) -> Outcome {
        let all = &op.state.instances;
        let gone: Vec<String> = all.iter().filter(|one| is_gone(one)).map(said).collect();
        if !all.is_empty() && gone.len() == all.len() {
            let message = format!("all instances are gone: {}", gone.join(", "));
            let error = LaunchError::new(NAME, "upstream", message);
            return Err(refuse(op, error.hinting("look in the account why they ended, then launch again")));
        }
        let without = all.iter().filter(|one| !is_gone(one) && !one.has_address());
        let without: Vec<&str> = without.map(|one| one.instance.id.as_str()).collect();
        let mut warnings: Vec<String> = gone.iter().map(|gone| format!("instance {gone} is gone")).collect();
        if !without.is_empty() {
            warnings.push(format!("no public address is known for {}", without.join(", ")));
        }
        warnings.extend(page_error);
        if op.params.profile.after_pivot == AfterPivot::Rollback && !warnings.is_empty() {
            let error = LaunchError::new(NAME, "upstream", warnings.join("; "));
            return Err(refuse(op, error));
        }
        let (asked, made) = (parameters(op)?.amount as usize, op.state.instances.len());
        if made < asked {
            op.state.warn(format!("only {made} of {asked} instances could be launched"));
        }
        for warning in warnings {
            op.state.warn(warning);
        }
        done()
    }
}

fn is_gone(tracked: &Tracked) -> bool {
    tracked.instance.state.is_gone()
}

fn said(tracked: &Tracked) -> String {
    match &tracked.instance.reason {
        Some(reason) => format!("{} ({reason})", tracked.instance.id),
        None => tracked.instance.id.clone(),
    }
}

#[async_trait]
impl Step<Launch> for FetchAddresses {
    named!(NAME, "Fetching the addresses");

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn driver(&self) -> Option<&'static str> {
        Some("cloud")
    }

    async fn run(&self, op: &mut Operation<Launch>) -> Outcome {
        if op.state.has_done(NAME) {
            return done();
        }
        if op.recall::<Since>()?.is_none() {
            op.remember(&Since(op.now()))?;
        }
        let since = op.recall::<Since>()?.map_or(op.now(), |Since(at)| at);
        let is_late = op.now().since(since) >= self.launches.settings.address_deadline;
        let pause = self.launches.settings.instance_poll;
        let reached = match reach(&self.launches, op).await {
            Ok(reach) => self.look(op, &reach).await.map(|seen| (reach, seen)),
            Err(error) => Err(error),
        };
        let (reach, seen) = match reached {
            Ok(reached) => reached,
            Err(error) if error.may_heal() && !is_late => {
                return wait(error.after.unwrap_or(pause), format!("the instances cannot be seen: {error}"));
            }
            Err(error) => {
                return FetchAddresses::conclude(op, Some(format!("the instances cannot be seen: {error}")));
            }
        };
        let surplus = surplus::take_over(op, seen)?;
        let all = &op.state.instances;
        let known = all.iter().filter(|one| is_gone(one) || one.has_address()).count();
        if known < all.len() && !is_late {
            return wait(pause, format!("{known} of {} instances have an address", all.len()));
        }
        let page_error = self.clear(op, &reach, surplus, is_late).await?;
        until_all_shown(op, &reach, &self.launches.settings)?;
        self.clear_parts(op, &reach, is_late).await?;
        FetchAddresses::conclude(op, page_error)
    }
}
