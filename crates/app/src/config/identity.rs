//! The settings of external identities: an `OpenID` issuer, and proxies in front of the server.

use ::config::Preset::{Is, Nothing};
use ::config::{HttpUrl, Section, SectionReader, Setting, ValueKind, set};
use engine::{Grant, Role};
use server::Networks;
use std::path::PathBuf;

#[derive(Debug, Clone)]
pub struct IdentitySettings {
    pub oidc: Oidc,
    /// The claim of a token that names the organisation.
    pub organisation_claim: String,
    pub trusted_proxies: Networks,
}

#[derive(Debug, Clone)]
pub struct Oidc {
    pub issuer: Option<HttpUrl>,
    pub audience: Option<String>,
    pub scope: String,
    /// As whom people are sent there to sign in.
    pub client_id: Option<String>,
    pub client_secret_file: Option<PathBuf>,
    /// With spaces between them.
    pub scopes: String,
    /// Each with the role that it brings.
    pub groups: Vec<(String, Role)>,
    /// Groups with what they may do with some workflows.
    pub grants: Vec<(String, Grant)>,
}

#[rustfmt::skip]
pub const ORGANISATION_CLAIM: Setting =
    set("launch.organisation_claim", Is("org_id"), ValueKind::Text,
        "The claim of an OIDC token that names the organisation.");

#[rustfmt::skip]
pub const TRUSTED_PROXIES: Setting =
    set("launch.trusted_proxies", Nothing, ValueKind::Text,
        "Addresses and networks, with commas between them, whose `X-Rh-Identity` is believed, and whose \
         `X-Forwarded-For` names the address of a browser that signs in. Headers of other peers are ignored.");

impl Section for IdentitySettings {
    #[rustfmt::skip]
    const SETTINGS: &'static [Setting] = &[
        set("osb.oidc.issuer", Nothing, ValueKind::Url,
            "The issuer whose bearer tokens are accepted besides API tokens."),
        set("osb.oidc.audience", Nothing, ValueKind::Text,
            "The audience that those tokens must name."),
        set("osb.oidc.scope", Is("broker:write"), ValueKind::Text,
            "The scope that those tokens must have for the broker."),
        set("osb.oidc.client_id", Nothing, ValueKind::Text,
            "The client as which people are sent to that issuer to sign in. With the sandbox and without an issuer they \
             sign in there."),
        set("osb.oidc.client_secret_file", Nothing, ValueKind::Path,
            "The file with the client's secret. Without it: a public client, which the issuer has to allow."),
        set("osb.oidc.scopes", Is("openid profile email groups"), ValueKind::Text,
            "The scopes that people are asked for, with spaces between them; `openid` must be among them."),
        set("osb.oidc.admin_groups", Is("admin"), ValueKind::Text,
            "The groups, with commas between them, whose members have the role admin. Groups are in the claim `groups`."),
        set("osb.oidc.operator_groups", Is("operator"), ValueKind::Text,
            "The groups whose members have the role operator."),
        set("osb.oidc.reader_groups", Is("viewer"), ValueKind::Text,
            "The groups whose members have the role reader."),
        set("osb.oidc.launcher_groups", Is("launcher"), ValueKind::Text,
            "The groups whose members have the role launcher."),
        set("osb.oidc.grants", Nothing, ValueKind::Text,
            "What members of a group may do with some workflows, with commas between them: `red=submit:red.*, \
             red=read:red.*`. A member without a role has the role limited."),
        ORGANISATION_CLAIM,
        TRUSTED_PROXIES,
    ];

    fn read(settings: &mut SectionReader<'_>) -> IdentitySettings {
        IdentitySettings {
            oidc: oidc(settings),
            organisation_claim: settings.get("launch.organisation_claim"),
            trusted_proxies: trusted_proxies(settings),
        }
    }
}

/// A server that skipped a network it cannot read would take its proxy for the client.
fn trusted_proxies(settings: &mut SectionReader<'_>) -> Networks {
    let path = "launch.trusted_proxies";
    let items = settings.items(path);
    Networks::parse(items.iter().map(String::as_str)).unwrap_or_else(|why| {
        settings.refuse(path, why);
        Networks::default()
    })
}

fn groups(settings: &mut SectionReader<'_>) -> Vec<(String, Role)> {
    let roles = [
        ("osb.oidc.admin_groups", Role::Admin),
        ("osb.oidc.operator_groups", Role::Operator),
        ("osb.oidc.reader_groups", Role::Reader),
        ("osb.oidc.launcher_groups", Role::Launcher),
    ];
    let read = |(path, role)| settings.items(path).into_iter().map(move |group| (group, role));
    roles.into_iter().flat_map(read).collect()
}

fn grants(settings: &mut SectionReader<'_>) -> Vec<(String, Grant)> {
    let path = "osb.oidc.grants";
    let mut grants = Vec::new();
    for item in settings.items(path) {
        let read = match item.split_once('=') {
            Some((group, grant)) if !group.trim().is_empty() => {
                grant.trim().parse().map(|grant| (group.trim().to_owned(), grant))
            }
            _ => Err(format!("{item:?} is no group with its grant; write it as red=submit:red.*")),
        };
        match read {
            Ok(grant) => grants.push(grant),
            Err(why) => settings.refuse(path, why),
        }
    }
    grants
}

fn oidc(settings: &mut SectionReader<'_>) -> Oidc {
    let oidc = Oidc {
        issuer: settings.get("osb.oidc.issuer"),
        audience: settings.get("osb.oidc.audience"),
        scope: settings.get("osb.oidc.scope"),
        client_id: settings.get("osb.oidc.client_id"),
        client_secret_file: settings.get("osb.oidc.client_secret_file"),
        scopes: settings.get("osb.oidc.scopes"),
        groups: groups(settings),
        grants: grants(settings),
    };
    let mut refuse = |path: &str, message: &str| settings.refuse(path, message.to_owned());
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
