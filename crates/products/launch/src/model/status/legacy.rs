//! The few fields by which older clients follow a launch.

use cloud::spec::LegacyStep;
use engine::Timestamp;

use super::stage::LaunchPhase;
use crate::model::record::LaunchRecord;
use crate::workflows::launch::{
    build_image, fetch_addresses, launch_instances, prepare_network, test_step, upload_public_key,
    wait_for_parameters,
};

/// A launch as older clients see it: titles, a counter, a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Legacy {
    pub steps: usize,
    pub step_titles: Vec<&'static str>,
    /// How many steps have succeeded; also after their work was taken back, so that it says how far it came.
    pub step: usize,
    pub status: String,
    /// Empty unless it failed.
    pub error: String,
    pub success: Option<bool>,
    pub finished_at: Option<Timestamp>,
}

fn title(step: LegacyStep) -> (&'static str, &'static str) {
    match step {
        LegacyStep::Test => ("A test step", test_step::NAME),
        LegacyStep::PublicKey => ("Ensure public key", upload_public_key::NAME),
        LegacyStep::ResourceGroup => ("Prepare resource group", prepare_network::NAME),
        LegacyStep::Launch => ("Launch instance(s)", launch_instances::NAME),
        LegacyStep::Addresses => ("Fetch instance(s) description", fetch_addresses::NAME),
    }
}

/// The titles that a launch shows, each with the step whose end counts.
fn visible(record: &LaunchRecord) -> Vec<(&'static str, &'static str)> {
    let shape = record.shape();
    let mut titles = Vec::new();
    // A given image that was ready at once is not worth a line.
    if shape.builds() || record.state.build.is_some() {
        titles.push(("Build image", build_image::NAME));
    }
    if shape.is_deferred {
        titles.push(("Wait for launch parameters", wait_for_parameters::NAME));
    }
    titles.extend(shape.provider.spec().legacy_steps.iter().map(|step| title(*step)));
    titles
}

impl Legacy {
    pub(crate) fn of(record: &LaunchRecord, stage: LaunchPhase) -> Legacy {
        let visible = visible(record);
        let step = visible.iter().filter(|(_, name)| record.state.has_done(name)).count();
        let current = visible.iter().find(|(_, name)| !record.state.has_done(name)).or(visible.last());
        let title = current.map_or("", |(title, _)| *title);
        Legacy {
            steps: visible.len(),
            step_titles: visible.iter().map(|(title, _)| *title).collect(),
            step,
            status: status(stage, title, record.state.error.is_some()),
            error: error(record, stage),
            success: stage.success(),
            finished_at: record.finished_at.filter(|_| stage.is_over()),
        }
    }
}

fn status(stage: LaunchPhase, title: &str, failing: bool) -> String {
    let verb = match stage {
        LaunchPhase::Accepted => return "Created".to_owned(),
        LaunchPhase::Succeeded | LaunchPhase::SucceededWithWarnings => "Finished",
        LaunchPhase::Failed | LaunchPhase::FailedDirty => "Failed",
        LaunchPhase::Cancelled => "Cancelled",
        LaunchPhase::Abandoned => "Abandoned",
        LaunchPhase::Compensating | LaunchPhase::Cancelling => "Taking back",
        _ if failing => "Retrying",
        _ => "Started",
    };
    format!("{verb} {title}")
}

/// The message of the step that failed, and what became of what had been made.
fn error(record: &LaunchRecord, stage: LaunchPhase) -> String {
    if stage.success() != Some(false) {
        return String::new();
    }
    let message = record.state.error.as_ref().map_or(stage.as_str(), |error| error.message.as_str());
    if record.state.leftovers.is_empty() {
        return message.to_owned();
    }
    let left: Vec<String> =
        record.state.leftovers.iter().map(|left| format!("{} {}", left.kind, left.id)).collect();
    format!("{message}; still there: {}", left.join(", "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::params::Params;
    use crate::model::profile::ProfileName;
    use crate::model::state::{LaunchError, Leftover, State};

    fn record(provider: &str, image: &serde_json::Value, is_deferred: bool, state: &State) -> LaunchRecord {
        let parameters = json!({"source_id": "1", "region": "us-east-1", "amount": 1});
        let params: Params = serde_json::from_value(json!({
            "launch": uuid::Uuid::nil(),
            "requester": {"org": "1", "user": "anna"},
            "provider": provider,
            "image": image,
            "parameters": (!is_deferred).then_some(parameters),
            "profile": ProfileName::Wizard.profile(),
        }))
        .unwrap();
        LaunchRecord::of(&params, state)
    }

    fn build() -> serde_json::Value {
        json!({"kind": "build", "architecture": "x86_64", "image_type": "aws", "request": "sealed:1:k1:x"})
    }

    #[test]
    fn every_provider_has_the_titles_that_older_clients_know() {
        let given = json!({"kind": "cloud", "id": "ami-1"});
        let aws = ["Ensure public key", "Launch instance(s)", "Fetch instance(s) description"];
        for (provider, image, is_deferred, titles) in [
            ("aws", &given, false, aws.to_vec()),
            ("azure", &given, false, vec!["Prepare resource group", "Launch instance(s)"]),
            ("gcp", &given, false, vec!["Launch instance(s)", "Fetch instance(s) description"]),
            ("noop", &json!({"kind": "none"}), false, vec!["A test step"]),
            ("aws", &build(), false, [&["Build image"][..], &aws].concat()),
            ("aws", &build(), true, [&["Build image", "Wait for launch parameters"][..], &aws].concat()),
        ] {
            let record = record(provider, image, is_deferred, &State::default());
            let legacy = Legacy::of(&record, LaunchPhase::Accepted);
            assert_eq!(legacy.step_titles, titles, "{provider}");
            assert_eq!((legacy.steps, legacy.step), (titles.len(), 0), "{provider}");
            assert_eq!((legacy.status.as_str(), legacy.success), ("Created", None), "{provider}");
        }
    }

    #[test]
    fn a_counter_counts_what_succeeded_and_an_error_tells_what_is_left() {
        let mut state = State::default();
        state.done.extend(["validate", "check_account", "upload_public_key"].map(str::to_owned));
        let error = LaunchError::new("launch_instances", "capacity", "no room");
        state.error = Some(error);
        let given = json!({"kind": "cloud", "id": "ami-1"});
        let running = Legacy::of(&record("aws", &given, false, &state), LaunchPhase::Launching);
        assert_eq!((running.step, running.status.as_str()), (1, "Retrying Launch instance(s)"));
        assert_eq!((running.error.as_str(), running.success), ("", None));

        let failed = Legacy::of(&record("aws", &given, false, &state), LaunchPhase::Failed);
        assert_eq!((failed.step, failed.status.as_str()), (1, "Failed Launch instance(s)"));
        assert_eq!((failed.error.as_str(), failed.success), ("no room", Some(false)));

        let (kind, id, note) = ("instance".into(), "i-1".into(), String::new());
        state.leftovers.push(Leftover { kind, id, region: None, note });
        let dirty = Legacy::of(&record("aws", &given, false, &state), LaunchPhase::FailedDirty);
        assert_eq!(dirty.error, "no room; still there: instance i-1");
    }
}
