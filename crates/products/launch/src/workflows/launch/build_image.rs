//! Waits until the image is ready. An event that says so is only a hint: one look at the Image Builder decides, and the
//! image is taken from there.

use engine::Timestamp;
use engine::prelude::*;
use image_builder::{BuildStatus, BuilderError, Compose, Upload, UploadStatus};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::report::{note_build, refuse, stop_build};
use super::saved_identity::saved_identity;
use super::wait_for_parameters::collect;
use crate::model::params::ImageChoice;
use crate::model::profile::ImageSource;
use crate::model::record::LaunchRecord;
use crate::model::settings::{LaunchSettings, Launches};
use crate::model::state::{BuildState, LaunchError, ResolvedImage};
use crate::workflows::launch::Launch;

pub(crate) struct BuildImage {
    launches: Arc<Launches>,
}

pub(crate) const NAME: &str = "build_image";

/// How the build has been watched.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct BuildWatch {
    since: Timestamp,
    looks: u32,
    /// Looks in a row at which the Image Builder did not know the build.
    misses: u32,
    last: Option<Timestamp>,
    /// When the next look is due; a pass that comes earlier was woken by a hint.
    next: Option<Timestamp>,
    /// A look was put off to `next`, and has its turn then.
    has_turn: bool,
    /// Looks in a row that failed.
    #[serde(default)]
    fails: u32,
}

impl Fact for BuildWatch {
    const KEY: &'static str = "build_image.watch";
}

/// Why there is no image yet.
enum Because {
    Building(String),
    /// The last look did not tell.
    Unseen(String),
}

/// A build that was just made may not be known everywhere.
const MISSES_MAX: u32 = 5;
/// Hints that come faster wait for each other.
const IMAGE_EVENT_PAUSE: Duration = Duration::from_millis(50);

impl BuildImage {
    pub(crate) fn new(launches: &Arc<Launches>) -> BuildImage {
        BuildImage { launches: Arc::clone(launches) }
    }

    /// Waits for the turn of this look, so that thousands of builds are not looked at together.
    fn take_turn(&self, op: &mut Operation<Launch>, watch: &mut BuildWatch) -> Result<(), Halt> {
        let now = op.now();
        let hinted = watch.next.is_some_and(|next| now < next);
        let turn = if hinted {
            let pause = IMAGE_EVENT_PAUSE.min(self.launches.settings.poll_first);
            watch.last.map_or(now, |last| last.plus(pause).max(now))
        } else if watch.has_turn {
            now
        } else {
            self.launches.rate_limit.slot(now)
        };
        watch.has_turn = turn > now;
        if turn <= now {
            return Ok(());
        }
        watch.next = Some(turn);
        op.remember(watch)?;
        Err(until(op, turn.since(now), "other builds are looked at first".to_owned()))
    }

    /// The pause until the next look, within the deadline and while parameters may still come.
    fn pause(&self, op: &Operation<Launch>, watch: &BuildWatch, because: &Because) -> Duration {
        let profile = &op.params.profile;
        let left = watch.since.plus(profile.image_deadline()).since(op.now());
        let soon = || backed_off(&self.launches.settings, watch.looks, &op.idempotency_key(NAME));
        let pause = match (profile.image_source, because) {
            // The hint has come already, or may have.
            (ImageSource::Poll, _) | (_, Because::Unseen(_)) => soon(),
            (ImageSource::Callback | ImageSource::Event, Because::Building(_)) => {
                profile.fallback_poll().unwrap_or(left)
            }
        };
        pause.min(left)
    }

    /// It is not ready, and there is time.
    fn wait_on(
        &self,
        op: &mut Operation<Launch>,
        mut watch: BuildWatch,
        parameters_left: Option<Duration>,
        because: Because,
    ) -> Outcome {
        let deadline = op.params.profile.image_deadline();
        let pause = self.pause(op, &watch, &because);
        let pause = pause.min(parameters_left.unwrap_or(pause)).max(Duration::from_millis(1));
        let (Because::Building(reason) | Because::Unseen(reason)) = because;
        if op.now().since(watch.since) >= deadline {
            let message = format!("the image was not ready within {deadline:?}: {reason}");
            let error = LaunchError::new(NAME, "timeout", message);
            return Err(refuse(op, error.hinting("launch the image when it is ready, or allow more time")));
        }
        watch.next = Some(op.now().plus(pause));
        op.remember(&watch)?;
        Err(until(op, pause, reason))
    }

    /// What the Image Builder said, judged.
    fn judge(op: &mut Operation<Launch>, compose: &Compose) -> Result<Option<Because>, Halt> {
        match compose.status {
            BuildStatus::Failure => {
                let why = compose.error.as_deref().unwrap_or("the Image Builder does not say why");
                let error = LaunchError::new(NAME, "upstream", format!("the build failed: {why}"));
                Err(refuse(op, error.hinting("change the build request and launch again")))
            }
            BuildStatus::Success => match resolve(op, compose) {
                Ok(Some(image)) => {
                    op.state.image = Some(image);
                    Ok(None)
                }
                Ok(None) => Ok(Some(Because::Unseen("built, and not uploaded yet".to_owned()))),
                Err(message) => {
                    let error = LaunchError::new(NAME, "validation", message);
                    Err(refuse(op, error.hinting("build the image for the cloud in which it is launched")))
                }
            },
            status => Ok(Some(Because::Building(match compose.progress {
                Some((done, total)) => format!("{}, {done} of {total}", status.as_str()),
                None => status.as_str().to_owned(),
            }))),
        }
    }
}

fn until(op: &Operation<Launch>, after: Duration, reason: String) -> Halt {
    Halt::Wait { after, reason, key: Some(LaunchRecord::image_of(op.params.launch)) }
}

/// The image of the cloud, once it has been uploaded.
fn resolve(op: &Operation<Launch>, compose: &Compose) -> Result<Option<ResolvedImage>, String> {
    let Some(upload) = &compose.upload else { return Ok(None) };
    let provider = op.params.provider;
    if upload.kind != provider.as_str() {
        return Err(format!("the image was made for {} and not for {provider}", upload.kind));
    }
    match upload.status {
        UploadStatus::Pending | UploadStatus::Running => return Ok(None),
        UploadStatus::Failure => return Err("the image could not be uploaded".to_owned()),
        UploadStatus::Success => {}
    }
    let id = (provider.spec().build.image_id)(&|name| option(upload, name).or_else(|| asked(compose, name)));
    let id = id.ok_or_else(|| "the Image Builder does not name the image".to_owned())?;
    let spec = provider.spec();
    let region = spec.is_regional.then(|| option(upload, "region").unwrap_or_else(|| spec.home.to_owned()));
    Ok(Some(ResolvedImage { id, architecture: compose.architecture, region, generation: None }))
}

fn option(upload: &Upload, name: &str) -> Option<String> {
    upload
        .options
        .get(name)
        .and_then(|value| value.as_str())
        .filter(|text| !text.is_empty())
        .map(str::to_owned)
}

/// What the request said, where the answer leaves it out.
fn asked(compose: &Compose, name: &str) -> Option<String> {
    let options = compose.request.pointer("/image_requests/0/upload_request/options")?;
    options.get(name)?.as_str().filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Longer with every look, and a little different for every launch.
fn backed_off(settings: &LaunchSettings, looks: u32, salt: &str) -> Duration {
    let doubled = settings.poll_first.saturating_mul(1 << looks.saturating_sub(1).min(16));
    let base = doubled.min(settings.poll_max);
    let mut hash = Sha256::new();
    hash.update(salt.as_bytes());
    hash.update(looks.to_be_bytes());
    // Between nothing and a quarter more.
    let share = u32::from(hash.finalize()[0]);
    base + base * share / 1024
}

fn compose_of(op: &Operation<Launch>) -> Result<Uuid, Halt> {
    match (&op.state.build, &op.params.image) {
        (Some(build), _) => Ok(build.compose),
        (None, ImageChoice::Compose { id }) => Ok(*id),
        _ => Err(Halt::fail("the build is not known yet")),
    }
}

#[async_trait]
impl Step<Launch> for BuildImage {
    named!(NAME, "Building the image");

    fn effect(&self) -> Effect {
        Effect::Pure
    }

    fn driver(&self) -> Option<&'static str> {
        Some("image_builder")
    }

    async fn run(&self, op: &mut Operation<Launch>) -> Outcome {
        if op.state.has_done(NAME) {
            return done();
        }
        let id = compose_of(op)?;
        let now = op.now();
        let fresh =
            BuildWatch { since: now, looks: 0, misses: 0, last: None, next: None, has_turn: false, fails: 0 };
        let mut watch = op.recall::<BuildWatch>()?.unwrap_or(fresh);
        let parameters_left = collect(op).await?;
        self.take_turn(op, &mut watch)?;
        let Some(builder) = &self.launches.builder else {
            let error = LaunchError::new(NAME, "validation", "no Image Builder is configured here");
            return Err(refuse(op, error));
        };
        let answer = builder.status(&saved_identity(&self.launches, op)?, id).await;
        watch.looks = watch.looks.saturating_add(1);
        watch.last = Some(now);
        match answer {
            Ok(compose) => {
                (watch.misses, watch.fails) = (0, 0);
                note_progress(op, id, &compose);
                match BuildImage::judge(op, &compose)? {
                    None => done(),
                    Some(because) => self.wait_on(op, watch, parameters_left, because),
                }
            }
            Err(BuilderError::Unknown) if op.state.build.is_some() && watch.misses < MISSES_MAX => {
                watch.misses += 1;
                let because = Because::Unseen("the Image Builder does not know the build".to_owned());
                self.wait_on(op, watch, parameters_left, because)
            }
            Err(error) if error.may_heal() => {
                watch.fails = watch.fails.saturating_add(1);
                let error = note_build(op, NAME, error, Some(watch.fails));
                let because = Because::Unseen(format!("the build cannot be seen: {error}"));
                self.wait_on(op, watch, parameters_left, because)
            }
            Err(error) => Err(stop_build(op, NAME, error)),
        }
    }
}

/// A given image that was ready at once leaves no trace of a build.
fn note_progress(op: &mut Operation<Launch>, compose: Uuid, seen: &Compose) {
    if op.state.build.is_some() || seen.status != BuildStatus::Success {
        let (done, total) = seen.progress.unzip();
        op.state.build = Some(BuildState { compose, status: seen.status.as_str().to_owned(), done, total });
    }
}
