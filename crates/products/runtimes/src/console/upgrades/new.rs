//! `GET /console/upgrades/new`: what to upgrade, to what, and how carefully.

use askama::Template;
use axum::http::StatusCode;
use axum::response::Response;

use crate::api::orchestrations::wire::{
    KubernetesVersions, KymaVersionSpec, ParallelSpec, StartedOrchestration, StrategySpec, UpgradePreview,
    UpgradeRequest,
};
use crate::model::orchestration::{RuntimeTarget, TargetSpec};
use console::{CsrfToken, Fields, Flash, PageError, Shell, SignedIn};

/// A page lists no more of a dry run.
const PREVIEW_MAX: usize = 20;

#[derive(Template)]
#[template(path = "upgrades/new.html")]
struct NewUpgrade {
    csrf: CsrfToken,
    typed: UpgradeFields,
    page_error: Option<String>,
    preview: Option<UpgradePreview>,
}

/// What was typed, as it was typed.
#[derive(Default)]
struct UpgradeFields {
    kind: String,
    version: String,
    plan: String,
    region: String,
    account: String,
    exclude_plan: String,
    exclude_region: String,
    parallel: String,
    canary: String,
    max_failures: String,
    schedule: String,
    at: String,
}

impl UpgradeFields {
    fn of(fields: &Fields) -> UpgradeFields {
        let text = |name: &str| fields.text(name).trim().to_owned();
        UpgradeFields {
            kind: text("kind"),
            version: text("version"),
            plan: text("plan"),
            region: text("region"),
            account: text("account"),
            exclude_plan: text("exclude_plan"),
            exclude_region: text("exclude_region"),
            parallel: text("parallel"),
            canary: text("canary"),
            max_failures: text("max_failures"),
            schedule: text("schedule"),
            at: text("at"),
        }
    }

    fn is_kyma(&self) -> bool {
        self.kind == "kyma"
    }

    fn request(&self, dry_run: bool) -> Result<UpgradeRequest, String> {
        let include = RuntimeTarget {
            target: "all".to_owned(),
            plan_name: self.plan.clone(),
            region: self.region.clone(),
            global_account: self.account.clone(),
            ..RuntimeTarget::default()
        };
        let exclude = RuntimeTarget {
            plan_name: self.exclude_plan.clone(),
            region: self.exclude_region.clone(),
            ..RuntimeTarget::default()
        };
        let has_exclude = exclude != RuntimeTarget::default();
        let version = self.version.clone();
        let kubernetes = (!self.is_kyma()).then(|| KubernetesVersions {
            kubernetes_version: version.clone(),
            ..KubernetesVersions::default()
        });
        Ok(UpgradeRequest {
            targets: TargetSpec {
                include: vec![include],
                exclude: has_exclude.then_some(exclude).into_iter().collect(),
            },
            strategy: StrategySpec {
                schedule: if self.schedule == "window" { "maintenanceWindow" } else { "immediate" }
                    .to_owned(),
                schedule_time: (!self.at.is_empty()).then(|| self.at.clone()),
                parallel: ParallelSpec { workers: number("At a time", &self.parallel)?.unwrap_or(1) },
                canary: number("Canary", &self.canary)?,
                max_failures: number("Stop after failures", &self.max_failures)?,
                ..StrategySpec::default()
            },
            dry_run,
            kubernetes,
            kyma: self.is_kyma().then_some(KymaVersionSpec { version }),
            kyma_version: None,
        })
    }
}

fn number(field: &str, text: &str) -> Result<Option<u32>, String> {
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| format!("{field}: {text:?} is not a whole number"))
}

impl NewUpgrade {
    fn new(signed_in: &SignedIn, typed: UpgradeFields) -> NewUpgrade {
        NewUpgrade { csrf: signed_in.csrf.clone(), typed, page_error: None, preview: None }
    }
}

fn shell(signed_in: &SignedIn) -> Shell {
    Shell::new(signed_in, &super::SECTION, "Upgrade runtimes")
}

pub(super) async fn form(signed_in: SignedIn) -> Response {
    let typed = UpgradeFields { parallel: "5".to_owned(), ..UpgradeFields::default() };
    shell(&signed_in).page(&NewUpgrade::new(&signed_in, typed))
}

pub(super) async fn create(signed_in: SignedIn, fields: Fields) -> Response {
    let typed = UpgradeFields::of(&fields);
    let is_dry = fields.text("action") != "start";
    match send(&signed_in, &typed, is_dry).await {
        Ok(Ok(FormResult::Started(id))) => {
            Flash::good("Upgrade started. You can leave this page; it continues in the background.")
                .while_running()
                .at(&super::page(&id))
        }
        Ok(Ok(FormResult::Preview(preview))) => {
            let page = NewUpgrade { preview: Some(preview), ..NewUpgrade::new(&signed_in, typed) };
            shell(&signed_in).page(&page)
        }
        Ok(Err(error)) => {
            let page = NewUpgrade { page_error: Some(error), ..NewUpgrade::new(&signed_in, typed) };
            shell(&signed_in).page_with(StatusCode::UNPROCESSABLE_ENTITY, &page)
        }
        Err(page_error) => page_error.page(&signed_in),
    }
}

enum FormResult {
    Started(String),
    Preview(UpgradePreview),
}

async fn send(
    signed_in: &SignedIn,
    typed: &UpgradeFields,
    is_dry: bool,
) -> Result<Result<FormResult, String>, PageError> {
    let request = match typed.request(is_dry) {
        Ok(request) => request,
        Err(error) => return Ok(Err(error)),
    };
    let path = if typed.is_kyma() { "/upgrade/kyma" } else { "/upgrade/cluster" };
    match signed_in.api.post(path, &request).await {
        Ok(answer) if is_dry => Ok(Ok(FormResult::Preview(answer.json()?))),
        Ok(answer) => {
            let started: StartedOrchestration = answer.json()?;
            Ok(Ok(FormResult::Started(started.orchestration_id.to_string())))
        }
        Err(page_error) if page_error.status == StatusCode::BAD_REQUEST => Ok(Err(page_error.detail)),
        Err(page_error) => Err(page_error),
    }
}
