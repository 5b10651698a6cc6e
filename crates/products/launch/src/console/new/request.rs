//! A draft as the API takes it, and what the API refuses as the draft knows it.

use serde_json::{Map, Value, json};

use super::draft::Draft;
use console::FormError;

/// What is launched, how and where. `upload` says where an image goes that is built.
pub(crate) fn launch(draft: &Draft, upload: &Map<String, Value>) -> Value {
    let mut body = json!({
        "provider": draft.provider().as_str(),
        "image": image(draft, upload),
        "profile": draft.get("profile"),
    });
    let options: Map<String, Value> = ["detach", "partial"]
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), draft.given(name)?.into())))
        .collect();
    if !options.is_empty() {
        body["options"] = options.into();
    }
    if !draft.is_later() {
        body["parameters"] = parameters(draft);
    }
    body
}

fn image(draft: &Draft, upload: &Map<String, Value>) -> Value {
    match draft.get("image") {
        "cloud" => json!({"id": draft.get("image_id")}),
        "ready" => json!({"compose_id": draft.get("compose_id")}),
        _ => json!({"build": build(draft, upload)}),
    }
}

fn build(draft: &Draft, upload: &Map<String, Value>) -> Value {
    let image_type = draft.spec().build.image_types.first().copied().unwrap_or_default();
    let mut request = json!({
        "distribution": draft.get("distribution"),
        "image_requests": [{
            "architecture": draft.get("architecture"),
            "image_type": image_type,
            "upload_request": {"type": draft.provider().as_str(), "options": upload},
        }],
    });
    if let Some(name) = draft.given("image_name") {
        request["image_name"] = name.into();
    }
    let mut customizations = Map::new();
    let packages = draft.packages();
    if !packages.is_empty() {
        customizations.insert("packages".to_owned(), packages.into());
    }
    let user = |name: &str, key: &str| match key {
        "" => json!({"name": name}),
        key => json!({"name": name, "ssh_key": key}),
    };
    let users: Vec<Value> = draft.users.iter().map(|one| user(&one.name, &one.key)).collect();
    if !users.is_empty() {
        customizations.insert("users".to_owned(), users.into());
    }
    if !customizations.is_empty() {
        request["customizations"] = customizations.into();
    }
    request
}

/// How and where.
pub(crate) fn parameters(draft: &Draft) -> Value {
    const TEXTS: [&str; 6] =
        ["source_id", "region", "instance_type", "launch_template_id", "name", "user_data"];
    let given = TEXTS.into_iter().filter_map(|name| Some((name.to_owned(), draft.given(name)?.into())));
    let mut all: Map<String, Value> = given.collect();
    all.insert("amount".to_owned(), draft.amount().unwrap_or(0).into());
    if draft.is("poweroff", "yes") {
        all.insert("poweroff".to_owned(), true.into());
    }
    for parameter in draft.spec().parameters {
        let values = draft.values(parameter);
        let given = match parameter.values_max {
            Some(_) => (!values.is_empty()).then(|| values.into()),
            None => values.first().map(|text| Value::from(*text)),
        };
        all.extend(given.map(|value| (parameter.name.to_owned(), value)));
    }
    match draft.get("key") {
        "kept" => {
            all.extend(
                draft.get("pubkey_id").parse::<i64>().ok().map(|id| ("pubkey_id".to_owned(), id.into())),
            );
        }
        "new" => {
            let key = json!({"name": draft.get("pubkey_name"), "body": draft.get("pubkey_body")});
            all.insert("pubkey".to_owned(), key);
        }
        _ => {}
    }
    all.into()
}

/// The field of the draft that a refusal is about.
pub(crate) fn field_of_page(field_error: FormError, draft: &Draft) -> FormError {
    let is_new_key = draft.is("key", "new");
    // The name of a new key and that of the instances have one name at the API, and different rules.
    let is_key_name = is_new_key && (draft.get("name").is_empty() || !field_error.text.contains("must be"));
    let field = match field_error.field.trim_start_matches("parameters.") {
        "name" if is_key_name => "pubkey_name",
        "body" => "pubkey_body",
        "pubkey_id" if is_new_key => "pubkey_body",
        "pubkey_id" if draft.is("key", "kept") => "pubkey_id",
        "pubkey_id" | "pubkey" => "key",
        "image_id" if draft.is("image", "ready") => "compose_id",
        "image_id" if draft.is("image", "cloud") => "image_id",
        "image_id" | "image" | "build" => "image",
        "build.distribution" => "distribution",
        "build.image_name" => "image_name",
        "build.customizations" => "packages",
        "build.image_requests[0].architecture" => "architecture",
        field if field.starts_with("build.image_requests[0].upload_request") => "source_id",
        field if field.starts_with("build.") => "image",
        "options.detach" => "detach",
        "options.partial" => "partial",
        field if field.starts_with("options") => "profile",
        "parameters" => "instance_type",
        field => field,
    };
    // A refusal of one thing alone begins with its name, which is beside the field already.
    let text = field_error
        .text
        .strip_prefix(&format!("{}: ", field_error.field))
        .unwrap_or(&field_error.text)
        .to_owned();
    FormError { field: field.to_owned(), text, hint: field_error.hint }
}

#[cfg(test)]
mod tests {
    use super::super::draft::ImageUser;
    use super::super::step::WizardStep;
    use super::*;

    fn draft(pairs: &[(&'static str, &str)]) -> Draft {
        let mut draft = Draft::new();
        for (name, value) in pairs {
            draft.set(name, value);
        }
        draft
    }

    #[test]
    fn a_build_has_what_was_said_and_nothing_else() {
        let mut draft = draft(&[
            ("image", "build"),
            ("packages", "vim, git\ntmux"),
            ("source_id", "7"),
            ("instance_type", "t3.small"),
            ("amount", "2"),
            ("key", "kept"),
            ("pubkey_id", "3"),
        ]);
        draft.users = vec![ImageUser { name: "ann".into(), key: "ssh-rsa A".into() }];
        let upload = Map::from_iter([("share_with_accounts".to_owned(), json!(["123456789012"]))]);
        let body = launch(&draft, &upload);
        let expected = json!({
            "provider": "aws",
            "profile": "wizard",
            "options": {"detach": "continue", "partial": "all_or_nothing"},
            "image": {"build": {
                "distribution": "rhel-9",
                "image_requests": [{"architecture": "x86_64", "image_type": "aws", "upload_request": {
                    "type": "aws", "options": {"share_with_accounts": ["123456789012"]}}}],
                "customizations": {
                    "packages": ["vim", "git", "tmux"],
                    "users": [{"name": "ann", "ssh_key": "ssh-rsa A"}],
                },
            }},
            "parameters": {
                "source_id": "7", "region": "us-east-1", "instance_type": "t3.small", "amount": 2, "pubkey_id": 3,
            },
        });
        assert_eq!(body, expected);
    }

    #[test]
    fn parameters_that_come_later_are_not_sent() {
        let later = draft(&[("image", "ready"), ("compose_id", "c"), ("later", "yes")]);
        let body = launch(&later, &Map::new());
        assert_eq!(body.get("parameters"), None);
        assert_eq!(body["image"], json!({"compose_id": "c"}));
    }

    #[test]
    fn a_new_key_is_sent_with_its_name() {
        let new = draft(&[("key", "new"), ("pubkey_name", "mine"), ("pubkey_body", "ssh-rsa A")]);
        assert_eq!(parameters(&new)["pubkey"], json!({"name": "mine", "body": "ssh-rsa A"}));
        assert_eq!(parameters(&new).get("pubkey_id"), None);
    }

    #[test]
    fn an_error_is_shown_where_it_can_be_corrected() {
        let new = draft(&[("image", "build"), ("key", "new"), ("name", "web")]);
        for (field, text, expected, step) in [
            ("amount", "", "amount", WizardStep::Where),
            ("name", "another key is called so already", "pubkey_name", WizardStep::Key),
            ("name", "must be short", "name", WizardStep::Where),
            ("body", "", "pubkey_body", WizardStep::Key),
            ("pubkey_id", "", "pubkey_body", WizardStep::Key),
            ("build.distribution", "", "distribution", WizardStep::Image),
            ("build.bootc", "", "image", WizardStep::Image),
            ("build.image_requests[0].upload_request.options", "", "source_id", WizardStep::Where),
            ("profile", "", "profile", WizardStep::Review),
        ] {
            let field_error = FormError { field: field.to_owned(), text: text.to_owned(), hint: None };
            let placed = field_of_page(field_error, &new).field;
            let repeated = FormError { field: field.to_owned(), text: format!("{field}: no"), hint: None };
            assert_eq!(field_of_page(repeated, &new).text, "no");
            assert_eq!((placed.as_str(), WizardStep::of(&placed)), (expected, step), "{field}");
        }
    }
}
