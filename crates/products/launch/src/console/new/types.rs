//! Instance types that fit, while a user looks for one.

use crate::api::wire::{InstanceType, InstanceTypes};
use askama::Template;
use askama::filters::HtmlSafe;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;

use super::super::LAUNCH;
use super::check;
use super::draft::Draft;
use super::field::{FieldNote, sentence};
use super::go::current;
use console::{ApiClient, ConsoleState, Fields, SignedIn, html, path};

const SHOWN: usize = 8;

#[derive(Default, Template)]
#[template(path = "new/types.html")]
pub(crate) struct Types {
    rows: Vec<TypeRow>,
    more: usize,
    /// Why there are none.
    problem: Option<String>,
    warnings: Vec<String>,
    said: FieldNote,
}

struct TypeRow {
    name: String,
    about: String,
    is_supported: bool,
    is_chosen: bool,
}

impl HtmlSafe for Types {}

/// `POST /console/launch/types`
pub(super) async fn types(State(_): State<ConsoleState>, signed_in: SignedIn, fields: Fields) -> Response {
    match current(&signed_in, &fields).await {
        Ok(draft) => {
            html(StatusCode::OK, &Types::find(&signed_in.api, &draft, fields.text("type_search")).await)
        }
        Err(page_error) => page_error.page(&signed_in),
    }
}

impl Types {
    pub(crate) async fn find(api: &ApiClient, draft: &Draft, search: &str) -> Types {
        match Types::ask(api, draft, search).await {
            Ok(all) => Types::of(all, draft, Types::known(api, draft).await.as_ref()),
            Err(problem) => Types { problem: Some(problem), ..Types::default() },
        }
    }

    pub(crate) async fn has(api: &ApiClient, draft: &Draft, name: &str) -> bool {
        Types::ask(api, draft, name).await.is_ok_and(|all| all.iter().any(|one| one.name == name))
    }

    /// The type that a new launch begins with: small, and made for the image.
    pub(crate) async fn first(api: &ApiClient, draft: &Draft) -> Option<&'static str> {
        let arch = plain(draft.get("architecture"));
        for name in draft.spec().form.first_types {
            let all = Types::ask(api, draft, name).await.unwrap_or_default();
            let fits =
                |one: &InstanceType| one.name == *name && (arch.is_empty() || one.architecture == arch);
            if all.iter().any(fits) {
                return Some(name);
            }
        }
        None
    }

    /// With what is wrong about the choice, until there is another one.
    pub(crate) fn with_field_errors(self, said: FieldNote) -> Types {
        Types { said, ..self }
    }

    async fn ask(api: &ApiClient, draft: &Draft, search: &str) -> Result<Vec<InstanceType>, String> {
        let region = draft.given("region").unwrap_or(draft.spec().home);
        let query = path::query([("region", region), ("search", search)]);
        let found: InstanceTypes = api
            .get(&format!("{LAUNCH}/instance_types/{}{query}", draft.provider()))
            .await
            .map_err(|page_error| sentence(&page_error.line()))?;
        Ok(found.data)
    }

    /// What is known about the type that is chosen, whether it is among those that are looked for or not.
    async fn known(api: &ApiClient, draft: &Draft) -> Option<InstanceType> {
        let name = draft.given("instance_type")?;
        let all = Types::ask(api, draft, name).await.ok()?;
        all.into_iter().find(|one| one.name == name)
    }

    /// What may go wrong with the type that is chosen.
    pub(crate) async fn warnings(api: &ApiClient, draft: &Draft) -> Vec<String> {
        let chosen = Types::known(api, draft).await;
        chosen.map(|one| warnings(&one, draft, draft.may_wait())).unwrap_or_default()
    }

    fn of(mut all: Vec<InstanceType>, draft: &Draft, chosen: Option<&InstanceType>) -> Types {
        let arch = plain(draft.get("architecture"));
        let is_known = draft.may_wait();
        all.retain(|one| !is_known || arch.is_empty() || plain(&one.architecture) == arch);
        all.retain(|one| chosen.is_none_or(|chosen| one.name != chosen.name));
        let families = draft.spec().form.families;
        all.sort_by(|a, b| order(families, a).cmp(&order(families, b)));
        let more = all.len().saturating_sub(SHOWN);
        let warnings = chosen.map(|one| warnings(one, draft, is_known)).unwrap_or_default();
        let chosen = chosen.into_iter().map(|one| TypeRow::new(one, true));
        let rows: Vec<TypeRow> =
            chosen.chain(all.iter().take(SHOWN).map(|one| TypeRow::new(one, false))).collect();
        let problem =
            rows.is_empty().then(|| "No instance type fits. Search for less, or another region.".to_owned());
        Types { rows, more, problem, warnings, said: FieldNote::default() }
    }
}

/// Those that will do first, then those that people know, then the smallest.
fn order<'a>(families: &[&str], one: &'a InstanceType) -> (bool, usize, u32, u64, &'a str) {
    let family = families.iter().position(|family| one.name.starts_with(family)).unwrap_or(families.len());
    (!one.supported, family, one.vcpus, one.memory_mib, &one.name)
}

fn warnings(one: &InstanceType, draft: &Draft, is_known: bool) -> Vec<String> {
    let small = (!one.supported).then(|| {
        format!("{} has less than images are known to need. It can be launched, and may not start.", one.name)
    });
    let arch = plain(draft.get("architecture"));
    let other = (is_known && !arch.is_empty() && arch != plain(&one.architecture))
        .then(|| format!("{} is {}, and the image is made for {arch}.", one.name, one.architecture));
    let many = draft.amount().and_then(|amount| check::too_many(one.vcpus, amount));
    [other, small, many].into_iter().flatten().collect()
}

/// The Image Builder and clouds have different words for one thing.
fn plain(architecture: &str) -> &str {
    if architecture == "aarch64" { "arm64" } else { architecture }
}

impl TypeRow {
    fn new(one: &InstanceType, is_chosen: bool) -> TypeRow {
        #[expect(clippy::cast_precision_loss, reason = "no instance has so much memory")]
        let memory = one.memory_mib as f64 / 1024.0;
        let about =
            format!("{} vCPU · {memory:.1} GiB · {}", one.vcpus, one.architecture).replace(".0 GiB", " GiB");
        TypeRow { name: one.name.clone(), about, is_supported: one.supported, is_chosen }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, vcpus: u32, architecture: &str, supported: bool) -> InstanceType {
        InstanceType {
            name: name.to_owned(),
            vcpus,
            cores: vcpus,
            memory_mib: 2048,
            storage_gb: 0,
            supported,
            architecture: architecture.to_owned(),
            azure: None,
        }
    }

    fn draft(pairs: &[(&'static str, &str)]) -> Draft {
        let mut draft = Draft::new();
        for (name, value) in pairs {
            draft.set(name, value);
        }
        draft
    }

    #[test]
    fn types_fit_the_architecture_and_the_smallest_that_will_do_come_first() {
        let all = vec![
            one("big", 8, "x86_64", true),
            one("tiny", 1, "x86_64", false),
            one("arm", 1, "arm64", true),
        ];
        let names = |draft: &Draft| -> Vec<String> {
            Types::of(all.clone(), draft, None).rows.into_iter().map(|row| row.name).collect()
        };
        assert_eq!(names(&draft(&[("image", "build")])), ["big", "tiny"]);
        assert_eq!(names(&draft(&[("image", "build"), ("architecture", "aarch64")])), ["arm"]);
        let known = vec![one("a1.small", 1, "x86_64", true), one("t3.large", 2, "x86_64", true)];
        let first = &Types::of(known, &draft(&[("image", "build")]), None).rows[0];
        assert_eq!(first.name, "t3.large", "people know it");
        assert_eq!(names(&draft(&[("image", "cloud")])).len(), 3, "it is unknown what the image is made for");
    }

    #[test]
    fn the_chosen_one_stays_in_sight_with_what_may_go_wrong() {
        let chosen = one("small", 16, "x86_64", false);
        let draft = draft(&[("image", "build"), ("amount", "3"), ("instance_type", "small")]);
        let types = Types::of(vec![one("big", 8, "x86_64", true)], &draft, Some(&chosen));
        assert!(types.rows[0].is_chosen && types.rows[0].name == "small");
        assert_eq!(types.warnings.len(), 2, "{:?}", types.warnings);
    }
}
