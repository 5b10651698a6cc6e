//! The steps that a draft will take, as far as they can be told before.

use engine::WorkflowInfo;

use super::draft::Draft;
use crate::model::profile::{ProfileName, Surface};
use crate::model::status::shape::{LaunchKind, LaunchShape};
use crate::workflows::launch::TABLE;

pub(crate) struct Planned {
    pub(crate) title: String,
    pub(crate) name: String,
}

/// Those of the plan that apply.
pub(crate) fn of(draft: &Draft, workflow: Option<WorkflowInfo>) -> Vec<Planned> {
    let steps = workflow.map(|workflow| workflow.steps).unwrap_or_default();
    let applies = steps.into_iter().filter(|step| applies(&step.name, draft));
    applies.map(|step| Planned { title: step.title, name: step.name }).collect()
}

fn applies(name: &str, draft: &Draft) -> bool {
    // A launch skips the upload when it comes to it and sees that there is no key.
    let has_no_key = !draft.is_later() && draft.is("key", "none");
    let is_skipped = name == "upload_public_key" && has_no_key;
    let shape = shape(draft);
    !is_skipped && TABLE.iter().all(|line| line.name() != name || line.applies(shape))
}

/// What decides which steps a launch has, as far as the draft says it.
fn shape(draft: &Draft) -> LaunchShape {
    let image = match draft.get("image") {
        "build" => LaunchKind::Build,
        "ready" => LaunchKind::Compose,
        _ => LaunchKind::Given,
    };
    let profile = ProfileName::ALL.into_iter().find(|name| draft.is("profile", name.as_str()));
    LaunchShape {
        provider: draft.provider(),
        image,
        is_deferred: draft.is_later(),
        on_inventory: profile.is_some_and(|name| name.profile().shows_on(Surface::Inventory)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_asked_for_is_not_promised() {
        let mut draft = Draft::new();
        draft.set("image", "cloud");
        for (name, expected) in [
            ("validate", true),
            ("submit_build", false),
            ("build_image", false),
            ("wait_for_parameters", false),
            ("register_in_inventory", false),
            ("test_step", false),
            ("prepare_network", false),
            ("upload_public_key", true),
        ] {
            assert_eq!(applies(name, &draft), expected, "{name}");
        }
        draft.choose_cloud(cloud::ProviderKind::Azure);
        assert!(applies("prepare_network", &draft) && !applies("upload_public_key", &draft));
        draft.set("image", "build");
        draft.set("profile", "events");
        assert!(applies("submit_build", &draft) && applies("register_in_inventory", &draft));
        draft.set("later", "yes");
        assert!(applies("wait_for_parameters", &draft) && !applies("check_permissions", &draft));
    }
}
