//! The regions and the types of instances that there are.

use super::call_error::AwsError;
use super::filter::Filters;
use super::form::AwsForm;
use super::images::Architecture;
use super::page::ResultPage;
use super::tags::Tags;
use super::world::{AwsCall, AwsState};
use super::xml::Xml;

/// Every account can use these.
const REGIONS: &[&str] = &[
    "ap-northeast-1",
    "ap-northeast-2",
    "ap-northeast-3",
    "ap-south-1",
    "ap-southeast-1",
    "ap-southeast-2",
    "ca-central-1",
    "eu-central-1",
    "eu-north-1",
    "eu-west-1",
    "eu-west-2",
    "eu-west-3",
    "sa-east-1",
    "us-east-1",
    "us-east-2",
    "us-west-1",
    "us-west-2",
];

/// An account would have to ask for these first, and none has.
const CLOSED_REGIONS: &[&str] = &["af-south-1", "ap-east-1", "eu-south-1", "me-south-1"];

pub(super) fn is_region(name: &str) -> bool {
    REGIONS.contains(&name) || CLOSED_REGIONS.contains(&name)
}

pub(super) fn is_closed(region: &str) -> bool {
    CLOSED_REGIONS.contains(&region)
}

pub(super) fn describe_regions(call: &AwsCall, mut form: AwsForm) -> Result<String, AwsError> {
    let names = form.list("RegionName")?;
    let wants_closed = form.flag("AllRegions")?;
    let filters = Filters::read(&mut form, &["region-name"])?;
    form.finish()?;
    call.admit()?;
    let unknown = names.iter().find(|name| !is_region(name));
    if let Some(name) = unknown {
        return Err(AwsError::invalid(format!("there is no region {name:?}")));
    }
    let closed = if wants_closed { CLOSED_REGIONS } else { &[] };
    let is_asked_for = |name: &&&str| {
        let is_named = names.is_empty() || names.iter().any(|asked| asked == **name);
        is_named && filters.fit(&Tags::new(), |_| Some((**name).to_owned()))
    };
    let regions = REGIONS.iter().chain(closed).filter(is_asked_for);
    Ok(Xml::of(|xml| {
        xml.items("regionInfo", regions, |xml, name| {
            xml.leaf("regionName", name);
            xml.leaf("regionEndpoint", format_args!("ec2.{name}.amazonaws.com"));
            xml.leaf("optInStatus", if is_closed(name) { "not-opted-in" } else { "opt-in-not-required" });
        });
    }))
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct InstanceType {
    pub(super) name: &'static str,
    pub(super) vcpus: u32,
    cores: u32,
    memory_mib: u64,
    storage_gb: u64,
    architectures: &'static [Architecture],
}

impl InstanceType {
    pub(super) fn suits(&self, architecture: Architecture) -> bool {
        self.architectures.contains(&architecture)
    }

    /// For messages: the one that it is mostly for.
    pub(super) fn architecture(&self) -> &'static str {
        self.architectures.last().map_or("none", |last| last.as_str())
    }
}

const OLD: &[Architecture] = &[Architecture::I386, Architecture::X86_64];
const X86: &[Architecture] = &[Architecture::X86_64];
const ARM: &[Architecture] = &[Architecture::Arm64];

/// Sizes of a family: virtual CPUs, cores, memory in MiB and local storage in GB.
const fn kind(
    name: &'static str,
    architectures: &'static [Architecture],
    [vcpus, cores]: [u32; 2],
    [memory_mib, storage_gb]: [u64; 2],
) -> InstanceType {
    InstanceType { name, vcpus, cores, memory_mib, storage_gb, architectures }
}

const TYPES: &[InstanceType] = &[
    kind("m1.small", OLD, [1, 1], [1740, 160]),
    kind("t2.micro", OLD, [1, 1], [1024, 0]),
    kind("t2.medium", OLD, [2, 2], [4096, 0]),
    kind("t3.nano", X86, [2, 1], [512, 0]),
    kind("t3.micro", X86, [2, 1], [1024, 0]),
    kind("t3.small", X86, [2, 1], [2048, 0]),
    kind("t3.medium", X86, [2, 1], [4096, 0]),
    kind("t3.large", X86, [2, 1], [8192, 0]),
    kind("t3.xlarge", X86, [4, 2], [16384, 0]),
    kind("t3.2xlarge", X86, [8, 4], [32768, 0]),
    kind("m5.large", X86, [2, 1], [8192, 0]),
    kind("m5.xlarge", X86, [4, 2], [16384, 0]),
    kind("m5.2xlarge", X86, [8, 4], [32768, 0]),
    kind("m5.4xlarge", X86, [16, 8], [65536, 0]),
    kind("m5.8xlarge", X86, [32, 16], [131_072, 0]),
    kind("m5.12xlarge", X86, [48, 24], [196_608, 0]),
    kind("m5.16xlarge", X86, [64, 32], [262_144, 0]),
    kind("m5.24xlarge", X86, [96, 48], [393_216, 0]),
    kind("m5d.large", X86, [2, 1], [8192, 75]),
    kind("m5d.xlarge", X86, [4, 2], [16384, 150]),
    kind("c5.large", X86, [2, 1], [4096, 0]),
    kind("c5.xlarge", X86, [4, 2], [8192, 0]),
    kind("c5.2xlarge", X86, [8, 4], [16384, 0]),
    kind("c5.4xlarge", X86, [16, 8], [32768, 0]),
    kind("c5.9xlarge", X86, [36, 18], [73728, 0]),
    kind("c5.12xlarge", X86, [48, 24], [98304, 0]),
    kind("c5.18xlarge", X86, [72, 36], [147_456, 0]),
    kind("c5.24xlarge", X86, [96, 48], [196_608, 0]),
    kind("c5d.large", X86, [2, 1], [4096, 50]),
    kind("t4g.nano", ARM, [2, 2], [512, 0]),
    kind("t4g.micro", ARM, [2, 2], [1024, 0]),
    kind("t4g.small", ARM, [2, 2], [2048, 0]),
    kind("t4g.medium", ARM, [2, 2], [4096, 0]),
    kind("t4g.large", ARM, [2, 2], [8192, 0]),
    kind("t4g.xlarge", ARM, [4, 4], [16384, 0]),
    kind("t4g.2xlarge", ARM, [8, 8], [32768, 0]),
    kind("m6g.medium", ARM, [1, 1], [4096, 0]),
    kind("m6g.large", ARM, [2, 2], [8192, 0]),
    kind("m6g.xlarge", ARM, [4, 4], [16384, 0]),
    kind("m6g.2xlarge", ARM, [8, 8], [32768, 0]),
    kind("m6g.4xlarge", ARM, [16, 16], [65536, 0]),
    kind("m6g.8xlarge", ARM, [32, 32], [131_072, 0]),
    kind("m6g.12xlarge", ARM, [48, 48], [196_608, 0]),
    kind("m6g.16xlarge", ARM, [64, 64], [262_144, 0]),
];

pub(super) fn find(name: &str) -> Option<&'static InstanceType> {
    TYPES.iter().find(|kind| kind.name == name)
}

pub(super) fn describe_types(
    aws_state: &AwsState,
    call: &AwsCall,
    mut form: AwsForm,
) -> Result<String, AwsError> {
    let names = form.list("InstanceType")?;
    let filters = Filters::read(&mut form, &["instance-type"])?;
    let page = ResultPage::read(&mut form, 5..=100, aws_state.controls.page_items)?;
    form.finish()?;
    call.admit()?;
    if let Some(name) = names.iter().find(|name| find(name).is_none()) {
        return Err(AwsError::new("InvalidInstanceType", format!("there is no type {name:?}")));
    }
    let is_asked_for = |kind: &InstanceType| {
        let is_named = names.is_empty() || names.iter().any(|asked| asked == kind.name);
        is_named && filters.fit(&Tags::new(), |_| Some(kind.name.to_owned()))
    };
    let (types, next) = page.cut((0..).zip(TYPES).filter(|(_, kind)| is_asked_for(kind)));
    Ok(Xml::of(|xml| {
        xml.items("instanceTypeSet", types, write_type);
        xml.maybe("nextToken", next);
    }))
}

fn write_type(xml: &mut Xml, kind: &InstanceType) {
    xml.leaf("instanceType", kind.name);
    xml.leaf("currentGeneration", kind.architectures != OLD);
    xml.texts("supportedUsageClasses", ["on-demand", "spot"]);
    xml.texts("supportedRootDeviceTypes", ["ebs"]);
    xml.texts("supportedVirtualizationTypes", ["hvm"]);
    xml.leaf("bareMetal", false);
    xml.branch("processorInfo", |xml| {
        xml.texts("supportedArchitectures", kind.architectures.iter().map(|one| one.as_str()));
    });
    xml.branch("vCpuInfo", |xml| {
        xml.leaf("defaultVCpus", kind.vcpus);
        xml.leaf("defaultCores", kind.cores);
        xml.leaf("defaultThreadsPerCore", kind.vcpus / kind.cores);
    });
    xml.branch("memoryInfo", |xml| xml.leaf("sizeInMiB", kind.memory_mib));
    xml.leaf("instanceStorageSupported", kind.storage_gb > 0);
    if kind.storage_gb > 0 {
        xml.branch("instanceStorageInfo", |xml| xml.leaf("totalSizeInGB", kind.storage_gb));
    }
}
