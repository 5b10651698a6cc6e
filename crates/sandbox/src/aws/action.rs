//! What EC2 and STS can be asked to do.

use serde::{Deserialize, Serialize};

use super::refusal::Refusal;
use crate::ledger::System;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Service {
    Ec2,
    Sts,
}

impl Service {
    /// As in the scope of a signature.
    pub(super) fn name(self) -> &'static str {
        self.system().name()
    }

    pub(super) fn system(self) -> System {
        match self {
            Service::Ec2 => System::Ec2,
            Service::Sts => System::Sts,
        }
    }

    pub(super) fn version(self) -> &'static str {
        match self {
            Service::Ec2 => "2016-11-15",
            Service::Sts => "2011-06-15",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum Action {
    AssumeRole,
    GetCallerIdentity,
    CreateLaunchTemplate,
    DeleteKeyPair,
    DeleteLaunchTemplate,
    DescribeImages,
    DescribeInstanceTypes,
    DescribeInstances,
    DescribeKeyPairs,
    DescribeLaunchTemplates,
    DescribeRegions,
    ImportKeyPair,
    RunInstances,
    TerminateInstances,
}

impl Action {
    const ALL: [Action; 14] = [
        Action::AssumeRole,
        Action::GetCallerIdentity,
        Action::CreateLaunchTemplate,
        Action::DeleteKeyPair,
        Action::DeleteLaunchTemplate,
        Action::DescribeImages,
        Action::DescribeInstanceTypes,
        Action::DescribeInstances,
        Action::DescribeKeyPairs,
        Action::DescribeLaunchTemplates,
        Action::DescribeRegions,
        Action::ImportKeyPair,
        Action::RunInstances,
        Action::TerminateInstances,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Action::AssumeRole => "AssumeRole",
            Action::GetCallerIdentity => "GetCallerIdentity",
            Action::CreateLaunchTemplate => "CreateLaunchTemplate",
            Action::DeleteKeyPair => "DeleteKeyPair",
            Action::DeleteLaunchTemplate => "DeleteLaunchTemplate",
            Action::DescribeImages => "DescribeImages",
            Action::DescribeInstanceTypes => "DescribeInstanceTypes",
            Action::DescribeInstances => "DescribeInstances",
            Action::DescribeKeyPairs => "DescribeKeyPairs",
            Action::DescribeLaunchTemplates => "DescribeLaunchTemplates",
            Action::DescribeRegions => "DescribeRegions",
            Action::ImportKeyPair => "ImportKeyPair",
            Action::RunInstances => "RunInstances",
            Action::TerminateInstances => "TerminateInstances",
        }
    }

    pub(super) fn service(self) -> Service {
        match self {
            Action::AssumeRole | Action::GetCallerIdentity => Service::Sts,
            _ => Service::Ec2,
        }
    }

    pub(super) fn find(service: Service, name: &str) -> Result<Self, Refusal> {
        let is_meant = |action: &Action| action.service() == service && action.name() == name;
        let unknown = || Refusal::new("InvalidAction", format!("{} has no such action", service.name()));
        Action::ALL.into_iter().find(is_meant).ok_or_else(unknown)
    }
}
