//! The kinds of objects that this API server has.

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum KubeKind {
    Runtime,
    GardenerCluster,
    Kyma,
    CredentialsBinding,
    Shoot,
    Secret,
}

pub(super) const INFRASTRUCTURE_MANAGER: &str = "infrastructuremanager.kyma-project.io";

impl KubeKind {
    pub(super) const ALL: [KubeKind; 6] = [
        KubeKind::Runtime,
        KubeKind::GardenerCluster,
        KubeKind::Kyma,
        KubeKind::CredentialsBinding,
        KubeKind::Shoot,
        KubeKind::Secret,
    ];

    pub(super) fn find(group: &str, version: &str, plural: &str) -> Option<KubeKind> {
        KubeKind::ALL
            .into_iter()
            .find(|kind| kind.group() == group && kind.version() == version && kind.plural() == plural)
    }

    pub(super) fn group(self) -> &'static str {
        match self {
            KubeKind::Runtime | KubeKind::GardenerCluster => INFRASTRUCTURE_MANAGER,
            KubeKind::Kyma => "operator.kyma-project.io",
            KubeKind::CredentialsBinding => "security.gardener.cloud",
            KubeKind::Shoot => "core.gardener.cloud",
            KubeKind::Secret => "",
        }
    }

    pub(super) fn version(self) -> &'static str {
        match self {
            KubeKind::Runtime | KubeKind::GardenerCluster | KubeKind::Secret => "v1",
            KubeKind::Kyma => "v1beta2",
            KubeKind::CredentialsBinding => "v1alpha1",
            KubeKind::Shoot => "v1beta1",
        }
    }

    pub(super) fn api_version(self) -> String {
        match self.group() {
            "" => self.version().to_owned(),
            group => format!("{group}/{}", self.version()),
        }
    }

    pub(super) fn plural(self) -> &'static str {
        match self {
            KubeKind::Runtime => "runtimes",
            KubeKind::GardenerCluster => "gardenerclusters",
            KubeKind::Kyma => "kymas",
            KubeKind::CredentialsBinding => "credentialsbindings",
            KubeKind::Shoot => "shoots",
            KubeKind::Secret => "secrets",
        }
    }

    pub(super) fn kind(self) -> &'static str {
        match self {
            KubeKind::Runtime => "Runtime",
            KubeKind::GardenerCluster => "GardenerCluster",
            KubeKind::Kyma => "Kyma",
            KubeKind::CredentialsBinding => "CredentialsBinding",
            KubeKind::Shoot => "Shoot",
            KubeKind::Secret => "Secret",
        }
    }

    pub(super) fn qualified_plural(self) -> String {
        qualified(self.plural(), self.group())
    }

    pub(super) fn qualified_kind(self) -> String {
        qualified(self.kind(), self.group())
    }

    /// Whether the status is written apart from the rest.
    pub(super) fn has_status(self) -> bool {
        !matches!(self, KubeKind::Secret | KubeKind::CredentialsBinding)
    }

    pub(super) fn has_generation(self) -> bool {
        self != KubeKind::Secret
    }
}

fn qualified(name: &str, group: &str) -> String {
    if group.is_empty() { name.to_owned() } else { format!("{name}.{group}") }
}
