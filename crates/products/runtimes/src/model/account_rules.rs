//! Rules that say which cloud accounts the clusters of a plan use, such as `gcp(PR=cf-sa30) -> PR,HR` or `trial -> S`.
//!
//! In front of the arrow: the plan, with a region of the platform (PR) and one of the cloud (HR). Behind it: shared accounts
//! (S), accounts with EU access (EU), and accounts of that very region of the platform (PR) or of the cloud (HR).

use super::catalog::{Catalog, CatalogPlan};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is one word behind the arrow, and any of them may be there"
)]
pub struct AccountRule {
    plan: String,
    platform_region: Option<String>,
    region: Option<String>,
    pub shared: bool,
    pub eu_access: bool,
    pub by_platform_region: bool,
    pub by_region: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccountRules(Vec<AccountRule>);

const RULES_MAX: usize = 1000;
const ANY: &str = "*";

impl AccountRules {
    /// Each plan has accounts of its own provider; plans that are free share theirs.
    pub fn built_in(catalog: &Catalog) -> AccountRules {
        let rule = |plan: &CatalogPlan| AccountRule {
            plan: plan.name.clone(),
            shared: plan.free,
            ..AccountRule::default()
        };
        AccountRules(catalog.plans.iter().map(rule).collect())
    }

    /// A list of rules in YAML.
    pub fn parse(text: &str) -> Result<AccountRules, String> {
        let lines: Vec<String> = serde_saphyr::from_str(text).map_err(|error| error.to_string())?;
        if lines.len() > RULES_MAX {
            return Err(format!("a list has at most {RULES_MAX} rules"));
        }
        let mut rules: Vec<AccountRule> = Vec::new();
        for line in &lines {
            let rule = AccountRule::parse(line).map_err(|error| format!("rule {line:?}: {error}"))?;
            if rules.iter().any(|other| other.matches_same(&rule)) {
                return Err(format!("rule {line:?}: another rule is for the same plan and regions"));
            }
            rules.push(rule);
        }
        Ok(AccountRules(rules))
    }

    /// The rule with the most regions that fit.
    pub(crate) fn best(
        &self,
        plan: &CatalogPlan,
        platform_region: &str,
        region: &str,
    ) -> Result<&AccountRule, String> {
        let fits = |wanted: &Option<String>, is: &str| {
            wanted.as_ref().is_none_or(|wanted| wanted == ANY || wanted == is)
        };
        let fitting = self.0.iter().filter(|rule| {
            rule.plan == plan.name
                && fits(&rule.platform_region, platform_region)
                && fits(&rule.region, region)
        });
        fitting.max_by_key(|rule| rule.exactness()).ok_or_else(|| {
            format!("no rule for cloud accounts fits plan {}; add one to the file of rules", plan.name)
        })
    }
}

impl AccountRule {
    fn parse(line: &str) -> Result<AccountRule, String> {
        let (matched, used) = match line.split_once("->") {
            Some((matched, used)) => (matched.trim(), used.trim()),
            None => (line.trim(), ""),
        };
        let (plan, regions) = match matched.split_once('(') {
            Some((plan, rest)) => (plan.trim(), rest.strip_suffix(')').ok_or("the bracket is not closed")?),
            None => (matched, ""),
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
        if plan.is_empty() || !plan.chars().all(is_name) {
            return Err("it must begin with the name of a plan".into());
        }
        let mut rule = AccountRule { plan: plan.to_owned(), ..AccountRule::default() };
        for part in regions.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let place = match part.split_once('=') {
                Some(("PR", value)) => (&mut rule.platform_region, value),
                Some(("HR", value)) => (&mut rule.region, value),
                _ => return Err(format!("{part:?} is neither PR=REGION nor HR=REGION")),
            };
            *place.0 = Some(place.1.trim().to_owned());
        }
        for part in used.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let switch = match part {
                "S" => &mut rule.shared,
                "EU" => &mut rule.eu_access,
                "PR" => &mut rule.by_platform_region,
                "HR" => &mut rule.by_region,
                _ => return Err(format!("{part:?} is none of S, EU, PR and HR")),
            };
            *switch = true;
        }
        Ok(rule)
    }

    /// A region that is named fits better than any region, which fits better than none that is asked about.
    fn exactness(&self) -> (usize, usize) {
        let given = [&self.platform_region, &self.region];
        let named = given.iter().filter(|one| one.as_ref().is_some_and(|region| region != ANY)).count();
        (named, given.iter().filter(|one| one.is_some()).count())
    }

    fn matches_same(&self, other: &AccountRule) -> bool {
        (&self.plan, &self.platform_region, &self.region)
            == (&other.plan, &other.platform_region, &other.region)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rule_with_the_most_regions_is_used() {
        let catalog = Catalog::built_in();
        let rules =
            AccountRules::parse("[gcp, \"gcp(PR=cf-sa30) -> PR,HR\", \"gcp(PR=*) -> EU\", trial -> S]")
                .unwrap();
        let gcp = catalog.plan_named("gcp").unwrap();
        let rule = rules.best(gcp, "cf-sa30", "europe-west3").unwrap();
        assert!(rule.by_platform_region && rule.by_region && !rule.eu_access);
        assert!(rules.best(gcp, "cf-eu10", "europe-west3").unwrap().eu_access);
        assert!(rules.best(catalog.plan_named("trial").unwrap(), "", "x").unwrap().shared);
        let missing = rules.best(catalog.plan_named("azure").unwrap(), "", "x").unwrap_err();
        assert!(missing.contains("plan azure"), "{missing}");
        assert!(AccountRules::built_in(&catalog).best(gcp, "", "x").is_ok());
    }

    #[test]
    fn a_rule_that_cannot_be_read_is_named() {
        for (text, part) in [
            ("[\"gcp(PR=x\"]", "bracket"),
            ("[\"-> S\"]", "name of a plan"),
            ("[\"gcp(X=1)\"]", "neither"),
            ("[\"gcp -> T\"]", "none of"),
            ("[gcp, gcp -> S]", "same plan"),
        ] {
            let error = AccountRules::parse(text).unwrap_err();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}
