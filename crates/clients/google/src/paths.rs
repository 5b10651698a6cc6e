//! Projects, zones and other names that become part of a path. None of them can lead elsewhere.

use cloud::{Access, CloudAccount, CloudError};

use crate::error::{invalid, permission};
use crate::json::after_projects;

const NAME_CHARS_MAX: usize = 63;
const PROJECT_CHARS_MAX: usize = 100;

/// A project and a zone of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Site {
    pub(super) project: String,
    pub(super) zone: String,
}

impl Site {
    pub(super) fn of(place: &CloudAccount<'_>) -> Result<Site, CloudError> {
        let zone = place.region;
        let is_zone = is_name(zone) && zone.rsplit_once('-').is_some_and(|(_, letter)| letter.len() == 1);
        if !is_zone {
            let message = format!("{zone:?} is no zone of Google Cloud: write it like us-central1-a");
            return Err(invalid("InvalidZone", message));
        }
        Ok(Site { project: project(place)?, zone: zone.to_owned() })
    }

    /// The region that the zone is in.
    pub(super) fn region(&self) -> &str {
        self.zone.rsplit_once('-').map_or(&self.zone, |(region, _)| region)
    }

    pub(super) fn zonal(&self, rest: &str) -> String {
        format!("projects/{}/zones/{}/{rest}", self.project, self.zone)
    }
}

/// The project of the account.
pub(super) fn project(place: &CloudAccount<'_>) -> Result<String, CloudError> {
    match &place.account.access {
        Access::Name(name) if is_project(name) => Ok(name.clone()),
        Access::Name(name) => Err(invalid("InvalidProject", format!("{name:?} is not the id of a project"))),
        _ => Err(permission(
            "NoProject",
            "an account of Google Cloud is the id of a project: give the source one",
        )),
    }
}

/// Projects of old have a domain in front: `example.com:project`.
pub(super) fn is_project(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.:".contains(&byte);
    (1..=PROJECT_CHARS_MAX).contains(&text.len())
        && text.bytes().all(fits)
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && !text.contains("..")
}

/// A name as Compute Engine takes it.
pub(super) fn is_name(text: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=NAME_CHARS_MAX).contains(&text.len())
        && text.bytes().all(fits)
        && text.starts_with(|first: char| first.is_ascii_lowercase())
        && !text.ends_with('-')
}

/// A name, or the number by which it is known as well.
pub(super) fn is_name_or_id(text: &str) -> bool {
    is_name(text) || ((1..=20).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit()))
}

/// An image: its project, and the rest of its path.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ImagePath {
    pub(super) project: String,
    /// `<name>` or `family/<family>`.
    pub(super) name: String,
}

impl ImagePath {
    pub(super) fn parse(id: &str) -> Result<ImagePath, CloudError> {
        let parts: Vec<&str> = after_projects(id).split('/').collect();
        let (project, name) = match parts.as_slice() {
            [project, "global", "images", name] if is_name(name) => (*project, (*name).to_owned()),
            [project, "global", "images", "family", name] if is_name(name) => {
                (*project, format!("family/{name}"))
            }
            _ => ("", String::new()),
        };
        if !is_project(project) {
            let message = format!("{id:?} is no image: write it like projects/PROJECT/global/images/NAME");
            return Err(invalid("InvalidImage", message));
        }
        Ok(ImagePath { project: project.to_owned(), name })
    }

    pub(super) fn path(&self) -> String {
        format!("projects/{}/global/images/{}", self.project, self.name)
    }
}

/// A subnetwork: its project, and its path.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SubnetPath {
    pub(super) project: String,
    pub(super) path: String,
}

impl SubnetPath {
    /// A bare name is one of the project and the region of the site.
    pub(super) fn parse(text: &str, site: &Site) -> Result<SubnetPath, CloudError> {
        let parts: Vec<&str> = after_projects(text).split('/').collect();
        let (project, region, name) = match parts.as_slice() {
            [name] => (site.project.as_str(), site.region(), *name),
            ["regions", region, "subnetworks", name] => (site.project.as_str(), *region, *name),
            [project, "regions", region, "subnetworks", name] => (*project, *region, *name),
            _ => ("", "", ""),
        };
        if !is_project(project) || !is_name(name) {
            let message = format!(
                "{text:?} is no subnetwork: write it like projects/PROJECT/regions/REGION/subnetworks/NAME"
            );
            return Err(invalid("InvalidSubnetwork", message));
        }
        if region != site.region() {
            let message =
                format!("the subnetwork {name} is in {region:?}, and the zone is in {}", site.region());
            return Err(invalid("InvalidSubnetwork", message));
        }
        let path = format!("projects/{project}/regions/{region}/subnetworks/{name}");
        Ok(SubnetPath { project: project.to_owned(), path })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_lead_elsewhere() {
        for good in ["web", "a1-b", "us-central1-a", &"a".repeat(63)] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", "Web", "1a", "a-", "a/b", "a.b", "a?b", "ä", "..", &"a".repeat(64)] {
            assert!(!is_name(bad), "{bad}");
        }
        for bad in ["", "a/b", "a..b", "1", "A", "a b", "a%2f"] {
            assert!(!is_project(bad), "{bad}");
        }
        assert!(is_project("example.com:web-1") && is_name_or_id("4006034190819017667"));
        assert!(!is_name_or_id("123456789012345678901"));
    }

    #[test]
    fn an_image_has_a_project_and_a_name() {
        let image =
            ImagePath::parse("https://www.googleapis.com/compute/v1/projects/p/global/images/i").unwrap();
        assert_eq!((image.project.as_str(), image.path().as_str()), ("p", "projects/p/global/images/i"));
        let family = ImagePath::parse("projects/rhel-cloud/global/images/family/rhel-9").unwrap();
        assert_eq!(family.name, "family/rhel-9");
        for bad in ["i", "projects/p/images/i", "projects/p/global/images/../x", "projects/P/global/images/i"]
        {
            assert_eq!(ImagePath::parse(bad).unwrap_err().code, "InvalidImage", "{bad}");
        }
    }

    #[test]
    fn a_subnetwork_is_in_the_region_of_the_zone() {
        let site = Site { project: "p".to_owned(), zone: "us-central1-a".to_owned() };
        let own = SubnetPath::parse("lan", &site).unwrap();
        assert_eq!(own.path, "projects/p/regions/us-central1/subnetworks/lan");
        assert_eq!(SubnetPath::parse("regions/us-central1/subnetworks/lan", &site).unwrap(), own);
        let shared = SubnetPath::parse("projects/host/regions/us-central1/subnetworks/lan", &site).unwrap();
        assert_eq!(shared.project, "host");
        for bad in
            ["projects/p/regions/us-east1/subnetworks/lan", "a/b", "projects/p/regions/us-central1/lan", ""]
        {
            assert_eq!(SubnetPath::parse(bad, &site).unwrap_err().code, "InvalidSubnetwork", "{bad}");
        }
    }
}
