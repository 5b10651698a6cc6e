//! Checks of a draft that need no call, field by field and page by page.

use cloud::spec::Rule;

use super::draft::Draft;
use super::public_key;
use super::step::WizardStep;
use crate::model::profile::ProfileName;
use console::FormError;

/// Limits of the API.
pub(crate) const AMOUNT_MAX: u32 = 45;
/// New accounts may have no more processors than this at once.
const VCPUS_WARNED: u64 = 32;

fn field_error(field: &str, text: &str, hint: Option<&str>) -> FormError {
    FormError { field: field.to_owned(), text: text.to_owned(), hint: hint.map(str::to_owned) }
}

/// All that is wrong on one page.
pub(crate) fn step(step: WizardStep, draft: &Draft) -> Vec<FormError> {
    let fields: &[&str] = match step {
        WizardStep::Image => {
            &["image", "compose_id", "image_id", "distribution", "image_name", "packages", "users"]
        }
        WizardStep::Where => &["source_id", "region", "instance_type", "amount", "name"],
        WizardStep::Key => &["key", "pubkey_id", "pubkey_name", "pubkey_body"],
        WizardStep::Review => &["profile"],
    };
    let parameters = draft.spec().parameters.iter().filter(|one| WizardStep::of(one.name) == step);
    let fields = fields.iter().copied().chain(parameters.map(|one| one.name));
    fields.filter_map(|name| field(name, draft)).collect()
}

/// What is wrong with one field, if it counts at all.
pub(crate) fn field(name: &str, draft: &Draft) -> Option<FormError> {
    match WizardStep::of(name) {
        WizardStep::Image => image(name, draft),
        WizardStep::Key => key(name, draft),
        WizardStep::Review => {
            let is_known = ProfileName::ALL.iter().any(|name| draft.is("profile", name.as_str()));
            (!is_known).then(|| field_error("profile", "Choose one of the four ways.", None))
        }
        WizardStep::Where => where_error(name, draft),
    }
}

fn image(name: &str, draft: &Draft) -> Option<FormError> {
    let text = draft.get(name);
    let says =
        |is_wrong: bool, said: &str, hint: Option<&str>| is_wrong.then(|| field_error(name, said, hint));
    let (builds, ready) = (draft.builds(), draft.is("image", "ready"));
    match name {
        "image" => {
            let is_known = ["ready", "cloud", "build"].contains(&text);
            says(!is_known, "Choose an image, or build one.", None)
        }
        "compose_id" => says(ready && text.is_empty(), "Choose one of the images.", None),
        "image_id" if draft.is("image", "cloud") => {
            let message = draft.spec().names.image_id.broken_by(text)?;
            says(true, message, None)
        }
        "distribution" => {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
            let is_wrong = text.is_empty() || text.len() > 64 || !text.chars().all(is_plain);
            says(builds && is_wrong, "Name a distribution.", Some("Such as rhel-9.6 or centos-9."))
        }
        "image_name" => {
            says(builds && text.chars().count() > 100, "It must have at most 100 characters.", None)
        }
        "packages" => {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-._+@:/".contains(c);
            let bad = draft.packages().into_iter().find(|word| !word.chars().all(is_plain))?;
            let said = format!("{bad:?} is not the name of a package.");
            says(builds, &said, Some("Put one on each line, or blanks between them."))
        }
        "users" if builds => users(draft),
        _ => None,
    }
}

fn users(draft: &Draft) -> Option<FormError> {
    draft.users.iter().find_map(|user| {
        let (field, said) = (user_name(&user.name).map(|said| ("user_name", said)))
            .or_else(|| user_key(&user.key).map(|said| ("user_key", said)))?;
        let who = if user.name.is_empty() { "A user without a name" } else { &user.name };
        Some(field_error(field, &format!("{who}: {said}"), None))
    })
}

pub(crate) fn user_name(text: &str) -> Option<&'static str> {
    let is_good = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c);
    let begins = text.starts_with(|c: char| c.is_ascii_lowercase() || c == '_');
    let fits = begins && text.len() <= 32 && text.chars().all(is_good);
    (!fits).then_some(
        "A name has small letters, digits, - and _, begins with a letter and has at most 32 of them.",
    )
}

pub(crate) fn user_key(text: &str) -> Option<&'static str> {
    if text.is_empty() { None } else { public_key::look(text, public_key::USUAL).err() }
}

fn where_error(name: &str, draft: &Draft) -> Option<FormError> {
    let text = draft.get(name);
    let says =
        |is_wrong: bool, said: &str, hint: Option<&str>| is_wrong.then(|| field_error(name, said, hint));
    if name == "source_id" {
        return says(text.is_empty(), "Choose the account to launch in.", None);
    }
    if draft.is_later() {
        return None;
    }
    let spec = draft.spec();
    // What may be left out may be empty.
    let broken = |rule: &Rule, text: &str| {
        let message = rule.broken_by(text).filter(|_| !text.is_empty())?;
        says(true, message, None)
    };
    match name {
        "region" => {
            let said = format!("Name a {}.", spec.form.region.label.to_lowercase());
            says(text.is_empty() && !spec.region_of_image, &said, Some(&format!("Such as {}.", spec.home)))
        }
        "instance_type" => {
            let is_missing = text.is_empty() && draft.get("launch_template_id").is_empty();
            says(is_missing, "Choose an instance type, or a template that names one.", None)
        }
        "amount" => {
            let fits = draft.amount().is_some_and(|amount| (1..=AMOUNT_MAX).contains(&amount));
            says(!fits, "It must be a number from 1 to 45.", None)
        }
        "name" => broken(&spec.names.instance, text),
        name => {
            let parameter = spec.parameters.iter().find(|one| one.name == name)?;
            draft.values(parameter).into_iter().find_map(|value| broken(&parameter.rule, value))
        }
    }
}

fn key(name: &str, draft: &Draft) -> Option<FormError> {
    // It is chosen on the page of the launch.
    if draft.is_later() {
        return None;
    }
    let is_optional = !draft.get("launch_template_id").is_empty();
    let text = draft.get(name);
    let says = |is_wrong: bool, said: &str| is_wrong.then(|| field_error(name, said, None));
    match (name, draft.get("key")) {
        ("key", "" | "none") => says(!is_optional, "Choose the public key that lets you in."),
        ("pubkey_id", "kept") => says(text.parse::<i64>().is_err(), "Choose one of the keys."),
        ("pubkey_name", "new") => {
            let fits =
                (1..=255).contains(&text.len()) && text.bytes().all(|b| b == b' ' || b.is_ascii_graphic());
            says(!fits, "Give the key a name, so that you find it again.")
        }
        ("pubkey_body", "new") => {
            let accepts = draft.spec().keys.accepts;
            public_key::look(text, accepts).err().and_then(|said| says(true, said))
        }
        _ => None,
    }
}

/// What may go wrong although nothing is wrong.
pub(crate) fn too_many(vcpus: u32, amount: u32) -> Option<String> {
    let all = u64::from(vcpus) * u64::from(amount);
    (all > VCPUS_WARNED).then(|| {
        format!(
            "These are {all} virtual processors. Many accounts may have no more than {VCPUS_WARNED} at once."
        )
    })
}

#[cfg(test)]
mod tests {
    use cloud::ProviderKind;

    use super::super::draft::ImageUser;
    use super::*;

    fn draft(pairs: &[(&'static str, &str)]) -> Draft {
        let mut draft = Draft::new();
        for (name, value) in pairs {
            draft.set(name, value);
        }
        draft
    }

    fn fields(at: WizardStep, draft: &Draft) -> Vec<String> {
        step(at, draft).into_iter().map(|field_error| field_error.field).collect()
    }

    #[test]
    fn what_is_missing_is_told_at_its_field() {
        let empty = draft(&[]);
        assert_eq!(fields(WizardStep::Image, &empty), ["image"]);
        assert_eq!(fields(WizardStep::Where, &empty), ["source_id", "instance_type"]);
        assert_eq!(fields(WizardStep::Key, &empty), ["key"]);
        assert!(step(WizardStep::Review, &empty).is_empty());
        assert_eq!(fields(WizardStep::Image, &draft(&[("image", "ready")])), ["compose_id"]);
        assert_eq!(
            fields(WizardStep::Image, &draft(&[("image", "cloud"), ("image_id", "vmi-1")])),
            ["image_id"]
        );
        assert_eq!(fields(WizardStep::Key, &draft(&[("key", "new")])), ["pubkey_name", "pubkey_body"]);
        assert_eq!(fields(WizardStep::Key, &draft(&[("key", "kept")])), ["pubkey_id"]);
        let later = draft(&[("key", "new"), ("image", "build"), ("later", "yes")]);
        assert!(fields(WizardStep::Key, &later).is_empty(), "the key is chosen later, too");
    }

    #[test]
    fn every_cloud_has_its_own_rules() {
        let azure = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/images/web";
        let google = "projects/p/global/images/web";
        for (cloud, good, bad) in [
            (
                ProviderKind::Aws,
                [("image_id", "ami-1"), ("name", "A b")],
                [("image_id", google), ("subnet", "s")],
            ),
            (
                ProviderKind::Azure,
                [("image_id", azure), ("resource_group", "g")],
                [("image_id", "ami-1"), ("name", "a b")],
            ),
            (
                ProviderKind::Gcp,
                [("image_id", google), ("name", "web")],
                [("image_id", "ami-1"), ("name", "Web")],
            ),
        ] {
            let wrong = |pairs: &[(&'static str, &str)]| {
                let mut draft = draft(&[("image", "cloud")]);
                draft.choose_cloud(cloud);
                draft.set("image", "cloud");
                for (name, value) in pairs {
                    draft.set(name, value);
                }
                pairs.iter().filter_map(|(name, _)| field(name, &draft)).count()
            };
            assert_eq!((wrong(&good), wrong(&bad)), (0, 2), "{cloud}");
        }
    }

    #[test]
    fn what_comes_later_is_not_asked_for_now() {
        let later = draft(&[("image", "build"), ("later", "yes"), ("source_id", "s"), ("amount", "x")]);
        for at in WizardStep::ALL {
            assert!(step(at, &later).is_empty(), "{at:?}");
        }
        let given = draft(&[("image", "cloud"), ("image_id", "ami-1"), ("later", "yes"), ("source_id", "s")]);
        assert_eq!(
            fields(WizardStep::Where, &given),
            ["instance_type"],
            "an image that is there is not waited for"
        );
    }

    #[test]
    fn a_template_may_name_the_type_and_let_people_in() {
        let template = draft(&[("source_id", "s"), ("launch_template_id", "lt-1")]);
        assert!(step(WizardStep::Where, &template).is_empty() && step(WizardStep::Key, &template).is_empty());
    }

    #[test]
    fn packages_and_users_are_checked_only_for_a_build() {
        let mut bad = draft(&[("image", "build"), ("packages", "vim; rm")]);
        bad.users = vec![ImageUser { name: "Root!".into(), key: String::new() }];
        assert_eq!(fields(WizardStep::Image, &bad), ["packages", "user_name"]);
        bad.set("image", "ready");
        bad.set("compose_id", "c");
        assert!(step(WizardStep::Image, &bad).is_empty());
    }

    #[test]
    fn amounts_have_a_limit_and_a_warning() {
        for (amount, is_wrong) in [("0", true), ("1", false), ("45", false), ("46", true), ("-1", true)] {
            let found = field("amount", &draft(&[("amount", amount)]));
            assert_eq!(found.is_some(), is_wrong, "{amount}");
        }
        assert!(too_many(16, 2).is_none() && too_many(16, 3).unwrap().contains("48"));
    }
}
