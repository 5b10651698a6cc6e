//! What a principal may do. A role is a set of capabilities; a grant is one of them for some workflows.

use std::fmt;
use std::str::FromStr;

use super::Role;

/// One thing that a principal may do. Routes, pages and products ask for a capability, never for a role.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Capability {
    /// Signs in to the console and changes its own password.
    SignIn,
    /// Reads operations, workflows, records and diagnostics.
    Read,
    /// Cancels, pauses, resumes, retries, signals and repairs.
    Operate,
    /// Submits workflows: all of them, or those of the scope of a grant.
    Submit,
    /// Manages users, tokens, sessions, keys and settings.
    Administer,
    /// Uses the service broker, as a platform does.
    UseBroker,
}

impl Capability {
    pub const ALL: [Capability; 6] = [
        Capability::SignIn,
        Capability::Read,
        Capability::Operate,
        Capability::Submit,
        Capability::Administer,
        Capability::UseBroker,
    ];

    pub const fn as_str(self) -> &'static str {
        match self {
            Capability::SignIn => "sign-in",
            Capability::Read => "read",
            Capability::Operate => "operate",
            Capability::Submit => "submit",
            Capability::Administer => "administer",
            Capability::UseBroker => "use-broker",
        }
    }

    /// Whether a grant of it may be for some workflows. The others are about no workflow.
    pub const fn is_of_workflows(self) -> bool {
        matches!(self, Capability::Read | Capability::Operate | Capability::Submit)
    }

    /// The least role that has it: what to ask an admin for.
    pub fn role(self) -> Role {
        let has = |role: &Role| role.can(self);
        Role::ALL.into_iter().find(has).expect("an admin has all capabilities, and a test says so")
    }
}

/// Which workflows a grant is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Scope {
    All,
    /// The one with this name.
    Workflow(String),
    /// Those whose names begin so.
    Prefix(String),
}

impl Scope {
    pub fn covers(&self, workflow: &str) -> bool {
        match self {
            Scope::All => true,
            Scope::Workflow(name) => name == workflow,
            Scope::Prefix(prefix) => workflow.starts_with(prefix.as_str()),
        }
    }

    /// Whether it covers every workflow that the other covers.
    pub fn includes(&self, other: &Scope) -> bool {
        match (self, other) {
            (Scope::All, _) => true,
            (_, Scope::Workflow(name)) => self.covers(name),
            (Scope::Prefix(own), Scope::Prefix(prefix)) => prefix.starts_with(own.as_str()),
            (_, Scope::All) | (Scope::Workflow(_), Scope::Prefix(_)) => false,
        }
    }
}

/// A capability beyond those of the role, for some workflows: `submit:orders.*`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Grant {
    pub capability: Capability,
    pub scope: Scope,
}

impl Grant {
    pub fn allows(&self, capability: Capability, workflow: &str) -> bool {
        self.capability == capability && self.scope.covers(workflow)
    }

    /// Whether who has this grant has the other as well.
    pub fn includes(&self, other: &Grant) -> bool {
        self.capability == other.capability && self.scope.includes(&other.scope)
    }
}

/// As it is saved, and as a setting has it: one after the other, with spaces between them.
pub fn grants_text(grants: &[Grant]) -> String {
    grants.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

/// Reads [`grants_text`] back, without those that are there twice.
pub fn parse_grants(text: &str) -> Result<Vec<Grant>, String> {
    let mut grants: Vec<Grant> = Vec::new();
    for grant in text.split_ascii_whitespace() {
        let grant = grant.parse()?;
        if !grants.contains(&grant) {
            grants.push(grant);
        }
    }
    Ok(grants)
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let capability = self.capability.as_str();
        match &self.scope {
            Scope::All => write!(f, "{capability}:*"),
            Scope::Workflow(name) => write!(f, "{capability}:{name}"),
            Scope::Prefix(prefix) => write!(f, "{capability}:{prefix}*"),
        }
    }
}

impl FromStr for Grant {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong =
            || format!("{text:?} is not a grant; write a capability and workflows, as submit:orders.*");
        let (capability, workflows) = text.split_once(':').ok_or_else(wrong)?;
        let is_name =
            |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
        let capability =
            Capability::ALL.into_iter().find(|one| one.as_str() == capability).ok_or_else(wrong)?;
        let scope = match workflows.strip_suffix('*') {
            Some("") => Scope::All,
            Some(prefix) if is_name(prefix) => Scope::Prefix(prefix.to_owned()),
            None if !workflows.is_empty() && is_name(workflows) => Scope::Workflow(workflows.to_owned()),
            _ => return Err(wrong()),
        };
        if scope != Scope::All && !capability.is_of_workflows() {
            let name = capability.as_str();
            return Err(format!("{text:?} is not a grant: {name} is about no workflow; write {name}:*"));
        }
        Ok(Grant { capability, scope })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_admin_has_all_capabilities_and_each_has_a_least_role() {
        let expected = [Role::Limited, Role::Reader, Role::Operator, Role::Admin, Role::Admin, Role::Broker];
        assert_eq!(Capability::ALL.map(Capability::role), expected);
        assert!(Capability::ALL.into_iter().all(|one| Role::Admin.can(one)));
    }

    #[test]
    fn a_grant_is_for_the_workflows_that_it_names() {
        for (text, workflow, expected) in [
            ("submit:*", "orders.create", true),
            ("submit:orders.create", "orders.create", true),
            ("submit:orders.create", "orders.create.more", false),
            ("submit:orders.*", "orders.create", true),
            ("submit:orders.*", "orders", false),
            ("operate:orders.*", "orders.create", false),
        ] {
            let grant: Grant = text.parse().unwrap();
            assert_eq!(grant.to_string(), text);
            assert_eq!(grant.allows(Capability::Submit, workflow), expected, "{text} {workflow}");
        }
        for bad in ["", "submit", "submit:", "fly:*", "submit:a*b", "submit:a b", "submit:**"] {
            assert!(bad.parse::<Grant>().unwrap_err().contains("submit:orders.*"), "{bad}");
        }
        let about_none = "administer:orders.*".parse::<Grant>().unwrap_err();
        assert!(about_none.contains("write administer:*"), "{about_none}");
    }

    #[test]
    fn a_grant_includes_what_is_narrower_and_nothing_else() {
        for (wide, narrow, expected) in [
            ("submit:*", "submit:orders.*", true),
            ("submit:*", "submit:*", true),
            ("submit:*", "operate:orders.*", false),
            ("submit:orders.*", "submit:*", false),
            ("submit:orders.*", "submit:orders.create", true),
            ("submit:orders.*", "submit:orders.eu.*", true),
            ("submit:orders.eu.*", "submit:orders.*", false),
            ("submit:orders.*", "submit:billing.create", false),
            ("submit:orders.create", "submit:orders.create", true),
            ("submit:orders.create", "submit:orders.create*", false),
        ] {
            let [wide_grant, narrow_grant] = [wide, narrow].map(|text| text.parse::<Grant>().unwrap());
            assert_eq!(wide_grant.includes(&narrow_grant), expected, "{wide} {narrow}");
        }
    }

    #[test]
    fn a_list_of_grants_reads_back_and_has_each_once() {
        let grants = parse_grants(" submit:orders.*  read:orders.* submit:orders.*").unwrap();
        assert_eq!(grants_text(&grants), "submit:orders.* read:orders.*");
        assert_eq!(parse_grants(&grants_text(&grants)), Ok(grants));
        assert!(parse_grants("submit:orders.* fly:*").is_err());
    }
}
