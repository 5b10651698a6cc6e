//! Which runtimes an orchestration upgrades.

use engine::{Phase, Resource};
use regex::{Regex, RegexBuilder};

use super::{RuntimeTarget, TARGETS_MAX, TargetSpec, UpgradeKind};
use crate::model::catalog::BackendKind;
use crate::model::instance::{InstanceRecord, Status};

/// A pattern may take this much memory, and no more.
const PATTERN_BYTES_MAX: usize = 256 * 1024;
const TEXT_CHARS_MAX: usize = 256;

/// Targets that are checked, with their patterns ready.
#[derive(Debug)]
pub struct Selection {
    include: Vec<TargetLine>,
    exclude: Vec<TargetLine>,
}

#[derive(Debug)]
struct TargetLine {
    account: Option<Regex>,
    subaccount: Option<Regex>,
    region: Option<Regex>,
    target: RuntimeTarget,
}

impl Selection {
    /// The error names the member that is wrong and what to do.
    pub fn new(spec: &TargetSpec) -> Result<Selection, (String, String)> {
        if spec.include.is_empty() {
            let rule = "name at least one target; {\"target\": \"all\"} means every runtime";
            return Err(("targets.include".to_owned(), rule.to_owned()));
        }
        if spec.include.len() + spec.exclude.len() > TARGETS_MAX {
            return Err(("targets".to_owned(), format!("there are more than {TARGETS_MAX} targets")));
        }
        let lines = |name: &str, targets: &[RuntimeTarget]| -> Result<Vec<TargetLine>, (String, String)> {
            let line = |(n, target): (usize, &RuntimeTarget)| {
                TargetLine::new(&format!("targets.{name}[{n}]"), target)
            };
            targets.iter().enumerate().map(line).collect()
        };
        Ok(Selection { include: lines("include", &spec.include)?, exclude: lines("exclude", &spec.exclude)? })
    }

    /// Whether one line of `include` fits and none of `exclude`.
    pub fn fits(&self, instance: &InstanceRecord) -> bool {
        self.include.iter().any(|line| line.fits(instance))
            && !self.exclude.iter().any(|line| line.fits(instance))
    }
}

impl TargetLine {
    fn new(place: &str, target: &RuntimeTarget) -> Result<TargetLine, (String, String)> {
        let wrong = |member: &str, rule: String| (format!("{place}.{member}"), rule);
        if target == &RuntimeTarget::default() {
            let rule = "it names nothing; {\"target\": \"all\"} means every runtime";
            return Err((place.to_owned(), rule.to_owned()));
        }
        if !["", "all"].contains(&target.target.as_str()) {
            return Err(wrong("target", format!("{:?} is not \"all\"", target.target)));
        }
        if !target.label.is_empty() && target.label.split_once('=').is_none_or(|(key, _)| key.is_empty()) {
            return Err(wrong("label", "write it as key=value".to_owned()));
        }
        let texts = [
            ("runtimeID", &target.runtime_id),
            ("planName", &target.plan_name),
            ("shoot", &target.shoot),
            ("instanceID", &target.instance_id),
            ("label", &target.label),
        ];
        for (member, text) in texts {
            if text.chars().count() > TEXT_CHARS_MAX || text.chars().any(char::is_control) {
                let rule = format!("at most {TEXT_CHARS_MAX} characters, and no control characters");
                return Err(wrong(member, rule));
            }
        }
        let pattern = |member: &str, text: &str| -> Result<Option<Regex>, (String, String)> {
            if text.is_empty() {
                return Ok(None);
            }
            if text.chars().count() > TEXT_CHARS_MAX {
                return Err(wrong(member, format!("it has more than {TEXT_CHARS_MAX} characters")));
            }
            let built = RegexBuilder::new(text).size_limit(PATTERN_BYTES_MAX).build();
            built.map(Some).map_err(|_| wrong(member, "it is not a regular expression".to_owned()))
        };
        Ok(TargetLine {
            account: pattern("globalAccount", &target.global_account)?,
            subaccount: pattern("subAccount", &target.sub_account)?,
            region: pattern("region", &target.region)?,
            target: target.clone(),
        })
    }

    fn fits(&self, instance: &InstanceRecord) -> bool {
        let matches = |pattern: &Option<Regex>, text: &str| {
            pattern.as_ref().is_none_or(|pattern| pattern.is_match(text))
        };
        let is = |wanted: &str, text: &str| wanted.is_empty() || wanted == text;
        let target = &self.target;
        matches(&self.account, &instance.account)
            && matches(&self.subaccount, &instance.subaccount)
            && matches(&self.region, &instance.region)
            && is(&target.runtime_id, instance.runtime_id.as_deref().unwrap_or_default())
            && is(&target.plan_name, &instance.plan)
            && is(&target.shoot, &instance.shoot)
            && is(&target.instance_id, &instance.instance_id)
            && self.has_label(instance)
    }

    fn has_label(&self, instance: &InstanceRecord) -> bool {
        let Some((key, value)) = self.target.label.split_once('=') else { return true };
        instance.labels().iter().any(|(name, text)| *name == key && text == value)
    }
}

/// Why the back end of an instance has no such upgrade, if it has none.
pub fn without_place(kind: UpgradeKind, instance: &InstanceRecord) -> Option<&'static str> {
    let is_manager = instance.backend == Some(BackendKind::InfrastructureManager);
    (kind == UpgradeKind::Kyma && is_manager)
        .then_some("Infrastructure Manager has no upgrade of Kyma: each module follows its channel")
}

/// What becomes of a runtime whose turn it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    Ready,
    /// An operation works on it, and it is looked at again later.
    Busy(&'static str),
    /// There is nothing to upgrade, and why.
    Never(&'static str),
}

/// Whether a runtime can be upgraded now.
pub fn readiness(instance: &InstanceRecord, workflow: Option<&str>, phase: Option<Phase>) -> Readiness {
    let at_work = phase.is_some_and(|phase| !phase.is_final());
    match instance.status(workflow, phase) {
        Status::Gone => Readiness::Never("it does not exist any longer"),
        Status::Deprovisioning | Status::DeprovisionFailed => Readiness::Never("it is being deprovisioned"),
        Status::Suspending | Status::Suspended | Status::SuspendFailed => Readiness::Never("it is suspended"),
        Status::ProvisionFailed | Status::ResumeFailed => Readiness::Never("it could not be provisioned"),
        Status::Provisioning | Status::Resuming => Readiness::Busy("it is being provisioned"),
        Status::Updating => Readiness::Busy("another operation changes it"),
        Status::Ready | Status::UpdateFailed if at_work => Readiness::Busy("another operation works on it"),
        Status::Ready | Status::UpdateFailed if instance.runtime_id.is_none() => {
            Readiness::Never("it has no runtime")
        }
        Status::Ready | Status::UpdateFailed => Readiness::Ready,
    }
}

#[cfg(test)]
mod tests {
    use engine::secret::{KeyRing, Sealer, SecretString, SharedRing};

    use super::*;
    use crate::model::{DEPROVISION, PROVISION, UPDATE, UPGRADE};

    fn instance() -> InstanceRecord {
        let sealer = Sealer::new(&SharedRing::new(KeyRing::generate()), "test".to_owned());
        let sealed = || sealer.seal(&SecretString::from("{}"));
        InstanceRecord {
            plan: "azure".into(),
            region: "westeurope".into(),
            account: "CA50125541".into(),
            subaccount: "sub-1".into(),
            runtime_id: Some("rt-1".into()),
            cloud_account: Some("shared-azure".into()),
            shoot: "c-1".into(),
            ..InstanceRecord::new("i-1", "service", "plan", sealed(), sealed())
        }
    }

    fn target(json: serde_json::Value) -> RuntimeTarget {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn every_member_of_a_line_must_fit() {
        use serde_json::json;
        let table = [
            (json!({"target": "all"}), true),
            (json!({"globalAccount": "CA.*"}), true),
            (json!({"globalAccount": "^A"}), false),
            (json!({"subAccount": "sub-[12]$"}), true),
            (json!({"region": "europe|eu-"}), true),
            (json!({"region": "^us"}), false),
            (json!({"runtimeID": "rt-1"}), true),
            (json!({"runtimeID": "rt-.*"}), false),
            (json!({"planName": "azure"}), true),
            (json!({"planName": "azur"}), false),
            (json!({"shoot": "c-1", "instanceID": "i-1"}), true),
            (json!({"shoot": "c-1", "instanceID": "i-2"}), false),
            (json!({"label": "cloud_account=shared-azure"}), true),
            (json!({"label": "cloud_account=other"}), false),
            (json!({"target": "all", "planName": "aws"}), false),
        ];
        for (line, expected) in table {
            let spec = TargetSpec { include: vec![target(line.clone())], exclude: Vec::new() };
            assert_eq!(Selection::new(&spec).unwrap().fits(&instance()), expected, "{line}");
            let all = vec![target(json!({"target": "all"}))];
            let spec = TargetSpec { include: all, exclude: vec![target(line.clone())] };
            assert_eq!(Selection::new(&spec).unwrap().fits(&instance()), !expected, "exclude {line}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        use serde_json::json;
        let none = Selection::new(&TargetSpec::default()).unwrap_err();
        assert_eq!(none.0, "targets.include");
        let table = [
            (json!({}), "targets.include[0]"),
            (json!({"target": "some"}), "targets.include[0].target"),
            (json!({"region": "("}), "targets.include[0].region"),
            (json!({"region": "a".repeat(257)}), "targets.include[0].region"),
            (json!({"globalAccount": "((a{99}){99}){99}"}), "targets.include[0].globalAccount"),
            (json!({"label": "x"}), "targets.include[0].label"),
            (json!({"planName": "a\nb"}), "targets.include[0].planName"),
        ];
        for (line, place) in table {
            let spec = TargetSpec { include: vec![target(line.clone())], exclude: Vec::new() };
            assert_eq!(Selection::new(&spec).unwrap_err().0, place, "{line}");
        }
        let all = vec![target(json!({"target": "all"})); TARGETS_MAX];
        let exclude = vec![target(json!({"target": "all"}))];
        assert!(Selection::new(&TargetSpec { include: all, exclude }).is_err());
    }

    #[test]
    fn only_the_provisioner_upgrades_kyma() {
        use BackendKind::{InfrastructureManager, Provisioner};
        let table = [
            (UpgradeKind::Cluster, None, true),
            (UpgradeKind::Cluster, Some(InfrastructureManager), true),
            (UpgradeKind::Kyma, None, true),
            (UpgradeKind::Kyma, Some(Provisioner), true),
            (UpgradeKind::Kyma, Some(InfrastructureManager), false),
        ];
        for (kind, backend, has_place) in table {
            let instance = InstanceRecord { backend, ..instance() };
            assert_eq!(without_place(kind, &instance).is_none(), has_place, "{kind:?} {backend:?}");
        }
    }

    #[test]
    fn what_goes_is_never_upgraded_and_what_is_busy_waits() {
        use Phase::{Failed, Running, Succeeded, Waiting};
        let busy = |text| Readiness::Busy(text);
        let table = [
            (None, None, Readiness::Ready),
            (Some(PROVISION), Some(Succeeded), Readiness::Ready),
            (Some(PROVISION), Some(Waiting), busy("it is being provisioned")),
            (Some(PROVISION), Some(Failed), Readiness::Never("it could not be provisioned")),
            (Some(UPDATE), Some(Running), busy("another operation changes it")),
            (Some(UPDATE), Some(Failed), Readiness::Ready),
            (Some(UPGRADE), Some(Running), busy("another operation changes it")),
            (Some(UPGRADE), Some(Failed), Readiness::Ready),
            (Some("other"), Some(Running), busy("another operation works on it")),
            (Some(DEPROVISION), Some(Running), Readiness::Never("it is being deprovisioned")),
            (Some(DEPROVISION), Some(Failed), Readiness::Never("it is being deprovisioned")),
        ];
        for (workflow, phase, expected) in table {
            // A change of what never was ready is one that waited for its provisioning.
            let ready = matches!(workflow, Some(UPDATE | UPGRADE));
            let instance = InstanceRecord { ready, ..instance() };
            assert_eq!(readiness(&instance, workflow, phase), expected, "{workflow:?} {phase:?}");
        }
        let suspended = InstanceRecord { suspended: true, ..instance() };
        assert!(matches!(readiness(&suspended, Some(DEPROVISION), Some(Running)), Readiness::Never(_)));
        let bare = InstanceRecord { runtime_id: None, ..instance() };
        assert_eq!(readiness(&bare, None, None), Readiness::Never("it has no runtime"));
    }
}
