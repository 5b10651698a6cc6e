//! The identity of a launch at the Image Builder: the caller's own header, handed on unchanged, or the service identity
//! that the operator configured for the caller's organisation.

use std::collections::BTreeMap;

use api::Code;
use engine::secret::{ExposeSecret, Sealed, SecretString};
use identity::{CallerIdentity, ServiceIdentity};

use super::api_error::LaunchApiError;
use super::params::{LaunchOwner, Params};
use super::settings::Launches;

/// The setting that holds them.
pub const SETTING: &str = "launch.service_identities";
/// In place of an organisation: all that have no entry of their own.
pub const ANY: &str = "*";

/// What organisations are at the Image Builder whose callers have no identity header.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServiceIdentities(BTreeMap<String, ServiceIdentity>);

impl ServiceIdentities {
    pub fn new(by_organisation: BTreeMap<String, ServiceIdentity>) -> ServiceIdentities {
        ServiceIdentities(by_organisation)
    }

    /// One that may build everything that the sandbox's Image Builder offers.
    pub fn of_sandbox(organisation: &str) -> ServiceIdentities {
        let identity = ServiceIdentity {
            account_number: Some("0000001".to_owned()),
            entitlements: vec!["rhel".to_owned()],
            ..ServiceIdentity::default()
        };
        ServiceIdentities([(organisation.to_owned(), identity)].into())
    }

    /// Those here, and for all other organisations those there.
    #[must_use]
    pub fn or(mut self, others: ServiceIdentities) -> ServiceIdentities {
        for (organisation, identity) in others.0 {
            self.0.entry(organisation).or_insert(identity);
        }
        self
    }

    fn get(&self, organisation: &str) -> Option<&ServiceIdentity> {
        self.0.get(organisation).or_else(|| self.0.get(ANY))
    }
}

/// A caller at the Image Builder.
#[derive(Debug, Clone)]
pub struct BuilderIdentity {
    pub identity: CallerIdentity,
    /// The caller's organisation there, where it has another name than here.
    pub org: Option<String>,
}

impl Launches {
    /// The caller's own identity, or the one of its organisation. Without either the caller has no right to build, and
    /// nothing of the Image Builder is its own.
    pub fn builder_identity(
        &self,
        who: &LaunchOwner,
        forwarded: Option<&CallerIdentity>,
    ) -> Result<BuilderIdentity, LaunchApiError> {
        if let Some(identity) = forwarded {
            return Ok(BuilderIdentity { identity: identity.clone(), org: None });
        }
        let service = self.identities.get(&who.org).ok_or_else(|| missing(&who.org))?;
        let org = Some(service.org_id(&who.org)).filter(|org| *org != who.org).map(str::to_owned);
        Ok(BuilderIdentity { identity: service.identity(&who.org), org })
    }

    /// The identity of a launch that was accepted. One from before identities were saved has the organisation alone.
    pub(crate) fn saved_identity<E>(
        &self,
        params: &Params,
        open: impl FnOnce(&Sealed) -> Result<SecretString, E>,
    ) -> Result<CallerIdentity, E> {
        let own = || CallerIdentity::from(&params.owner.organisation());
        let org = &params.owner.org;
        let Some(sealed) = &params.identity else {
            return Ok(self.identities.get(org).map_or_else(own, |service| service.identity(org)));
        };
        let value = open(sealed)?;
        let saved = CallerIdentity::forwarded(value.expose_secret());
        Ok(saved.map_or_else(|_| own(), |(identity, _)| identity))
    }
}

fn missing(organisation: &str) -> LaunchApiError {
    let message = format!(
        "organisation {organisation} has no identity at the Image Builder: {SETTING} has no entry for it"
    );
    LaunchApiError::new(Code::NoServiceIdentity, message).at("image_id").hint(format!(
        "ask the operator to add {SETTING}.{organisation} with the org id, the account number and the entitlements, \
         or launch an image of the cloud"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launches(identities: ServiceIdentities) -> Launches {
        Launches { identities, ..Launches::unconnected() }
    }

    fn who(org: &str) -> LaunchOwner {
        LaunchOwner { org: org.into(), account: None, user: "ada".into() }
    }

    fn org_of(identity: &CallerIdentity) -> String {
        identity::parse(identity.expose_secret()).unwrap().org.unwrap()
    }

    #[test]
    fn a_header_counts_more_than_the_setting_and_without_both_the_setting_is_named() {
        let own = CallerIdentity::from(&who("13").organisation());
        let configured = launches(ServiceIdentities::new(
            [("13".to_owned(), ServiceIdentity { org_id: Some("000013".into()), ..Default::default() })]
                .into(),
        ));
        let forwarded = configured.builder_identity(&who("13"), Some(&own)).unwrap();
        assert_eq!((forwarded.identity.expose_secret(), forwarded.org), (own.expose_secret(), None));
        let service = configured.builder_identity(&who("13"), None).unwrap();
        assert_eq!((org_of(&service.identity).as_str(), service.org.as_deref()), ("000013", Some("000013")));
        let refused = configured.builder_identity(&who("14"), None).unwrap_err();
        assert_eq!((refused.status.as_u16(), refused.code.as_ref()), (403, "no_service_identity"));
        assert!(refused.detail.contains("14") && refused.detail.contains(SETTING), "{}", refused.detail);
    }

    #[test]
    fn a_star_stands_for_all_others() {
        let star = ServiceIdentities::of_sandbox(ANY).or(ServiceIdentities::of_sandbox("13"));
        let any = launches(star).builder_identity(&who("77"), None).unwrap();
        assert_eq!((org_of(&any.identity).as_str(), any.org), ("77", None));
    }
}
