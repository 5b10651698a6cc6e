//! A request for an upgrade, checked, and the other way round.

use api::Code;
use engine::Timestamp;
use server::http::Failure;

use super::wire::{KubernetesVersions, KymaVersionSpec, ParallelSpec, StrategySpec, UpgradeRequest};
use crate::model::orchestration::select::Selection;
use crate::model::orchestration::{Change, OrchestrationRecord, Strategy, UpgradeKind, WORKERS_MAX};
use crate::model::settings::RuntimesSettings;

const VERSION_CHARS_MAX: usize = 64;

/// What a request asks for.
pub(super) struct CheckedUpgrade {
    pub(super) selection: Selection,
    pub(super) change: Change,
    pub(super) strategy: Strategy,
}

pub(super) fn check(
    kind: UpgradeKind,
    asked: &UpgradeRequest,
    runtimes: &RuntimesSettings,
) -> Result<CheckedUpgrade, Failure> {
    let selection = Selection::new(&asked.targets).map_err(|(place, rule)| wrong(&place, &rule))?;
    Ok(CheckedUpgrade {
        selection,
        change: change(kind, asked, runtimes)?,
        strategy: strategy(&asked.strategy)?,
    })
}

fn wrong(field: &str, rule: &str) -> Failure {
    Failure::new(Code::InvalidBody, format!("{field}: {rule}")).with("field", field)
}

fn change(kind: UpgradeKind, asked: &UpgradeRequest, runtimes: &RuntimesSettings) -> Result<Change, Failure> {
    let kyma = asked.kyma.as_ref().map(|kyma| kyma.version.clone()).or_else(|| asked.kyma_version.clone());
    let change = match kind {
        UpgradeKind::Cluster => {
            if kyma.is_some() {
                return Err(wrong("kyma", "it belongs to /upgrade/kyma"));
            }
            let given = asked.kubernetes.clone().unwrap_or_default();
            let change = Change {
                kubernetes_version: some(&given.kubernetes_version),
                machine_image: some(&given.machine_image),
                machine_image_version: some(&given.machine_image_version),
                kyma_version: None,
            };
            let configured = Some(runtimes.kubernetes_version.clone());
            if change.changes_cluster() {
                change
            } else {
                Change { kubernetes_version: configured, ..change }
            }
        }
        UpgradeKind::Kyma => {
            if asked.kubernetes.is_some() {
                return Err(wrong("kubernetes", "it belongs to /upgrade/cluster"));
            }
            let version = kyma.filter(|version| !version.is_empty());
            let kyma_version = Some(version.unwrap_or_else(|| runtimes.kyma_version.clone()));
            Change { kyma_version, ..Change::default() }
        }
    };
    let texts = [
        ("kubernetes.kubernetesVersion", &change.kubernetes_version),
        ("kubernetes.machineImage", &change.machine_image),
        ("kubernetes.machineImageVersion", &change.machine_image_version),
        ("kyma.version", &change.kyma_version),
    ];
    for (field, text) in texts {
        let fits = |text: &String| {
            text.chars().count() <= VERSION_CHARS_MAX && text.chars().all(|c| c.is_ascii_graphic())
        };
        if !text.as_ref().is_none_or(fits) {
            let rule = format!("at most {VERSION_CHARS_MAX} visible ASCII characters");
            return Err(wrong(field, &rule));
        }
    }
    Ok(change)
}

fn some(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn strategy(asked: &StrategySpec) -> Result<Strategy, Failure> {
    if !["", "parallel"].contains(&asked.kind.as_str()) {
        return Err(wrong("strategy.type", "it is not \"parallel\""));
    }
    let workers = asked.parallel.workers.max(1);
    if workers > WORKERS_MAX {
        return Err(wrong("strategy.parallel.workers", &format!("at most {WORKERS_MAX}")));
    }
    for (field, number) in [("strategy.canary", asked.canary), ("strategy.maxFailures", asked.max_failures)] {
        if number == Some(0) {
            return Err(wrong(field, "at least 1; leave it out to have no limit"));
        }
    }
    let time = |field: &str, text: &str| {
        Timestamp::parse(text).ok_or_else(|| wrong(field, "expected a time such as 2026-01-31T12:00:00Z"))
    };
    let (in_window, at) = match asked.schedule.to_ascii_lowercase().as_str() {
        "" | "immediate" | "now" => (false, None),
        "maintenancewindow" => (true, None),
        _ => {
            let allowed = "expected immediate, maintenanceWindow, or a time such as 2026-01-31T12:00:00Z";
            let at = Timestamp::parse(&asked.schedule).ok_or_else(|| wrong("strategy.schedule", allowed))?;
            (false, Some(at))
        }
    };
    let named = asked.schedule_time.as_deref();
    let begins_at = named.map(|text| time("strategy.scheduleTime", text)).transpose()?.or(at);
    Ok(Strategy { workers, in_window, begins_at, canary: asked.canary, max_failures: asked.max_failures })
}

/// The request that an orchestration was begun with.
pub(super) fn shown(record: &OrchestrationRecord) -> UpgradeRequest {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let (change, strategy) = (&record.change, &record.strategy);
    let kubernetes = (record.kind == UpgradeKind::Cluster).then(|| KubernetesVersions {
        kubernetes_version: text(&change.kubernetes_version),
        machine_image: text(&change.machine_image),
        machine_image_version: text(&change.machine_image_version),
    });
    let schedule = if strategy.in_window { "maintenanceWindow" } else { "immediate" };
    UpgradeRequest {
        targets: record.targets.clone(),
        strategy: StrategySpec {
            schedule: schedule.to_owned(),
            schedule_time: strategy.begins_at.map(|at| at.to_string()),
            parallel: ParallelSpec { workers: strategy.workers },
            canary: strategy.canary,
            max_failures: strategy.max_failures,
            ..StrategySpec::default()
        },
        dry_run: false,
        kubernetes,
        kyma: change.kyma_version.clone().map(|version| KymaVersionSpec { version }),
        kyma_version: None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn checked(kind: UpgradeKind, mut body: Value) -> Result<CheckedUpgrade, String> {
        body["targets"] = json!({"include": [{"target": "all"}]});
        let asked: UpgradeRequest = serde_json::from_value(body).map_err(|error| error.to_string())?;
        check(kind, &asked, &RuntimesSettings::default()).map_err(|failure| format!("{failure:?}"))
    }

    #[test]
    fn what_is_left_out_is_what_is_configured() {
        let cluster = checked(UpgradeKind::Cluster, json!({})).unwrap();
        assert_eq!(cluster.change.kubernetes_version.as_deref(), Some("1.21.5"));
        assert_eq!(cluster.strategy.workers, 1);
        let kyma = checked(UpgradeKind::Kyma, json!({"kymaVersion": "2.0.0"})).unwrap();
        assert_eq!(kyma.change.kyma_version.as_deref(), Some("2.0.0"));
        let image = json!({"kubernetes": {"machineImage": "gardenlinux"}});
        let image = checked(UpgradeKind::Cluster, image).unwrap();
        assert_eq!(image.change.kubernetes_version, None, "an image alone leaves the version");
    }

    #[test]
    fn schedules_are_read_in_every_form() {
        let of = |schedule: &str| {
            let body = json!({"strategy": {"type": "parallel", "schedule": schedule}});
            checked(UpgradeKind::Cluster, body).map(|checked| {
                (checked.strategy.in_window, checked.strategy.begins_at.map(|at| at.to_string()))
            })
        };
        assert_eq!(of("immediate"), Ok((false, None)));
        assert_eq!(of("maintenanceWindow"), Ok((true, None)));
        assert_eq!(of("2026-11-18T02:00:00Z"), Ok((false, Some("2026-11-18T02:00:00Z".into()))));
        assert!(of("soon").is_err());
    }

    #[test]
    fn what_is_wrong_is_refused_by_its_field() {
        let table = [
            (json!({"strategy": {"type": "serial"}}), "strategy.type"),
            (json!({"strategy": {"parallel": {"workers": 101}}}), "workers"),
            (json!({"strategy": {"canary": 0}}), "strategy.canary"),
            (json!({"strategy": {"maxFailures": 0}}), "strategy.maxFailures"),
            (json!({"kyma": {"version": "2"}}), "kyma"),
            (json!({"kubernetes": {"kubernetesVersion": "1 2"}}), "kubernetesVersion"),
            (json!({"strategy": {"maxFailure": 1}}), "maxFailure"),
        ];
        for (body, field) in table {
            let error = checked(UpgradeKind::Cluster, body.clone()).err().unwrap_or_default();
            assert!(error.contains(field), "{body}: {error}");
        }
    }
}
