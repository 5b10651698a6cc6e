//! A launch as far as somebody has said what it shall be.

use std::fmt;

use anyhow::{Result, bail};
use serde_json::{Map, Value};

use super::LaunchArgs;
use super::file;
use super::image::ImageDraft;
use crate::launching::LaunchClient;

/// Single points of a profile, as the API knows them.
const OPTIONS: [&str; 9] = [
    "image_source",
    "fallback_poll_s",
    "image_deadline_s",
    "parameters_ttl_s",
    "surface",
    "detach",
    "on_launch_failure",
    "partial",
    "after_pivot",
];
const PROVIDER: &str = "aws";

#[derive(Clone)]
pub(super) struct Draft {
    pub(super) provider: String,
    pub(super) image: Option<ImageDraft>,
    /// Nothing where they come later.
    pub(super) parameters: Option<Map<String, Value>>,
    /// The account that an image is shared with, where the parameters come later.
    shared_with: Option<String>,
    /// The profile, its options, and whatever else is in the file.
    rest: Map<String, Value>,
}

/// The text for the first start may hold secrets, so that `Debug` leaves the values out.
impl fmt::Debug for Draft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&String> = self.parameters.iter().flat_map(Map::keys).collect();
        f.debug_struct("Draft").field("image", &self.image).field("given", &names).finish_non_exhaustive()
    }
}

/// What a launch cannot be without.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Missing {
    Image,
    Source,
    Type,
    Key,
}

impl Missing {
    fn remedy(self) -> &'static str {
        match self {
            Missing::Image => {
                "--image ID, --compose UUID, --build FILE or --distribution NAME: what to launch; \
                 `provision-engine images` shows what is built"
            }
            Missing::Source => "--source ID: the account; `provision-engine sources list` shows them",
            Missing::Type => "--type TYPE: the instance type; `provision-engine instance-types` lists them",
            Missing::Key => {
                "--key KEY: the public key that lets you in, as a file, a name or an id; \
                 `provision-engine pubkeys list` shows them"
            }
        }
    }
}

impl Draft {
    /// What is in the file, with the flags laid over it.
    pub(super) async fn read(args: &LaunchArgs, client: &LaunchClient) -> Result<Draft> {
        let mut rest =
            args.file.as_deref().map(|path| file::object("--file", path)).transpose()?.unwrap_or_default();
        let provider = args.provider.clone().or_else(|| text(rest.remove("provider")));
        let in_file = rest.remove("image").filter(|image| image.as_object().is_some_and(|it| !it.is_empty()));
        let image = args.image.read()?.or(in_file.map(ImageDraft::Ready));
        let parameters = match rest.remove("parameters") {
            None | Some(Value::Null) => None,
            Some(Value::Object(parameters)) => Some(parameters),
            Some(_) => bail!("--file: parameters must be an object"),
        };
        if let Some(profile) = &args.profile {
            rest.insert("profile".to_owned(), profile.as_str().into());
        }
        lay_options_over(&args.options, &mut rest)?;
        // A file without parameters means what such a request means: they come later.
        let file_defers = args.file.is_some() && parameters.is_none() && args.parameters.is_empty();
        let mut draft = Draft {
            provider: provider.unwrap_or_else(|| PROVIDER.to_owned()),
            image,
            parameters: None,
            shared_with: None,
            rest,
        };
        if args.deferred || file_defers {
            args.parameters.must_come_later()?;
            draft.shared_with.clone_from(&args.parameters.source);
            draft.check_deferred()?;
            return Ok(draft);
        }
        let mut parameters = parameters.unwrap_or_default();
        args.parameters.lay_over(client, &mut parameters).await?;
        draft.parameters = Some(parameters);
        Ok(draft)
    }

    fn check_deferred(&self) -> Result<()> {
        match &self.image {
            Some(image) if !image.may_be_awaited() => bail!(
                "the parameters can come later only while an image is built: leave --deferred out, \
                 and say --source, --type and --key"
            ),
            _ => Ok(()),
        }
    }

    pub(super) fn is_deferred(&self) -> bool {
        self.parameters.is_none()
    }

    pub(super) fn missing(&self) -> Vec<Missing> {
        let has = |names: &[&str]| {
            let members =
                self.parameters.iter().flat_map(|members| names.iter().map(|name| members.get(*name)));
            members.flatten().any(|value| !value.is_null() && value != "")
        };
        if self.provider == "noop" {
            return Vec::new();
        }
        let (has_template, is_deferred) = (has(&["launch_template_id"]), self.is_deferred());
        let needed = [
            (Missing::Image, self.image.is_none() && !has_template),
            (Missing::Source, !is_deferred && !has(&["source_id"])),
            (Missing::Type, !is_deferred && !has_template && !has(&["instance_type"])),
            (Missing::Key, !is_deferred && !has_template && !has(&["pubkey_id", "pubkey"])),
        ];
        needed.into_iter().filter_map(|(what, is_missing)| is_missing.then_some(what)).collect()
    }

    /// For whoever cannot be asked: the flags that say it.
    pub(super) fn must_be_whole(&self) -> Result<()> {
        let missing = self.missing();
        if missing.is_empty() {
            return Ok(());
        }
        let lines: Vec<String> = missing.iter().map(|what| format!("\n  {}", what.remedy())).collect();
        bail!("something is missing:{}", lines.concat())
    }

    pub(super) fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.as_ref()?.get(name)?.as_str()
    }

    pub(super) fn set(&mut self, name: &str, value: impl Into<Value>) {
        self.parameters.get_or_insert_default().insert(name.to_owned(), value.into());
    }

    /// As it is sent.
    pub(super) async fn body(&self, client: &LaunchClient) -> Result<Value> {
        let mut body = self.rest.clone();
        body.insert("provider".to_owned(), self.provider.as_str().into());
        if let Some(image) = &self.image {
            let source = self.parameter("source_id").or(self.shared_with.as_deref());
            body.insert("image".to_owned(), image.finish(client, &self.provider, source).await?);
        }
        body.extend(self.parameters.clone().map(|parameters| ("parameters".to_owned(), parameters.into())));
        Ok(body.into())
    }
}

fn text(value: Option<Value>) -> Option<String> {
    value.and_then(|value| value.as_str().map(str::to_owned))
}

fn lay_options_over(given: &[String], body: &mut Map<String, Value>) -> Result<()> {
    if given.is_empty() {
        return Ok(());
    }
    let options = body.entry("options").or_insert_with(|| Map::new().into());
    let Some(options) = options.as_object_mut() else { bail!("--file: options must be an object") };
    for pair in given {
        let Some((name, text)) = pair.split_once('=') else { bail!("--option: expected NAME=VALUE") };
        if !OPTIONS.contains(&name) {
            bail!("--option: there is no {name:?}; there are {}", OPTIONS.join(", "));
        }
        let value = match name {
            "surface" => text.split(',').map(str::trim).filter(|word| !word.is_empty()).collect(),
            name if name.ends_with("_s") => match text.parse::<u32>() {
                Ok(seconds) => seconds.into(),
                Err(_) => bail!("--option: {name} is a number of seconds"),
            },
            _ => text.into(),
        };
        options.insert(name.to_owned(), value);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn draft(image: Option<Value>, parameters: Option<Value>) -> Draft {
        let parameters = parameters.map(|value| value.as_object().unwrap().clone());
        Draft {
            provider: PROVIDER.into(),
            image: image.map(ImageDraft::Ready),
            parameters,
            shared_with: None,
            rest: Map::new(),
        }
    }

    #[test]
    fn what_is_missing_is_told_with_the_flags_that_say_it() {
        use Missing::{Image, Key, Source, Type};
        let ami = || Some(json!({"id": "ami-1"}));
        for (image, parameters, expected) in [
            (None, Some(json!({})), vec![Image, Source, Type, Key]),
            (ami(), Some(json!({"source_id": "7", "instance_type": ""})), vec![Type, Key]),
            (None, Some(json!({"source_id": "7", "launch_template_id": "lt-1"})), vec![]),
            (ami(), Some(json!({"source_id": "7", "instance_type": "t", "pubkey": {"name": "n"}})), vec![]),
            (Some(json!({"build": {}})), None, vec![]),
            (None, None, vec![Image]),
        ] {
            let draft = draft(image, parameters);
            assert_eq!(draft.missing(), expected, "{draft:?}");
            assert_eq!(draft.must_be_whole().is_err(), !expected.is_empty());
        }
        let error = draft(None, Some(json!({}))).must_be_whole().unwrap_err().to_string();
        for flag in ["--image", "--compose", "--build", "--distribution", "--source", "--type", "--key"] {
            assert!(error.contains(flag), "{flag}: {error}");
        }
        assert!(Draft { provider: "noop".into(), ..draft(None, None) }.missing().is_empty());
    }

    #[test]
    fn options_have_the_types_that_the_door_takes() {
        let read = |given: &[&str]| {
            let mut body = Map::from_iter([("options".to_owned(), json!({"partial": "keep"}))]);
            let given: Vec<String> = given.iter().map(|&text| text.to_owned()).collect();
            lay_options_over(&given, &mut body)
                .map(|()| body["options"].clone())
                .map_err(|error| error.to_string())
        };
        let options = read(&["image_deadline_s=60", "surface=images, wizard", "detach=cancel"]).unwrap();
        let expected = json!({
            "partial": "keep", "image_deadline_s": 60, "surface": ["images", "wizard"], "detach": "cancel",
        });
        assert_eq!(options, expected);
        for (bad, part) in
            [("detach", "NAME=VALUE"), ("detahc=x", "after_pivot"), ("image_deadline_s=x", "seconds")]
        {
            let error = read(&[bad]).unwrap_err();
            assert!(error.starts_with("--option: ") && error.contains(part), "{error}");
        }
    }
}
