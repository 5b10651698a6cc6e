//! A launch as it is saved becomes the launch that is shown.

use crate::api::types::{
    Instance, InstanceDetail, Launch, LaunchBuild, LaunchError, LaunchImage, LaunchProfile, Leftover,
    Progress, Step,
};
use crate::model::profile::Profile;
use crate::model::record::ImageSummary;
use crate::model::state::{self, BuildState};
use crate::model::status::{StepView, View};

impl From<&cloud::CloudInstance> for Instance {
    fn from(instance: &cloud::CloudInstance) -> Instance {
        Instance {
            instance_id: instance.id.clone(),
            state: instance.state.as_str().to_owned(),
            detail: InstanceDetail {
                public_dns: instance.public_dns.clone(),
                public_ipv4: instance.public_ipv4.clone(),
                private_ipv4: instance.private_ipv4.clone(),
                private_ipv6: instance.private_ipv6.clone(),
            },
        }
    }
}

impl From<&View> for Launch {
    fn from(view: &View) -> Launch {
        let (record, state) = (&view.record, &view.record.state);
        Launch {
            id: record.launch,
            reservation_id: view.number,
            operation_id: view.operation.map(|operation| operation.to_string()),
            provider: record.provider.to_string(),
            state: view.stage.as_str().to_owned(),
            is_over: view.stage.is_over(),
            waits_for: view.waits_for.clone(),
            created_at: view.created_at,
            finished_at: view.legacy.finished_at,
            image: LaunchImage::from(&record.image),
            profile: LaunchProfile::from(&record.profile),
            parameters: record.parameters.clone(),
            steps: view.steps.iter().map(Step::from).collect(),
            build: state.build.as_ref().map(LaunchBuild::from),
            instances: state.instances.iter().map(|tracked| Instance::from(&tracked.instance)).collect(),
            warnings: state.warnings.clone(),
            leftovers: state.leftovers.iter().map(Leftover::from).collect(),
            error: state.error.as_ref().map(LaunchError::from),
        }
    }
}

impl From<&ImageSummary> for LaunchImage {
    fn from(image: &ImageSummary) -> LaunchImage {
        match image.clone() {
            ImageSummary::None => LaunchImage::None,
            ImageSummary::Cloud { id } => LaunchImage::Cloud { id },
            ImageSummary::Compose { id } => LaunchImage::Compose { id },
            ImageSummary::Build { distribution, image_name, architecture, image_type } => {
                let architecture = architecture.as_str().to_owned();
                LaunchImage::Build { distribution, image_name, architecture, image_type }
            }
        }
    }
}

impl From<&Profile> for LaunchProfile {
    fn from(profile: &Profile) -> LaunchProfile {
        LaunchProfile {
            image_source: profile.image_source,
            fallback_poll_s: profile.fallback_poll_s,
            image_deadline_s: profile.image_deadline_s,
            parameters_ttl_s: profile.parameters_ttl_s,
            surface: profile.surface.clone(),
            detach: profile.detach,
            on_launch_failure: profile.on_launch_failure,
            partial: profile.partial,
            after_pivot: profile.after_pivot,
        }
    }
}

impl From<&BuildState> for LaunchBuild {
    fn from(build: &BuildState) -> LaunchBuild {
        let BuildState { compose, status, done, total } = build.clone();
        LaunchBuild { compose, status, done, total }
    }
}

impl From<&state::Leftover> for Leftover {
    fn from(left: &state::Leftover) -> Leftover {
        let state::Leftover { kind, id, region, note } = left.clone();
        Leftover { kind, id, region, note }
    }
}

impl From<&state::LaunchError> for LaunchError {
    fn from(error: &state::LaunchError) -> LaunchError {
        let state::LaunchError { step, category, message, hint, provider_code, retryable, attempt } =
            error.clone();
        LaunchError { step, category, message, hint, provider_code, retryable, attempt }
    }
}

impl From<&StepView> for Step {
    fn from(step: &StepView) -> Step {
        Step {
            index: step.index,
            name: step.name.to_owned(),
            title: step.title.to_owned(),
            state: step.state.as_str().to_owned(),
            attempt: step.attempt,
            next_attempt_at: step.next_attempt_at,
            started_at: step.started_at,
            finished_at: step.finished_at,
            progress: step.progress.map(|(done, total)| Progress { done, total }),
            outputs: step.outputs.clone(),
            error: step.error.clone(),
        }
    }
}
