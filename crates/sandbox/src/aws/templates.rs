//! Launch templates: details of instances under a name, in one version each.

use std::collections::BTreeMap;

use time::OffsetDateTime;

use super::call_error::AwsError;
use super::details::Details;
use super::filter::Filters;
use super::form::AwsForm;
use super::ids::is_well_formed;
use super::page::ResultPage;
use super::tags::{self, Tags};
use super::world::{AwsCall, AwsState, LAUNCH_TEMPLATE, RegionSite};
use super::xml::Xml;

const TEMPLATES_MAX: usize = 10_000;
const NAME_CHARS: std::ops::RangeInclusive<usize> = 3..=128;

#[derive(Debug)]
struct AwsTemplate {
    site: RegionSite,
    id: String,
    name: String,
    made_by: String,
    made_at: OffsetDateTime,
    details: Details,
    tags: Tags,
}

impl AwsTemplate {
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
    by_number: BTreeMap<u64, AwsTemplate>,
    last: u64,
}

impl Templates {
    fn at<'a>(&'a self, site: &RegionSite) -> impl Iterator<Item = (u64, &'a AwsTemplate)> {
        self.by_number.iter().map(|(number, one)| (*number, one)).filter(|(_, one)| one.site == *site)
    }

    fn by_id(&self, site: &RegionSite, id: &str) -> Result<(u64, &AwsTemplate), AwsError> {
        if !is_well_formed(id, "lt") {
            let message = format!("{id:?} is not the id of a launch template");
            return Err(AwsError::new("InvalidLaunchTemplateId.Malformed", message));
        }
        let missing = || {
            let message = format!("there is no launch template {id:?}");
            AwsError::new("InvalidLaunchTemplateId.NotFound", message)
        };
        self.at(site).find(|(_, one)| one.id == id).ok_or_else(missing)
    }

    fn by_name(&self, site: &RegionSite, name: &str) -> Result<(u64, &AwsTemplate), AwsError> {
        let missing = || {
            let message = format!("there is no launch template {name:?}");
            AwsError::new("InvalidLaunchTemplateName.NotFoundException", message)
        };
        self.at(site).find(|(_, one)| one.name == name).ok_or_else(missing)
    }

    fn find(&self, site: &RegionSite, which: &Which) -> Result<(u64, &AwsTemplate), AwsError> {
        match which {
            Which::Id(id) => self.by_id(site, id),
            Which::Name(name) => self.by_name(site, name),
        }
    }

    pub(super) fn details(&self, site: &RegionSite, which: &Which) -> Result<&Details, AwsError> {
        self.find(site, which).map(|(_, template)| &template.details)
    }
}

#[derive(Debug, Clone)]
pub(super) enum Which {
    Id(String),
    Name(String),
}

impl Which {
    fn read(form: &mut AwsForm) -> Result<Self, AwsError> {
        match (form.take("LaunchTemplateId"), form.take("LaunchTemplateName")) {
            (Some(id), None) => Ok(Which::Id(id)),
            (None, Some(name)) => Ok(Which::Name(name)),
            _ => Err(AwsError::new(
                "InvalidParameterCombination",
                "a launch template is named by its id or by its name, and not by both",
            )),
        }
    }

    /// As `RunInstances` names one.
    pub(super) fn read_from(mut form: AwsForm) -> Result<Option<Self>, AwsError> {
        if form.is_empty() {
            return Ok(None);
        }
        let which = Which::read(&mut form)?;
        let version = form.take("Version").unwrap_or_else(|| "$Default".into());
        form.finish()?;
        if !["$Default", "$Latest", "1"].contains(&version.as_str()) {
            let message = format!("the launch template has no version {version:?}");
            return Err(AwsError::new("InvalidLaunchTemplateId.VersionNotFound", message));
        }
        Ok(Some(which))
    }
}

pub(super) fn create(
    aws_state: &mut AwsState,
    call: &AwsCall,
    mut form: AwsForm,
) -> Result<String, AwsError> {
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
        return Err(AwsError::new("InvalidLaunchTemplateName.MalformedException", message));
    }
    call.allow()?;
    if aws_state.templates.by_name(&call.site, &name).is_ok() {
        let message = format!("there is a launch template {name:?} already");
        return Err(AwsError::new("InvalidLaunchTemplateName.AlreadyExistsException", message));
    }
    if aws_state.templates.by_number.len() >= TEMPLATES_MAX {
        return Err(AwsError::new("LaunchTemplateLimitExceeded", "there are too many launch templates"));
    }
    call.end_dry_run()?;
    let template = AwsTemplate {
        site: call.site.clone(),
        id: aws_state.ids.make("lt"),
        name,
        made_by: call.caller.arn.clone(),
        made_at: call.now,
        details,
        tags,
    };
    aws_state.ledger.make(LAUNCH_TEMPLATE, &call.site.ledger_token(&template.id), "");
    let xml = Xml::of(|xml| xml.branch("launchTemplate", |xml| template.write(xml)));
    aws_state.templates.last += 1;
    aws_state.templates.by_number.insert(aws_state.templates.last, template);
    Ok(xml)
}

pub(super) fn describe(aws_state: &AwsState, call: &AwsCall, mut form: AwsForm) -> Result<String, AwsError> {
    let ids = form.list("LaunchTemplateId")?;
    let names = form.list("LaunchTemplateName")?;
    let filters = Filters::read(&mut form, &["launch-template-name"])?;
    let page = ResultPage::read(&mut form, 1..=200, aws_state.controls.page_items)?;
    form.finish()?;
    call.admit()?;
    for id in &ids {
        aws_state.templates.by_id(&call.site, id)?;
    }
    for name in &names {
        aws_state.templates.by_name(&call.site, name)?;
    }
    let is_asked_for = |one: &AwsTemplate| {
        let is_open = ids.is_empty() && names.is_empty();
        let is_named = is_open || ids.contains(&one.id) || names.contains(&one.name);
        is_named && filters.fit(&one.tags, |_| Some(one.name.clone()))
    };
    let (found, next) = page.cut(aws_state.templates.at(&call.site).filter(|(_, one)| is_asked_for(one)));
    Ok(Xml::of(|xml| {
        xml.items("launchTemplates", found, |xml, template| template.write(xml));
        xml.maybe("nextToken", next);
    }))
}

pub(super) fn delete(
    aws_state: &mut AwsState,
    call: &AwsCall,
    mut form: AwsForm,
) -> Result<String, AwsError> {
    let which = Which::read(&mut form)?;
    form.finish()?;
    call.admit()?;
    let (number, template) = aws_state.templates.find(&call.site, &which)?;
    let xml = Xml::of(|xml| xml.branch("launchTemplate", |xml| template.write(xml)));
    aws_state.ledger.take_back(LAUNCH_TEMPLATE, &call.site.ledger_token(&template.id));
    aws_state.templates.by_number.remove(&number);
    Ok(xml)
}
