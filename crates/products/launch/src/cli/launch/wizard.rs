//! Asks for what is missing, with what the server offers, and shows what will be launched.

use crate::api::wire::InstanceType;
use crate::model::cloud::ProviderKind;
use anyhow::{Result, bail};
use uuid::Uuid;

use super::draft::{Draft, Missing};
use super::image::{Arch, BuildDraft, ImageDraft};
use super::key::{KeyChoice, key_in_file, own};
use crate::client::LaunchClient;
use app::output::printable;
use app::prompt::{Asker, Choice, Picked};

/// What fits on a screen.
const SHOWN_MAX: usize = 12;
/// The limit of the hosted service; the server may allow less.
const COUNT_MAX: u32 = 45;
/// New accounts may have no more processors than this at once.
const VCPUS_WARNED: u64 = 32;
const TRIES_MAX: usize = 20;
const DISTRIBUTION: &str = "rhel-9";
const BUILD: &str = "build a new one";

pub(super) struct Wizard<'a> {
    client: &'a LaunchClient,
    asker: Asker<'a>,
    draft: &'a mut Draft,
    /// The architecture of the image, where it is known.
    arch: Option<String>,
    /// Of one instance, where that is known.
    vcpus: Option<u32>,
    /// The key that was chosen, as people call it.
    key: Option<String>,
}

impl<'a> Wizard<'a> {
    pub(super) fn new(client: &'a LaunchClient, asker: Asker<'a>, draft: &'a mut Draft) -> Wizard<'a> {
        Wizard { client, asker, draft, arch: None, vcpus: None, key: None }
    }

    /// Whether it shall be launched, once everything is said.
    pub(super) async fn fill(&mut self, is_meant: bool) -> Result<bool> {
        let missing = self.draft.missing();
        if missing.contains(&Missing::Image) {
            self.image().await?;
        }
        if let Some(ImageDraft::Build(build)) = &self.draft.image {
            self.arch = Some(build.arch.as_str().to_owned());
        }
        if missing.contains(&Missing::Source) {
            self.source().await?;
        }
        if !self.draft.is_deferred() {
            self.region().await?;
        }
        if missing.contains(&Missing::Type) {
            self.instance_type().await?;
        }
        if missing.contains(&Missing::Key) {
            self.key().await?;
        }
        if !self.draft.is_deferred() && self.draft.parameters().amount.is_none() {
            let count = self.asker.number("How many", 1, COUNT_MAX)?;
            self.draft.parameters().amount = Some(count.into());
        }
        self.review()?;
        Ok(is_meant || self.asker.confirm("Launch?")?)
    }

    async fn image(&mut self) -> Result<()> {
        // Without an Image Builder there is nothing to choose from, and images of the cloud are launched all the same.
        let listed =
            self.client.images(&[("limit", "50".to_owned())]).await.map(|page| page.data).unwrap_or_default();
        let fits =
            listed.into_iter().filter(|image| image.is_ready() && image.is_for(&self.draft.request.provider));
        let images: Vec<_> = fits.take(SHOWN_MAX).collect();
        let mut choices: Vec<Choice> = images
            .iter()
            .map(|image| {
                let facts = [image.name.as_deref(), image.architecture.as_deref()];
                let about = facts.into_iter().flatten().collect::<Vec<_>>().join(", ");
                Choice { key: image.id.to_string(), about }
            })
            .collect();
        choices.push(Choice { key: BUILD.to_owned(), about: String::new() });
        let image = match self.asker.pick("Image (a number, or the id of one)", &choices, Some(0))? {
            Picked::Choice(index) => match images.get(index) {
                Some(image) => {
                    self.arch.clone_from(&image.architecture);
                    ImageDraft::composed(image.id)
                }
                None => self.build().await?,
            },
            Picked::Words(words) => match Uuid::try_parse(&words) {
                Ok(id) => ImageDraft::composed(id),
                Err(_) => ImageDraft::of_cloud(&words),
            },
        };
        self.draft.image = Some(image);
        Ok(())
    }

    /// What the caller may build, where the server says so.
    async fn distribution(&mut self) -> Result<String> {
        let offered = self.client.distributions().await.map(|all| all.data).unwrap_or_default();
        let choices: Vec<Choice> =
            offered.into_iter().map(|one| Choice { key: one.name, about: one.description }).collect();
        if choices.is_empty() {
            let named = self.asker.line("Distribution", Some(DISTRIBUTION))?;
            return Ok(named.unwrap_or_else(|| DISTRIBUTION.to_owned()));
        }
        let default = choices.iter().position(|choice| choice.key == DISTRIBUTION).unwrap_or(0);
        Ok(match self.asker.pick("Distribution (a number or a name)", &choices, Some(default))? {
            Picked::Choice(index) => choices[index].key.clone(),
            Picked::Words(name) => name,
        })
    }

    async fn build(&mut self) -> Result<ImageDraft> {
        let distribution = self.distribution().await?;
        let arches = [Arch::X86, Arch::Arm];
        let choices = arches.map(|arch| Choice { key: arch.as_str().to_owned(), about: String::new() });
        let arch = arches[self.asker.choose("Architecture", &choices, Some(0))?];
        let packages = self.asker.line("Packages to install, with blanks between them (none)", None)?;
        Ok(ImageDraft::Build(BuildDraft {
            distribution,
            arch,
            packages: packages.iter().flat_map(|text| text.split_whitespace()).map(str::to_owned).collect(),
            ..BuildDraft::default()
        }))
    }

    async fn source(&mut self) -> Result<()> {
        let query = [("provider", self.draft.request.provider.clone())];
        let sources = self.client.sources(&query).await?.data;
        if sources.is_empty() {
            bail!(
                "there is no account at {}: `provision-engine sources create` registers one",
                self.draft.request.provider
            );
        }
        let about = |status: &str| match status {
            "" | "available" => String::new(),
            status => format!("({status})"),
        };
        let choices: Vec<Choice> = sources
            .iter()
            .map(|source| Choice {
                key: source.id.clone(),
                about: format!("{} {}", source.name, about(&source.status)),
            })
            .collect();
        let chosen = self.asker.choose("Account", &choices, (choices.len() == 1).then_some(0))?;
        self.draft.parameters().source_id.clone_from(&sources[chosen].id);
        Ok(())
    }

    async fn region(&mut self) -> Result<()> {
        if self.draft.parameters().region.is_none() {
            let home = self.image_region().await.unwrap_or_else(|| self.home());
            let region = self.asker.line("Region", Some(&home))?;
            self.draft.parameters().region = Some(region.unwrap_or(home));
        }
        Ok(())
    }

    /// Where the image is, or will be, if it can be launched nowhere else. A server that does not say so has the last
    /// word when the launch is sent.
    async fn image_region(&mut self) -> Option<String> {
        let source = self.draft.parameters().source_id.clone();
        let image = match self.draft.image.as_ref()? {
            ImageDraft::Build(_) => None,
            ImageDraft::Ready(image) => Some(image.id.clone()?),
        };
        let info = self.client.upload_info(&source, image.as_deref()).await;
        info.ok()?.region
    }

    /// Where the Image Builder puts images.
    fn home(&self) -> String {
        home(&self.draft.request.provider).to_owned()
    }

    async fn instance_type(&mut self) -> Result<()> {
        let mut search = None;
        for _ in 0..TRIES_MAX {
            let types = match self.types(search.as_deref()).await {
                Ok(types) => types,
                Err(error) if search.is_some() => {
                    self.asker.say(&format!("{error:#}"))?;
                    search = None;
                    continue;
                }
                Err(error) => return Err(error),
            };
            if types.is_empty() {
                self.asker.say("no instance type fits")?;
                search = None;
                continue;
            }
            let shown = &types[..types.len().min(SHOWN_MAX)];
            let choices: Vec<Choice> = shown.iter().map(choice).collect();
            let question =
                "Instance type (a number, a name, or a search such as vcpus = 2 and memory < 4000)";
            let chosen = match self.asker.pick(question, &choices, None)? {
                Picked::Choice(index) => shown.get(index),
                Picked::Words(words) => {
                    let known = types.iter().find(|one| one.name == words);
                    search = Some(words);
                    known
                }
            };
            if let Some(chosen) = chosen {
                self.vcpus = Some(chosen.vcpus);
                self.draft.parameters().instance_type = Some(chosen.name.clone());
                return Ok(());
            }
        }
        bail!("no instance type was chosen; nothing was launched")
    }

    /// Those that fit the image, the smallest first.
    async fn types(&self, search: Option<&str>) -> Result<Vec<InstanceType>> {
        let given = self.draft.request.parameters.as_ref().and_then(|parameters| parameters.region.clone());
        let region = given.unwrap_or_else(|| self.home());
        let mut query = vec![("region", region), ("supported", "true".to_owned())];
        query.extend(search.map(|search| ("search", search.to_owned())));
        let mut types = self.client.instance_types(&self.draft.request.provider, &query).await?;
        types.retain(|one| self.arch.as_deref().is_none_or(|arch| is_same_arch(arch, &one.architecture)));
        types.sort_by(|a, b| (a.vcpus, a.memory_mib, &a.name).cmp(&(b.vcpus, b.memory_mib, &b.name)));
        Ok(types)
    }

    async fn key(&mut self) -> Result<()> {
        let files = own(&self.draft.request.provider);
        let kept = self.client.public_keys(&[("limit", SHOWN_MAX.to_string())]).await?.data;
        let own = files.iter().map(|path| Choice { key: path.display().to_string(), about: String::new() });
        let known =
            kept.iter().map(|key| Choice { key: key.name.clone(), about: format!("{}, kept", key.kind) });
        let choices: Vec<Choice> = own.chain(known).collect();
        let default = (!files.is_empty()).then_some(0);
        for _ in 0..TRIES_MAX {
            let picked = self.asker.pick("Public key (a number, a file, or a name)", &choices, default)?;
            let (name, found) = match picked {
                Picked::Choice(index) if index < files.len() => {
                    let path = files[index].to_string_lossy();
                    (path.to_string(), key_in_file("--key", &path, None).map(KeyChoice::New))
                }
                Picked::Choice(index) => {
                    let key = &kept[index - files.len()];
                    (key.name.clone(), Ok(KeyChoice::Kept { id: key.id }))
                }
                Picked::Words(words) => {
                    let found = KeyChoice::find(self.client, &words, None).await;
                    (words, found)
                }
            };
            match found {
                Ok(key) => {
                    key.lay_over(self.draft.parameters());
                    self.key = Some(name);
                    return Ok(());
                }
                Err(error) => self.asker.say(&format!("{error:#}"))?,
            }
        }
        bail!("no public key was chosen; nothing was launched")
    }

    fn review(&mut self) -> Result<()> {
        let image =
            self.draft.image.as_ref().map_or_else(|| "of the template".to_owned(), ImageDraft::in_words);
        let given = self.draft.request.parameters.clone().unwrap_or_default();
        let new_key = given.pubkey.map(|key| key.name);
        let facts = [
            ("provider", Some(self.draft.request.provider.clone())),
            ("image", Some(image)),
            ("account", Some(given.source_id).filter(|id| !id.is_empty())),
            ("region", given.region),
            ("type", given.instance_type),
            ("template", given.launch_template_id),
            ("count", given.amount.map(|count| count.to_string())),
            ("name", given.name),
            ("key", self.key.clone().or(new_key).or_else(|| given.pubkey_id.map(|id| id.to_string()))),
        ];
        let lines = facts.into_iter().filter_map(|(name, value)| Some((name, value?)));
        let mut lines: Vec<String> =
            lines.map(|(name, value)| format!("  {name:<9} {}", printable(&value))).collect();
        let count = given.amount.and_then(|count| u64::try_from(count).ok()).unwrap_or(1);
        let vcpus = count.saturating_mul(self.vcpus.unwrap_or(0).into());
        if vcpus > VCPUS_WARNED {
            lines.push(format!(
                "  these are {vcpus} processors, and many accounts may have {VCPUS_WARNED} at once"
            ));
        }
        self.asker.say(&lines.join("\n"))
    }
}

/// Where the images of a provider are made, and so where instances start when the request names no region.
pub(crate) fn home(provider: &str) -> &'static str {
    provider.parse().map_or("", |kind: ProviderKind| kind.spec().home)
}

fn choice(one: &InstanceType) -> Choice {
    let memory = one.memory_mib / 1024;
    let about = format!("{} vCPU, {memory} GiB, {}", one.vcpus, one.architecture);
    Choice { key: one.name.clone(), about }
}

/// The Image Builder and the clouds have different words for one thing.
fn is_same_arch(one: &str, other: &str) -> bool {
    let plain = |text: &str| if text == "aarch64" { "arm64".to_owned() } else { text.to_owned() };
    plain(one) == plain(other)
}
