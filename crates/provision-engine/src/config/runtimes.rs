//! The settings of runtimes and of the service broker in front of them.

use std::path::PathBuf;

use drivers::provisioner::Dialect;
use engine::Role;

use super::{HttpUrl, Period, Reader};

#[derive(Debug, Clone)]
pub(crate) struct Runtime {
    pub(crate) catalog: Option<PathBuf>,
    pub(crate) components: Option<PathBuf>,
    pub(crate) accounts: Option<PathBuf>,
    pub(crate) target_secret: bool,
    pub(crate) overrides: Option<PathBuf>,
    pub(crate) override_objects: OverrideObjects,
    pub(crate) steps: Option<PathBuf>,
    pub(crate) kyma_version: String,
    pub(crate) kubernetes_version: String,
    pub(crate) poll: Period,
    pub(crate) settle: Period,
    pub(crate) unknown_outcome: String,
    pub(crate) hello_world: bool,
    pub(crate) cluster_role: String,
    pub(crate) expiry_check: Period,
    pub(crate) service_manager: Login,
    pub(crate) service_manager_always: bool,
    pub(crate) audit_log: Login,
}

#[derive(Debug, Clone)]
pub(crate) struct OverrideObjects {
    pub(crate) kubeconfig: Option<PathBuf>,
    pub(crate) namespace: String,
}

/// An address with a user; all of it is given, or nothing.
#[derive(Debug, Clone)]
pub(crate) struct Login {
    pub(crate) url: Option<HttpUrl>,
    pub(crate) username: Option<String>,
    pub(crate) password_file: Option<PathBuf>,
}

#[derive(Debug, Clone)]
pub(crate) struct Provisioner {
    pub(crate) url: Option<HttpUrl>,
    pub(crate) timeout: Period,
    /// `None` asks the Provisioner.
    pub(crate) dialect: Option<Dialect>,
}

#[derive(Debug, Clone)]
pub(crate) struct Director {
    pub(crate) url: Option<HttpUrl>,
    pub(crate) timeout: Period,
    pub(crate) token_url: Option<HttpUrl>,
    pub(crate) client_id: Option<String>,
    pub(crate) client_secret_file: Option<PathBuf>,
    pub(crate) scope: Option<String>,
}

#[derive(Debug, Clone)]
pub(crate) struct Osb {
    pub(crate) gone: bool,
    pub(crate) catalog_level: String,
    pub(crate) missing_version: u64,
    pub(crate) retry_after: Period,
    pub(crate) bind_wait: Period,
    pub(crate) oidc: Oidc,
    pub(crate) compat_keb: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Oidc {
    pub(crate) issuer: Option<HttpUrl>,
    pub(crate) audience: Option<String>,
    pub(crate) scope: String,
    /// As whom people are sent there to sign in.
    pub(crate) client_id: Option<String>,
    pub(crate) client_secret_file: Option<PathBuf>,
    /// With spaces between them.
    pub(crate) scopes: String,
    /// Each with the role that it brings.
    pub(crate) groups: Vec<(String, Role)>,
}

impl Reader<'_> {
    pub(super) fn runtime(&mut self) -> Runtime {
        Runtime {
            catalog: self.get("runtime.catalog"),
            components: self.get("runtime.components"),
            accounts: self.get("runtime.accounts"),
            target_secret: self.get("runtime.target_secret"),
            overrides: self.get("runtime.overrides"),
            override_objects: OverrideObjects {
                kubeconfig: self.get("runtime.override_objects.kubeconfig"),
                namespace: self.get("runtime.override_objects.namespace"),
            },
            steps: self.get("runtime.steps"),
            kyma_version: self.get("runtime.kyma_version"),
            kubernetes_version: self.get("runtime.kubernetes_version"),
            poll: self.get("runtime.poll"),
            settle: self.get("runtime.settle"),
            unknown_outcome: self.get("runtime.unknown_outcome"),
            hello_world: self.get("runtime.hello_world"),
            cluster_role: self.get("runtime.cluster_role"),
            expiry_check: self.get("runtime.expiry_check"),
            service_manager: self.login("runtime.service_manager"),
            service_manager_always: self.get("runtime.service_manager.always"),
            audit_log: self.login("runtime.audit_log"),
        }
    }

    fn login(&mut self, section: &str) -> Login {
        let login = Login {
            url: self.get(&format!("{section}.url")),
            username: self.get(&format!("{section}.username")),
            password_file: self.get(&format!("{section}.password_file")),
        };
        let given = [login.url.is_some(), login.username.is_some(), login.password_file.is_some()];
        if given.contains(&true) && given.contains(&false) {
            let path = format!("{section}.url");
            self.refuse_whole(
                &path,
                format!("{section} needs url, username and password_file, or none of them"),
            );
        }
        login
    }

    pub(super) fn provisioner(&mut self) -> Provisioner {
        Provisioner {
            url: self.get("drivers.provisioner.url"),
            timeout: self.get("drivers.provisioner.timeout"),
            dialect: self.get::<String>("drivers.provisioner.dialect").parse().ok(),
        }
    }

    pub(super) fn director(&mut self) -> Director {
        let director = Director {
            url: self.get("drivers.director.url"),
            timeout: self.get("drivers.director.timeout"),
            token_url: self.get("drivers.director.token_url"),
            client_id: self.get("drivers.director.client_id"),
            client_secret_file: self.get("drivers.director.client_secret_file"),
            scope: self.get("drivers.director.scope"),
        };
        let is_whole = director.client_id.is_some() && director.client_secret_file.is_some();
        if director.token_url.is_some() && !is_whole {
            let message = "token_url needs client_id and client_secret_file beside it".to_owned();
            self.refuse_whole("drivers.director.token_url", message);
        }
        director
    }

    pub(super) fn osb(&mut self) -> Osb {
        let missing_version: u64 = self.get("osb.missing_version");
        if ![400, 412].contains(&missing_version) {
            self.refuse_whole("osb.missing_version", format!("expected 400 or 412, got {missing_version}"));
        }
        Osb {
            gone: self.get("osb.gone"),
            catalog_level: self.get("osb.catalog_level"),
            missing_version,
            retry_after: self.get("osb.retry_after"),
            bind_wait: self.get("osb.bind_wait"),
            oidc: self.oidc(),
            compat_keb: self.get("compat.keb"),
        }
    }

    fn groups(&mut self) -> Vec<(String, Role)> {
        let settings = [
            ("osb.oidc.admin_groups", Role::Admin),
            ("osb.oidc.operator_groups", Role::Operator),
            ("osb.oidc.reader_groups", Role::Reader),
            ("osb.oidc.launcher_groups", Role::Launcher),
        ];
        let read = |(path, role)| self.items(path).into_iter().map(move |group| (group, role));
        settings.into_iter().flat_map(read).collect()
    }

    fn oidc(&mut self) -> Oidc {
        let oidc = Oidc {
            issuer: self.get("osb.oidc.issuer"),
            audience: self.get("osb.oidc.audience"),
            scope: self.get("osb.oidc.scope"),
            client_id: self.get("osb.oidc.client_id"),
            client_secret_file: self.get("osb.oidc.client_secret_file"),
            scopes: self.get("osb.oidc.scopes"),
            groups: self.groups(),
        };
        let mut refuse = |path: &str, message: &str| self.refuse_whole(path, message.to_owned());
        if oidc.issuer.is_some() && oidc.audience.is_none() && oidc.client_id.is_none() {
            refuse("osb.oidc.issuer", "issuer needs an audience or a client_id beside it");
        }
        if oidc.client_id.is_some() && oidc.issuer.is_none() {
            refuse("osb.oidc.client_id", "client_id needs an issuer beside it");
        }
        if oidc.client_secret_file.is_some() && oidc.client_id.is_none() {
            refuse("osb.oidc.client_secret_file", "client_secret_file needs a client_id beside it");
        }
        oidc
    }
}
