//! Which service template stands for the flavours that a client asks for.

use opennebula::{NebulaCredentials, NebulaError, NebulaErrorKind as Kind, NebulaUser, ServiceTemplate};

use super::function::FunctionRole;
use super::json::{Json, Members};
use super::runtime_error::RuntimeError;
use super::settings::{Serverless, ServerlessSettings};
use super::spec::Spec;

const ONEADMIN: i32 = 0;

pub(crate) async fn choose(
    serverless: &Serverless,
    credentials: &NebulaCredentials,
    spec: &Spec,
) -> Result<ServiceTemplate, RuntimeError> {
    let nebula = &serverless.nebula;
    let templates = service_templates(serverless, credentials).await?;
    if templates.is_empty() {
        let error = "User requesting Serverless Runtime creation has no flow templates available for use";
        return Err(RuntimeError::new(403, error, ""));
    }
    let fitting = fitting(&serverless.settings, templates, spec)?;
    let chosen = match <[ServiceTemplate; 1]>::try_from(fitting) {
        Ok([only]) => only,
        Err(several) => {
            let user = nebula.user(credentials).await;
            let user = user.map_err(|error| RuntimeError::of("Failed to read the user", &error))?;
            nearest(several, &user, spec)?
        }
    };
    check_roles(&chosen, spec)?;
    Ok(chosen)
}

/// Those that the caller may use.
pub(super) async fn service_templates(
    serverless: &Serverless,
    credentials: &NebulaCredentials,
) -> Result<Vec<ServiceTemplate>, RuntimeError> {
    serverless.nebula.service_templates(credentials).await.map_err(|error| unlisted(&error))
}

/// Callers know what OneFlow says to a wrong password, and `oned` has other words.
fn unlisted(error: &NebulaError) -> RuntimeError {
    let runtime_error = RuntimeError::of("Failed to get list of service templates", error);
    if error.is(Kind::Authentication) {
        return RuntimeError { message: "Invalid credentials".into(), ..runtime_error };
    }
    runtime_error
}

/// By the mapping where there is one, else by name. Never empty.
fn fitting(
    settings: &ServerlessSettings,
    templates: Vec<ServiceTemplate>,
    spec: &Spec,
) -> Result<Vec<ServiceTemplate>, RuntimeError> {
    let tuple = spec.tuple();
    let mapped = settings.mapping.as_ref().map(|mapping| mapping.get(&tuple).copied());
    let found: Vec<ServiceTemplate> = match mapped {
        Some(Some(id)) => templates.into_iter().filter(|template| template.id == id).collect(),
        Some(None) if !settings.mapping_falls_back => Vec::new(),
        _ => templates.into_iter().filter(|template| template.name == tuple).collect(),
    };
    if found.is_empty() { Err(no_template(spec, asked(spec))) } else { Ok(found) }
}

/// The caller's own, then that of the caller's group, then oneadmin's: no other user can put a template in their place.
fn nearest(
    templates: Vec<ServiceTemplate>,
    user: &NebulaUser,
    spec: &Spec,
) -> Result<ServiceTemplate, RuntimeError> {
    let distance = |template: &ServiceTemplate| {
        if template.uid == user.id {
            0
        } else if template.gid == user.gid {
            if template.uid == ONEADMIN { 1 } else { 2 }
        } else if template.uid == ONEADMIN {
            3
        } else {
            4
        }
    };
    let best = templates.iter().map(distance).min().unwrap_or_default();
    let (near, far): (Vec<_>, Vec<_>) =
        templates.into_iter().partition(|template| distance(template) == best);
    match <[ServiceTemplate; 1]>::try_from(near) {
        Ok([only]) => Ok(only),
        Err(near) => {
            let ids: Vec<String> = near.iter().chain(&far).map(|template| template.id.to_string()).collect();
            let ids = ids.join(", ");
            let message = format!(
                "the service templates {ids} have this name and none is nearer to the caller: rename all but one"
            );
            Err(no_template(spec, message.into()))
        }
    }
}

/// The roles are those that the request names, no more and no less.
fn check_roles(template: &ServiceTemplate, spec: &Spec) -> Result<(), RuntimeError> {
    let mut has: Vec<&str> = template.roles.iter().map(|role| role.name.as_str()).collect();
    let mut needs: Vec<&str> = spec.functions().map(|(role, _)| role.as_str()).collect();
    has.sort_unstable();
    needs.sort_unstable();
    if has == needs {
        return Ok(());
    }
    let message = format!(
        "service template {} has the roles {}, and the request is for {}: ask for a flavour that fits",
        template.id,
        has.join(", "),
        needs.join(", ")
    );
    Err(no_template(spec, message.into()))
}

fn no_template(spec: &Spec, message: Json) -> RuntimeError {
    let error = "Cannot find a valid service template for the specified flavours";
    RuntimeError::new(422, format!("{error}: {}", spec.tuple()), message)
}

/// The functions as they were asked for.
fn asked(spec: &Spec) -> Json {
    let mut members = Members::default();
    for role in FunctionRole::ALL {
        if let Some(function) = spec.body.get(role.as_str()) {
            members.set(role.as_str(), function.clone());
        }
    }
    members.into()
}

#[cfg(test)]
mod tests {
    use opennebula::{Dialect, TemplateRole};

    use super::*;

    fn spec(runtime: &str) -> Spec {
        Spec::parse(format!(r#"{{"SERVERLESS_RUNTIME":{runtime}}}"#).as_bytes()).unwrap()
    }

    fn faas() -> Spec {
        spec(r#"{"FAAS":{"FLAVOUR":"F"}}"#)
    }

    fn template(id: i32, name: &str, (uid, gid): (i32, i32), roles: &[&str]) -> ServiceTemplate {
        let role = |name: &&str| TemplateRole {
            name: (*name).into(),
            vm_template: Some(0),
            dialect: Dialect::Six,
            cardinality: 1,
            parents: Vec::new(),
        };
        let (uname, gname, deployment) = (String::new(), String::new(), String::new());
        let roles = roles.iter().map(role).collect();
        ServiceTemplate { id, uid, gid, uname, gname, name: name.into(), deployment, roles }
    }

    fn named(settings: &ServerlessSettings, spec: &Spec) -> Result<Vec<i32>, RuntimeError> {
        let all = [(10, "F"), (11, "f"), (12, "F-D"), (13, "other")];
        let all = all.map(|(id, name)| template(id, name, (0, 0), &["FAAS"])).to_vec();
        fitting(settings, all, spec).map(|found| found.into_iter().map(|template| template.id).collect())
    }

    #[test]
    fn a_template_is_found_by_its_exact_name() {
        let settings = ServerlessSettings::default();
        assert_eq!(named(&settings, &faas()).unwrap(), [10]);
        let both = spec(r#"{"FAAS":{"FLAVOUR":"F"},"DAAS":{"FLAVOUR":"D"}}"#);
        assert_eq!(named(&settings, &both).unwrap(), [12]);
    }

    #[test]
    fn a_mapping_wins_and_what_it_lacks_is_refused_unless_names_count_too() {
        let mapping = Some([("F".to_owned(), 13)].into());
        let mut settings = ServerlessSettings { mapping, ..ServerlessSettings::default() };
        assert_eq!(named(&settings, &faas()).unwrap(), [13]);
        settings.mapping = Some([("G".to_owned(), 13)].into());
        assert_eq!(named(&settings, &faas()).unwrap_err().status, 422);
        settings.mapping_falls_back = true;
        assert_eq!(named(&settings, &faas()).unwrap(), [10]);
    }

    #[test]
    fn who_asks_for_what_is_not_there_hears_what_was_asked_for() {
        let asked = spec(r#"{"FAAS":{"FLAVOUR":"F","CPU":2},"DAAS":{"FLAVOUR":"Nope"}}"#);
        let runtime_error = named(&ServerlessSettings::default(), &asked).unwrap_err();
        assert_eq!(
            runtime_error.error,
            "Cannot find a valid service template for the specified flavours: F-Nope"
        );
        let message = r#"{"FAAS":{"FLAVOUR":"F","CPU":2},"DAAS":{"FLAVOUR":"Nope"}}"#;
        assert_eq!(runtime_error.message.to_string(), message);
    }

    #[test]
    fn no_one_can_put_a_template_in_front_of_another() {
        let me = NebulaUser { id: 5, name: "me".into(), gid: 1, gname: "users".into() };
        let chosen = |owners: &[(i32, i32)]| {
            let all = owners.iter().zip(20..).map(|(owner, id)| template(id, "F", *owner, &["FAAS"]));
            nearest(all.collect(), &me, &faas()).map(|template| template.id)
        };
        assert_eq!(chosen(&[(0, 0), (5, 9), (6, 1)]).unwrap(), 21, "mine");
        assert_eq!(chosen(&[(0, 0), (6, 1)]).unwrap(), 21, "that of my group");
        assert_eq!(chosen(&[(6, 1), (0, 1)]).unwrap(), 21, "oneadmin's in my group");
        assert_eq!(chosen(&[(6, 8), (0, 0)]).unwrap(), 21, "oneadmin's");
        let runtime_error = chosen(&[(6, 8), (7, 8)]).unwrap_err();
        assert_eq!(runtime_error.status, 422);
        assert!(runtime_error.message.to_string().contains("20, 21"), "{runtime_error:?}");
    }

    #[test]
    fn a_template_has_exactly_the_roles_that_are_asked_for() {
        let both = spec(r#"{"FAAS":{"FLAVOUR":"F"},"DAAS":{"FLAVOUR":"D"}}"#);
        let check = |roles: &[&str], spec: &Spec| check_roles(&template(1, "F", (0, 0), roles), spec);
        assert_eq!(check(&["FAAS"], &faas()), Ok(()));
        assert_eq!(check(&["DAAS", "FAAS"], &both), Ok(()));
        for (roles, spec) in [
            (&["FAAS", "DAAS"][..], &faas()),
            (&["FAAS"][..], &both),
            (&["extra", "FAAS"][..], &faas()),
            (&[][..], &faas()),
        ] {
            assert_eq!(check(roles, spec).unwrap_err().status, 422, "{roles:?}");
        }
    }
}
