//! The instance types of a region.

use cloud::{Architecture, CloudAccount, CloudError, InstanceType};

use super::Aws;
use super::form::QueryForm;
use super::xml::{Element, Parts as _, ResponseXmlError};

/// The most that AWS allows.
const PAGE_SIZE: u32 = 100;

pub(super) async fn instance_types(
    aws: &Aws,
    place: &CloudAccount<'_>,
) -> Result<Vec<InstanceType>, CloudError> {
    let form = QueryForm::new("DescribeInstanceTypes").with("MaxResults", PAGE_SIZE.to_string());
    let mut types = Vec::new();
    let read_page = |page: &Element| {
        for item in page.items("instanceTypeSet") {
            types.extend(read(item)?);
        }
        Ok(())
    };
    aws.pages(place, form, read_page).await?;
    types.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(types)
}

/// `None` for an instance type on which no image of the engine can start, such as a Mac.
fn read(item: &Element) -> Result<Option<InstanceType>, ResponseXmlError> {
    let mut known =
        item.items("processorInfo/supportedArchitectures").filter_map(|item| architecture(item.text("")?));
    let Some(architecture) = known.next() else { return Ok(None) };
    let vcpus = item.number("vCpuInfo/defaultVCpus")?;
    Ok(Some(InstanceType {
        name: item.word("instanceType")?,
        vcpus,
        cores: item.maybe_number("vCpuInfo/defaultCores")?.unwrap_or(vcpus),
        memory_mib: item.number("memoryInfo/sizeInMiB")?,
        storage_gb: item.maybe_number("instanceStorageInfo/totalSizeInGB")?.unwrap_or_default(),
        architecture,
        generations: Vec::new(),
    }))
}

pub(super) fn architecture(text: &str) -> Option<Architecture> {
    [Architecture::X86_64, Architecture::Arm64].into_iter().find(|known| known.as_str() == text)
}
