//! What EC2 and STS can be asked to do.

use serde::{Deserialize, Serialize};

use super::call_error::AwsError;
use crate::ledger::LedgerSystem;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AwsEndpoint {
    Ec2,
    Sts,
}

impl AwsEndpoint {
    /// As in the scope of a signature.
    pub(super) fn name(self) -> &'static str {
        self.system().name()
    }

    pub(super) fn system(self) -> LedgerSystem {
        match self {
            AwsEndpoint::Ec2 => LedgerSystem::Ec2,
            AwsEndpoint::Sts => LedgerSystem::Sts,
        }
    }

    pub(super) fn version(self) -> &'static str {
        match self {
            AwsEndpoint::Ec2 => "2016-11-15",
            AwsEndpoint::Sts => "2011-06-15",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(super) enum AwsAction {
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

impl AwsAction {
    const ALL: [AwsAction; 14] = [
        AwsAction::AssumeRole,
        AwsAction::GetCallerIdentity,
        AwsAction::CreateLaunchTemplate,
        AwsAction::DeleteKeyPair,
        AwsAction::DeleteLaunchTemplate,
        AwsAction::DescribeImages,
        AwsAction::DescribeInstanceTypes,
        AwsAction::DescribeInstances,
        AwsAction::DescribeKeyPairs,
        AwsAction::DescribeLaunchTemplates,
        AwsAction::DescribeRegions,
        AwsAction::ImportKeyPair,
        AwsAction::RunInstances,
        AwsAction::TerminateInstances,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            AwsAction::AssumeRole => "AssumeRole",
            AwsAction::GetCallerIdentity => "GetCallerIdentity",
            AwsAction::CreateLaunchTemplate => "CreateLaunchTemplate",
            AwsAction::DeleteKeyPair => "DeleteKeyPair",
            AwsAction::DeleteLaunchTemplate => "DeleteLaunchTemplate",
            AwsAction::DescribeImages => "DescribeImages",
            AwsAction::DescribeInstanceTypes => "DescribeInstanceTypes",
            AwsAction::DescribeInstances => "DescribeInstances",
            AwsAction::DescribeKeyPairs => "DescribeKeyPairs",
            AwsAction::DescribeLaunchTemplates => "DescribeLaunchTemplates",
            AwsAction::DescribeRegions => "DescribeRegions",
            AwsAction::ImportKeyPair => "ImportKeyPair",
            AwsAction::RunInstances => "RunInstances",
            AwsAction::TerminateInstances => "TerminateInstances",
        }
    }

    pub(super) fn service(self) -> AwsEndpoint {
        match self {
            AwsAction::AssumeRole | AwsAction::GetCallerIdentity => AwsEndpoint::Sts,
            _ => AwsEndpoint::Ec2,
        }
    }

    pub(super) fn find(service: AwsEndpoint, name: &str) -> Result<Self, AwsError> {
        let is_meant = |action: &AwsAction| action.service() == service && action.name() == name;
        let unknown = || AwsError::new("InvalidAction", format!("{} has no such action", service.name()));
        AwsAction::ALL.into_iter().find(is_meant).ok_or_else(unknown)
    }
}
