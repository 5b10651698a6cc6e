//! Asks the Image Builder for the image, with the mark of this launch in its description. It honours no token, so
//! after a lost answer the mark tells whether there is a build.

use engine::Calls;
use engine::prelude::*;
use identity::CallerIdentity;
use image_builder::{BuilderError, ImageBuilder};
use serde_json::Value;
use uuid::Uuid;

use super::instance_request::launch_tag;
use super::report::{refuse, settle, steady, stop_build};
use super::saved_identity::saved_identity;
use crate::model::params::{Build, ImageChoice};
use crate::model::profile::OnLaunchFailure;
use crate::model::settings::Launches;
use crate::model::state::{BuildState, LaunchError, Leftover};
use crate::workflows::launch::Launch;

pub(crate) struct SubmitBuild {
    launches: Arc<Launches>,
}

pub(crate) const NAME: &str = "submit_build";
const CALL: &str = "submit_build.called";
/// The Image Builder takes no longer description.
const DESCRIPTION_CHARS_MAX: usize = 250;
/// Its clock and ours may differ by this much.
const SKEW: Duration = Duration::from_mins(1);

impl SubmitBuild {
    pub(crate) fn new(launches: &Arc<Launches>) -> SubmitBuild {
        SubmitBuild { launches: Arc::clone(launches) }
    }

    fn builder(&self, op: &mut Operation<Launch>) -> Result<&ImageBuilder, Halt> {
        let missing = || LaunchError::new(NAME, "validation", "no Image Builder is configured here");
        self.launches.builder.as_ref().ok_or_else(|| refuse(op, missing()))
    }

    /// The build that an earlier call has made.
    async fn find(
        &self,
        op: &Operation<Launch>,
        identity: &CallerIdentity,
        calls: &Calls,
    ) -> Result<Option<Uuid>, BuilderError> {
        let Some(builder) = &self.launches.builder else { return Ok(None) };
        let launch_tag = launch_tag(op);
        let listed = builder.list(identity, calls.first.minus(SKEW)).await?;
        let ours = |text: &Option<String>| text.as_ref().is_some_and(|text| text.contains(&launch_tag));
        Ok(listed.into_iter().find(|build| ours(&build.description)).map(|build| build.id))
    }

    async fn submit(&self, op: &mut Operation<Launch>, request: &Value) -> Outcome {
        let builder = self.builder(op)?.clone();
        let identity = saved_identity(&self.launches, op)?;
        let call = builder.submit(&identity, request);
        match op.attempt(CALL).call(call, BuilderError::may_have_happened).await? {
            Ok(compose) => {
                op.state.build = Some(begun(compose));
                done()
            }
            Err(error) => Err(stop_build(op, NAME, error)),
        }
    }

    async fn hide(&self, op: &mut Operation<Launch>, compose: Uuid) -> Outcome {
        let Some(builder) = &self.launches.builder else { return done() };
        let answer = builder.hide(&saved_identity(&self.launches, op)?, compose).await;
        match answer {
            Ok(()) => {
                op.state.cleared("compose");
                done()
            }
            Err(error) if error.may_heal() => {
                wait(self.launches.settings.settle, format!("the build cannot be hidden: {error}"))
            }
            Err(error) => {
                let note = format!("the Image Builder does not hide it: {error}");
                let id = compose.to_string();
                op.state.leave_over(Leftover { kind: "compose".into(), id, region: None, note });
                fail(error.to_string())
            }
        }
    }
}

fn begun(compose: Uuid) -> BuildState {
    BuildState { compose, status: "pending".to_owned(), done: None, total: None }
}

/// The request as it was asked for, with the mark behind the description.
fn request(op: &Operation<Launch>, build: &Build) -> Result<Value, Halt> {
    let unreadable = |error: String| Halt::fail(format!("the build request cannot be read: {error}"));
    let text = op.open(&build.request)?;
    // The text may hold secrets, so the error must not quote it.
    let mut request: Value =
        serde_json::from_str(text.expose_secret()).map_err(|_| unreadable("it is not JSON".into()))?;
    let members = request.as_object_mut().ok_or_else(|| unreadable("it is not an object".into()))?;
    let said = members.get("image_description").and_then(Value::as_str).unwrap_or_default();
    members.insert("image_description".into(), described(said, &launch_tag(op)).into());
    Ok(request)
}

/// What the owner said, as far as there is room, and the mark.
fn described(said: &str, launch_tag: &str) -> String {
    let room = DESCRIPTION_CHARS_MAX.saturating_sub(launch_tag.chars().count() + 1);
    let said: String = said.chars().take(room).collect();
    format!("{} {launch_tag}", said.trim_end()).trim_start().to_owned()
}

#[async_trait]
impl Step<Launch> for SubmitBuild {
    named!(NAME, "Requesting the image build");

    fn driver(&self) -> Option<&'static str> {
        Some("image_builder")
    }

    fn retries(&self) -> Option<RetryPolicy> {
        Some(steady(&self.launches.settings))
    }

    async fn run(&self, op: &mut Operation<Launch>) -> Outcome {
        if op.state.build.is_some() {
            return done();
        }
        let ImageChoice::Build(build) = &op.params.image else { return done() };
        let request = request(op, build)?;
        if let Some(unknown) = op.attempt(CALL).unknown()? {
            match self.find(op, &saved_identity(&self.launches, op)?, &unknown.calls).await {
                Ok(Some(compose)) => {
                    op.attempt(CALL).adopt()?;
                    op.state.build = Some(begun(compose));
                    return done();
                }
                Ok(None) => settle(op, CALL, &self.launches.settings)?,
                Err(error) => return Err(stop_build(op, NAME, error)),
            }
        }
        self.submit(op, &request).await
    }

    /// A build cannot be stopped: it can only be hidden.
    async fn undo(&self, op: &mut Operation<Launch>) -> Outcome {
        let Some(calls) = op.calls(CALL)? else { return done() };
        let is_unknown = calls.unknown_since.is_some();
        let hides =
            op.params.profile.on_launch_failure == OnLaunchFailure::HideCompose && !op.state.abandoned;
        if op.state.build.is_none() && is_unknown && hides {
            match self.find(op, &saved_identity(&self.launches, op)?, &calls).await {
                Ok(Some(compose)) => op.state.build = Some(begun(compose)),
                Ok(None) => settle(op, CALL, &self.launches.settings)?,
                Err(error) if error.may_heal() => {
                    return wait(self.launches.settings.settle, error.to_string());
                }
                Err(error) => return fail(error.to_string()),
            }
        }
        let Some(build) = op.state.build.clone() else {
            if is_unknown && !hides {
                let launch_tag = launch_tag(op);
                op.state.warn(format!(
                    "a build may have begun; it cannot be stopped, and is described by {launch_tag}"
                ));
            }
            return done();
        };
        let compose = build.compose;
        op.state.warn(match build.status.as_str() {
            "success" | "failure" => format!("the build {compose} was over; its image is not deleted"),
            _ => format!("the build {compose} cannot be stopped and continues"),
        });
        if hides { self.hide(op, compose).await } else { done() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_has_the_mark_and_as_much_of_the_text_as_fits() {
        assert_eq!(described("", "m-1"), "m-1");
        assert_eq!(described("our image", "m-1"), "our image m-1");
        let long = described(&"ä".repeat(400), "m-1");
        assert_eq!(long.chars().count(), DESCRIPTION_CHARS_MAX);
        assert!(long.ends_with("ä m-1"));
    }
}
