//! The steps that a draft will take, as far as they can be told before.

use cloud::PartKind;
use engine::WorkflowInfo;

use super::draft::Draft;

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
    match name {
        "check_permissions" => draft.builds() && !draft.is_later(),
        "submit_build" => draft.builds(),
        "build_image" => draft.may_wait(),
        "wait_for_parameters" => draft.is_later(),
        "upload_public_key" => {
            draft.spec().keys.are_uploaded && (draft.is_later() || !draft.is("key", "none"))
        }
        "prepare_network" => draft.spec().parts.contains(&PartKind::Network),
        "register_in_inventory" => ["inventory", "events"].contains(&draft.get("profile")),
        "test_step" => false,
        _ => true,
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
