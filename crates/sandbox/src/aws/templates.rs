//! Launch templates: details of instances under a name, in one version each.

use std::collections::BTreeMap;

use time::OffsetDateTime;

use super::details::Details;
use super::filter::Filters;
use super::form::Form;
use super::ids::is_well_formed;
use super::page::Page;
use super::refusal::Refusal;
use super::tags::{self, Tags};
use super::world::{Call, Estate, LAUNCH_TEMPLATE, Site};
use super::xml::Xml;

const TEMPLATES_MAX: usize = 10_000;
const NAME_CHARS: std::ops::RangeInclusive<usize> = 3..=128;

#[derive(Debug)]
struct Template {
    site: Site,
    id: String,
    name: String,
    made_by: String,
    made_at: OffsetDateTime,
    details: Details,
    tags: Tags,
}

impl Template {
    fn write(&self, xml: &mut Xml) {
        xml.leaf("launchTemplateId", &self.id);
        xml.leaf("launchTemplateName", &self.name);
        xml.moment("createTime", self.made_at);
        xml.leaf("createdBy", &self.made_by);
        xml.leaf("defaultVersionNumber", 1);
        xml.leaf("latestVersionNumber", 1);
        xml.tags(&self.tags);
    }
}

/// The ones of all sites, in the order in which they were made.
#[derive(Debug, Default)]
pub(super) struct Templates {
    by_number: BTreeMap<u64, Template>,
    last: u64,
}

impl Templates {
    fn at<'a>(&'a self, site: &Site) -> impl Iterator<Item = (u64, &'a Template)> {
        self.by_number.iter().map(|(number, one)| (*number, one)).filter(|(_, one)| one.site == *site)
    }

    fn by_id(&self, site: &Site, id: &str) -> Result<(u64, &Template), Refusal> {
        if !is_well_formed(id, "lt") {
            let message = format!("{id:?} is not the id of a launch template");
            return Err(Refusal::new("InvalidLaunchTemplateId.Malformed", message));
        }
        let missing = || {
            let message = format!("there is no launch template {id:?}");
            Refusal::new("InvalidLaunchTemplateId.NotFound", message)
        };
        self.at(site).find(|(_, one)| one.id == id).ok_or_else(missing)
    }

    fn by_name(&self, site: &Site, name: &str) -> Result<(u64, &Template), Refusal> {
        let missing = || {
            let message = format!("there is no launch template {name:?}");
            Refusal::new("InvalidLaunchTemplateName.NotFoundException", message)
        };
        self.at(site).find(|(_, one)| one.name == name).ok_or_else(missing)
    }

    fn find(&self, site: &Site, which: &Which) -> Result<(u64, &Template), Refusal> {
        match which {
            Which::Id(id) => self.by_id(site, id),
            Which::Name(name) => self.by_name(site, name),
        }
    }

    pub(super) fn details(&self, site: &Site, which: &Which) -> Result<&Details, Refusal> {
        self.find(site, which).map(|(_, template)| &template.details)
    }
}

#[derive(Debug, Clone)]
pub(super) enum Which {
    Id(String),
    Name(String),
}

impl Which {
    fn read(form: &mut Form) -> Result<Self, Refusal> {
        match (form.take("LaunchTemplateId"), form.take("LaunchTemplateName")) {
            (Some(id), None) => Ok(Which::Id(id)),
            (None, Some(name)) => Ok(Which::Name(name)),
            _ => Err(Refusal::new(
                "InvalidParameterCombination",
                "a launch template is named by its id or by its name, and not by both",
            )),
        }
    }

    /// As `RunInstances` names one.
    pub(super) fn read_from(mut form: Form) -> Result<Option<Self>, Refusal> {
        if form.is_empty() {
            return Ok(None);
        }
        let which = Which::read(&mut form)?;
        let version = form.take("Version").unwrap_or_else(|| "$Default".into());
        form.finish()?;
        if !["$Default", "$Latest", "1"].contains(&version.as_str()) {
            let message = format!("the launch template has no version {version:?}");
            return Err(Refusal::new("InvalidLaunchTemplateId.VersionNotFound", message));
        }
        Ok(Some(which))
    }
}

pub(super) fn create(estate: &mut Estate, call: &Call, mut form: Form) -> Result<String, Refusal> {
    let name = form.need("LaunchTemplateName")?;
    let mut data = form.sub("LaunchTemplateData");
    let details = Details::read(&mut data)?;
    data.finish()?;
    let tags = tags::read_for(&mut form, "launch-template")?;
    form.take("VersionDescription");
    form.take("ClientToken");
    form.finish()?;
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "()./_-".contains(c);
    if !NAME_CHARS.contains(&name.len()) || !name.chars().all(is_plain) {
        let message = "LaunchTemplateName has 3 to 128 characters out of letters, digits and ()./_-";
        return Err(Refusal::new("InvalidLaunchTemplateName.MalformedException", message));
    }
    call.allow()?;
    if estate.templates.by_name(&call.site, &name).is_ok() {
        let message = format!("there is a launch template {name:?} already");
        return Err(Refusal::new("InvalidLaunchTemplateName.AlreadyExistsException", message));
    }
    if estate.templates.by_number.len() >= TEMPLATES_MAX {
        return Err(Refusal::new("LaunchTemplateLimitExceeded", "there are too many launch templates"));
    }
    call.end_rehearsal()?;
    let template = Template {
        site: call.site.clone(),
        id: estate.ids.make("lt"),
        name,
        made_by: call.caller.arn.clone(),
        made_at: call.now,
        details,
        tags,
    };
    estate.ledger.make(LAUNCH_TEMPLATE, &call.site.ledger_token(&template.id), "");
    let xml = Xml::of(|xml| xml.branch("launchTemplate", |xml| template.write(xml)));
    estate.templates.last += 1;
    estate.templates.by_number.insert(estate.templates.last, template);
    Ok(xml)
}

pub(super) fn describe(estate: &Estate, call: &Call, mut form: Form) -> Result<String, Refusal> {
    let ids = form.list("LaunchTemplateId")?;
    let names = form.list("LaunchTemplateName")?;
    let filters = Filters::read(&mut form, &["launch-template-name"])?;
    let page = Page::read(&mut form, 1..=200, estate.knobs.page_items)?;
    form.finish()?;
    call.admit()?;
    for id in &ids {
        estate.templates.by_id(&call.site, id)?;
    }
    for name in &names {
        estate.templates.by_name(&call.site, name)?;
    }
    let is_asked_for = |one: &Template| {
        let is_open = ids.is_empty() && names.is_empty();
        let is_named = is_open || ids.contains(&one.id) || names.contains(&one.name);
        is_named && filters.fit(&one.tags, |_| Some(one.name.clone()))
    };
    let (found, next) = page.cut(estate.templates.at(&call.site).filter(|(_, one)| is_asked_for(one)));
    Ok(Xml::of(|xml| {
        xml.items("launchTemplates", found, |xml, template| template.write(xml));
        xml.maybe("nextToken", next);
    }))
}

pub(super) fn delete(estate: &mut Estate, call: &Call, mut form: Form) -> Result<String, Refusal> {
    let which = Which::read(&mut form)?;
    form.finish()?;
    call.admit()?;
    let (number, template) = estate.templates.find(&call.site, &which)?;
    let xml = Xml::of(|xml| xml.branch("launchTemplate", |xml| template.write(xml)));
    estate.ledger.take_back(LAUNCH_TEMPLATE, &call.site.ledger_token(&template.id));
    estate.templates.by_number.remove(&number);
    Ok(xml)
}
