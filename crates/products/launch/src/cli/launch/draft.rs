//! A launch as far as flags and answers describe it.

use std::fmt;

use crate::api::types::{NewImage, NewLaunch, NewParameters};
use anyhow::{Result, bail};
use serde_json::{Map, Value};

use super::LaunchArgs;
use super::file;
use super::image::ImageDraft;
use crate::client::LaunchClient;

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
    /// Everything but the image. Without parameters these come later.
    pub(super) request: NewLaunch,
    pub(super) image: Option<ImageDraft>,
    /// The account that an image is shared with, where the parameters come later.
    shared_with: Option<String>,
}

/// The text for the first start may hold secrets, so that `Debug` leaves the values out.
impl fmt::Debug for Draft {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Draft").field("image", &self.image).finish_non_exhaustive()
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
        let in_file = args.file.as_deref().map(|path| app::given::object("--file", path)).transpose()?;
        let mut members = in_file.unwrap_or_default();
        members.retain(|_, value| !value.is_null());
        members.extend(args.provider.clone().map(|provider| ("provider".to_owned(), provider.into())));
        members.entry("provider").or_insert_with(|| PROVIDER.into());
        members.extend(args.profile.clone().map(|profile| ("profile".to_owned(), profile.into())));
        lay_options_over(&args.options, &mut members)?;
        let mut request: NewLaunch = file::typed("--file", members)?;
        let in_file = Some(std::mem::take(&mut request.image)).filter(|image| *image != NewImage::default());
        let image = args.image.read()?.or(in_file.map(ImageDraft::Ready));
        // A file without parameters means what such a request means: they come later.
        let file_defers = args.file.is_some() && request.parameters.is_none() && args.parameters.is_empty();
        if args.deferred || file_defers {
            args.parameters.must_come_later()?;
            request.parameters = None;
            let draft = Draft { request, image, shared_with: args.parameters.source.clone() };
            draft.check_deferred()?;
            return Ok(draft);
        }
        args.parameters.lay_over(client, request.parameters.get_or_insert_default()).await?;
        Ok(Draft { request, image, shared_with: None })
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
        self.request.parameters.is_none()
    }

    pub(super) fn missing(&self) -> Vec<Missing> {
        if self.request.provider == "noop" {
            return Vec::new();
        }
        let Some(parameters) = &self.request.parameters else {
            return if self.image.is_none() { vec![Missing::Image] } else { Vec::new() };
        };
        let is_given = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
        let has_template = is_given(&parameters.launch_template_id);
        let has_key = parameters.pubkey_id.is_some() || parameters.pubkey.is_some();
        let needed = [
            (Missing::Image, self.image.is_none() && !has_template),
            (Missing::Source, parameters.source_id.is_empty()),
            (Missing::Type, !has_template && !is_given(&parameters.instance_type)),
            (Missing::Key, !has_template && !has_key),
        ];
        needed.into_iter().filter_map(|(what, is_missing)| is_missing.then_some(what)).collect()
    }

    /// The missing flags, where there is no terminal to ask on.
    pub(super) fn must_be_whole(&self) -> Result<()> {
        let missing = self.missing();
        if missing.is_empty() {
            return Ok(());
        }
        let lines: Vec<String> = missing.iter().map(|what| format!("\n  {}", what.remedy())).collect();
        bail!("something is missing:{}", lines.concat())
    }

    pub(super) fn parameters(&mut self) -> &mut NewParameters {
        self.request.parameters.get_or_insert_default()
    }

    /// As it is sent.
    pub(super) async fn finished(&self, client: &LaunchClient) -> Result<NewLaunch> {
        let mut request = self.request.clone();
        if let Some(image) = &self.image {
            let source = request.parameters.as_ref().map(|parameters| parameters.source_id.as_str());
            let source = source.or(self.shared_with.as_deref()).filter(|source| !source.is_empty());
            let group =
                request.parameters.as_ref().and_then(|parameters| parameters.resource_group.as_deref());
            request.image = image.finish(client, &request.provider, source, group).await?;
        }
        Ok(request)
    }
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

    fn draft(provider: &str, image: Option<Value>, parameters: Option<&Value>) -> Draft {
        let request = json!({"provider": provider, "parameters": parameters});
        let image = image.map(|image| ImageDraft::Ready(serde_json::from_value(image).unwrap()));
        Draft { request: serde_json::from_value(request).unwrap(), image, shared_with: None }
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
            let draft = draft(PROVIDER, image, parameters.as_ref());
            assert_eq!(draft.missing(), expected, "{draft:?}");
            assert_eq!(draft.must_be_whole().is_err(), !expected.is_empty());
        }
        let error = draft(PROVIDER, None, Some(&json!({}))).must_be_whole().unwrap_err().to_string();
        for flag in ["--image", "--compose", "--build", "--distribution", "--source", "--type", "--key"] {
            assert!(error.contains(flag), "{flag}: {error}");
        }
        assert!(draft("noop", None, None).missing().is_empty());
    }

    #[test]
    fn options_have_the_types_that_the_api_takes() {
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
