//! Has the cloud make the instances, once, whatever happens to the answer. Up to here everything is taken back when
//! something fails; from here on what runs is kept.

use std::collections::BTreeMap;

use cloud::{Category, CloudError, CloudInstance, Created, InstanceRequest, InstanceState, LAUNCH_TAG, Part};
use engine::prelude::*;
use engine::{Calls, Timestamp};

use super::instance_request::{self, launch_tag};
use super::reach::{Reach, parameters, reach};
use super::report::{healed, later, refuse, stop};
use super::{parts, surplus, upload_public_key};
use crate::model::settings::{LaunchSettings, Launches};
use crate::model::state::{LaunchError, Leftover, Tracked};
use crate::workflows::launch::Launch;

pub(crate) struct LaunchInstances {
    launches: Arc<Launches>,
}

pub(crate) const NAME: &str = "launch_instances";
pub(crate) const CALL: &str = "launch_instances.called";
/// So often a key pair may vanish between its upload and the launch.
const KEYS_MAX: u32 = 3;

/// How often what is ordered has changed. A token is good for one order only.
#[derive(Serialize, Deserialize)]
struct Generation(u32);

impl Fact for Generation {
    const KEY: &'static str = "launch_instances.generation";
}

/// The generation for which the cloud has begun, and says to come back. Further calls are only to ask how far it is.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct BegunGeneration(u32);

impl Fact for BegunGeneration {
    const KEY: &'static str = "launch_instances.begun";
}

/// Since when the cloud has had no room, where it says so only after a while. Between two such answers the step waits, and
/// a wait gives the whole budget back.
#[derive(Serialize, Deserialize)]
struct NoRoomSince(Timestamp);

impl Fact for NoRoomSince {
    const KEY: &'static str = "launch_instances.no_room_since";
}

/// The instances that the last look found, by id.
#[derive(PartialEq, Eq, Serialize, Deserialize)]
struct LastLookup(Vec<String>);

impl Fact for LastLookup {
    const KEY: &'static str = "launch_instances.looked";
}

/// What a look on the way back brought.
struct ObservedInstances {
    alive: usize,
    /// An instance that we know was not shown.
    is_hidden: bool,
    /// What is left beside instances, once none of them is alive.
    parts: Vec<Part>,
    /// For how long the cloud may show things late.
    settle: Duration,
    /// The cloud makes things one by one.
    resumes: bool,
}

impl LaunchInstances {
    pub(crate) fn new(launches: &Arc<Launches>) -> LaunchInstances {
        LaunchInstances { launches: Arc::clone(launches) }
    }

    /// Takes over what an earlier call has made, once that is certain: all that was asked for is there, or the call
    /// cannot be on its way any longer and two looks have found the same. Not every cloud recognises a call that it has
    /// carried out before, so a new one is made only when there is nothing to take over.
    async fn adopt(&self, op: &mut Operation<Launch>, reach: &Reach) -> Result<bool, Halt> {
        let found = reach.provider.find(&reach.cloud_account(), &instance_request::sought(op)).await;
        let found = found.map_err(|error| stop(op, NAME, error))?;
        if found.len() < parameters(op)?.amount as usize {
            let settings = &self.launches.settings;
            let mut ids: Vec<String> = found.iter().map(|one| one.id.clone()).collect();
            ids.sort();
            let looked = LastLookup(ids);
            let is_same = op.recall::<LastLookup>()?.as_ref() == Some(&looked);
            op.remember(&looked)?;
            op.attempt(CALL).settle(reach.settle(settings), |_| settings.instance_poll)?;
            if found.is_empty() {
                return Ok(false);
            }
            if !is_same {
                let count = found.len();
                return Err(Halt::Wait {
                    after: settings.instance_poll,
                    reason: format!("{count} instances of an earlier call are there; others may follow"),
                    key: None,
                });
            }
        }
        surplus::take_over(op, found)?;
        Ok(true)
    }

    async fn create(
        &self,
        op: &mut Operation<Launch>,
        reach: &Reach,
        instance_request: &InstanceRequest,
    ) -> Outcome {
        let generation = generation(op)?;
        let token = op.idempotency_key(&format!("instances-{generation}"));
        let cloud_account = reach.cloud_account();
        let call = reach.provider.create(&cloud_account, instance_request, &token);
        let begun = BegunGeneration(generation);
        let has_begun = op.recall::<BegunGeneration>()?.as_ref() == Some(&begun);
        let answer = if has_begun {
            call.await
        } else {
            op.attempt(CALL).call(call, CloudError::may_have_happened).await?
        };
        match answer {
            Ok(Created { reservation, instances, again: Some(after) }) => {
                op.state.reservation = reservation.or(op.state.reservation.take());
                if !has_begun {
                    op.remember(&begun)?;
                }
                let (made, most) = (instances.len(), instance_request.most);
                wait(after, format!("the cloud is making the instances; {made} of {most} are there"))
            }
            Ok(Created { reservation, instances, again: None }) => {
                if instances.is_empty() {
                    let message = "the cloud says that it made nothing";
                    return Err(stop(op, NAME, CloudError::new(Category::Upstream, "", message)));
                }
                op.state.reservation = reservation.or(op.state.reservation.take());
                let has_parts = !op.params.provider.spec().parts.is_empty();
                op.state.launch_tag = has_parts.then(|| launch_tag(op));
                track(op, instances);
                done()
            }
            Err(error) => self.failed(op, reach, error).await,
        }
    }

    /// What an error means, beyond what it says.
    async fn failed(&self, op: &mut Operation<Launch>, reach: &Reach, error: CloudError) -> Outcome {
        match error.category {
            Category::NotFound if error.code == "InvalidKeyPair.NotFound" && op.state.key.is_some() => {
                LaunchInstances::upload_again(op, error)
            }
            Category::Mismatch if !reach.provider.resumes() && self.adopt(op, reach).await? => done(),
            Category::Capacity if reach.provider.resumes() => Err(self.no_room(op, error)?),
            _ => Err(stop(op, NAME, error)),
        }
    }

    /// The cloud began and had no room after all. What it made is gone, and the next call is a new one.
    fn no_room(&self, op: &mut Operation<Launch>, error: CloudError) -> Result<Halt, Halt> {
        let now = op.now();
        let since = op.recall::<NoRoomSince>()?.map_or(now, |NoRoomSince(since)| since);
        if now.since(since) >= self.launches.settings.capacity_patience {
            let cause = format!("there was no room for {} s: {error}", now.since(since).as_secs());
            stop(op, NAME, error);
            return Ok(Halt::Fail { cause: cause.into() });
        }
        op.remember(&NoRoomSince(since))?;
        op.remember(&Generation(generation(op)? + 1))?;
        Ok(stop(op, NAME, error))
    }

    /// A client deleted the key pair a moment ago.
    fn upload_again(op: &mut Operation<Launch>, error: CloudError) -> Outcome {
        let generation = generation(op)? + 1;
        if generation > KEYS_MAX {
            return Err(stop(op, NAME, error));
        }
        op.remember(&Generation(generation))?;
        op.state.key = None;
        op.state.done.remove(upload_public_key::NAME);
        wait(Duration::ZERO, "the key pair was deleted and is uploaded again")
    }

    /// Everything of this launch that the cloud knows, by its mark and by name.
    async fn look(&self, op: &Operation<Launch>, reach: &Reach) -> Result<Vec<CloudInstance>, CloudError> {
        let tagged = reach.provider.find(&reach.cloud_account(), &instance_request::sought(op)).await?;
        let mut all: BTreeMap<String, CloudInstance> =
            tagged.into_iter().map(|instance| (instance.id.clone(), instance)).collect();
        let known = op.state.instances.iter().map(|tracked| &tracked.instance.id);
        let unseen: Vec<String> = known.filter(|id| !all.contains_key(*id)).cloned().collect();
        if !unseen.is_empty() {
            let described = reach.provider.describe(&reach.cloud_account(), &unseen).await?;
            all.extend(described.into_iter().map(|instance| (instance.id.clone(), instance)));
        }
        Ok(all.into_values().collect())
    }

    /// Begins to delete what is there. Answers what it saw.
    async fn take_back(&self, op: &mut Operation<Launch>) -> Result<ObservedInstances, CloudError> {
        let reach = reach(&self.launches, op).await?;
        let seen = self.look(op, &reach).await?;
        let resumes = reach.provider.resumes();
        let is_shown = |tracked: &Tracked| seen.iter().any(|one| one.id == tracked.instance.id);
        let is_hidden = op.state.instances.iter().any(|tracked| !is_shown(tracked));
        let alive: Vec<String> =
            seen.iter().filter(|one| !one.state.is_gone()).map(|one| one.id.clone()).collect();
        // Parts cannot go before the last trace of their instance.
        let going = seen.iter().filter(|one| resumes && one.state == InstanceState::ShuttingDown).count();
        track(op, seen);
        if !alive.is_empty() {
            reach.provider.delete(&reach.cloud_account(), &alive).await?;
        }
        let alive = alive.len() + going;
        let parts = if alive == 0 { parts::sweep(op, &reach).await? } else { Vec::new() };
        let settle = reach.settle(&self.launches.settings);
        Ok(ObservedInstances { alive, is_hidden, parts, settle, resumes })
    }

    /// Waits until nothing is there and nothing can follow.
    fn until_clear(&self, op: &mut Operation<Launch>, observed: &ObservedInstances) -> Result<(), Halt> {
        let settings = &self.launches.settings;
        let ObservedInstances { alive, is_hidden, parts, settle, resumes } = observed;
        if !parts.is_empty() {
            return Err(parts::until_gone(op, settings, NAME, parts)?);
        }
        healed(op, NAME)?;
        if *alive > 0 {
            if *resumes {
                parts::seen(op)?;
            }
            wait(settings.instance_poll, format!("{alive} instances are being terminated"))?;
        }
        if *resumes {
            return parts::until_quiet(op, *settle);
        }
        op.attempt(CALL).settle(*settle, |_| Duration::MAX)?;
        match op.calls(CALL)?.filter(|_| *is_hidden) {
            Some(calls) => until_shown(op, &calls, *settle),
            None => Ok(()),
        }
    }

    fn leftovers(op: &Operation<Launch>, error: &CloudError) -> Vec<Leftover> {
        let region = parameters(op).ok().map(|parameters| parameters.region.clone());
        let alive = op.state.instances.iter().filter(|tracked| !tracked.instance.state.is_gone());
        let leftover = |id: String, what: &str| Leftover {
            kind: "instance".into(),
            id,
            region: region.clone(),
            note: format!("{what}: {error}; allow the role to do that and retry, or do it manually"),
        };
        let known: Vec<Leftover> = alive
            .map(|tracked| leftover(tracked.instance.id.clone(), "it could not be terminated"))
            .collect();
        if !known.is_empty() {
            return known;
        }
        if !op.params.provider.spec().parts.is_empty() {
            return parts::leftovers(op, &[], error);
        }
        let launch_tag = format!("{LAUNCH_TAG}={}", launch_tag(op));
        vec![leftover(launch_tag, "there may be instances with this tag, which could not be looked for")]
    }
}

fn generation(op: &Operation<Launch>) -> Result<u32, Halt> {
    Ok(op.recall::<Generation>()?.map_or(0, |Generation(number)| number))
}

/// Waits until the cloud shows everything that calls have made, where it may have carried out two of them.
pub(crate) fn until_all_shown(
    op: &Operation<Launch>,
    reach: &Reach,
    settings: &LaunchSettings,
) -> Result<(), Halt> {
    match op.calls(CALL)?.filter(|calls| calls.is_doubled && !reach.provider.resumes()) {
        Some(calls) => until_shown(op, &calls, reach.settle(settings)),
        None => Ok(()),
    }
}

fn until_shown(op: &Operation<Launch>, calls: &Calls, within: Duration) -> Result<(), Halt> {
    let after = calls.last.plus(within).since(op.now());
    if after.is_zero() {
        return Ok(());
    }
    wait(after, "what was made may not be visible yet").map(drop)
}

/// Takes over what was seen; what did not change keeps the time at which it was seen first.
pub(crate) fn track(op: &mut Operation<Launch>, seen: Vec<CloudInstance>) {
    let now = op.now();
    for instance in seen {
        match op.state.instances.iter_mut().find(|tracked| tracked.instance.id == instance.id) {
            Some(tracked) if tracked.instance == instance => {}
            Some(tracked) => *tracked = Tracked { instance, seen_at: now },
            None => op.state.instances.push(Tracked { instance, seen_at: now }),
        }
    }
    op.state.instances.sort_by(|a, b| a.instance.id.cmp(&b.instance.id));
}

#[async_trait]
impl Step<Launch> for LaunchInstances {
    named!(NAME, "Launching the instances");

    fn driver(&self) -> Option<&'static str> {
        Some("cloud")
    }

    fn retries(&self) -> Option<RetryPolicy> {
        let LaunchSettings { retry_first: first, capacity_patience: budget, .. } = self.launches.settings;
        Some(RetryPolicy { first, max: first * 60, budget })
    }

    async fn run(&self, op: &mut Operation<Launch>) -> Outcome {
        if !op.state.instances.is_empty() {
            return done();
        }
        let reservation = instance_request::reservation(&self.launches, op).await;
        let reservation = reservation.map_err(|error| stop(op, NAME, error))?;
        let instance_request = instance_request::complete(op, &self.launches.settings, &reservation)?;
        if instance_request.image.is_none() && instance_request.template.is_none() {
            let error =
                LaunchError::new(NAME, "validation", "there is neither an image nor a launch template");
            return Err(refuse(op, error));
        }
        let reach = reach(&self.launches, op).await.map_err(|error| stop(op, NAME, error))?;
        let is_unknown = op.attempt(CALL).unknown()?.is_some();
        if is_unknown && !reach.provider.resumes() && self.adopt(op, &reach).await? {
            op.attempt(CALL).adopt()?;
            return done();
        }
        self.create(op, &reach, &instance_request).await
    }

    /// Goes on until none is left alive for sure.
    async fn undo(&self, op: &mut Operation<Launch>) -> Outcome {
        if op.calls(CALL)?.is_none() {
            return done();
        }
        match self.take_back(op).await {
            Ok(observed) => self.until_clear(op, &observed)?,
            Err(error) => {
                let leftovers = LaunchInstances::leftovers(op, &error);
                return Err(later(op, &self.launches.settings, NAME, &error, leftovers)?);
            }
        }
        op.state.cleared("instance");
        parts::cleared(op);
        op.state.instances.clear();
        op.state.registered = false;
        done()
    }
}
