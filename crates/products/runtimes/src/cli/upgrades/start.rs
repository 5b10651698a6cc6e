//! `upgrades start`: begins an upgrade, or shows what it would do.

use anyhow::{Result, bail};
use clap::Args;
use reqwest::Method;
use serde::Serialize;

use super::wait::WaitArgs;
use crate::api::orchestrations::wire::{
    KubernetesVersions, KymaVersionSpec, ParallelSpec, SkippedTarget, StartedOrchestration, StrategySpec,
    UpgradePreview, UpgradeRequest,
};
use crate::model::orchestration::{RuntimeTarget, TargetSpec};
use app::cli::Global;
use app::client::PlatformClient;
use app::exit::Exit;
use app::hint;
use app::output::{self, Cell, Format, Render, Table, note};

const EXAMPLES: &str = "\
Examples:
  provision-engine upgrades start --include plan=azure --parallel 5 --dry-run
  provision-engine upgrades start --cluster 1.22.9 --include plan=azure --wait
  provision-engine upgrades start --include all --exclude region=^us --canary 5
  provision-engine upgrades start --kyma 2.0.0 --include account=CA.* --maintenance-window
  provision-engine upgrades start --include all --max-failures 3 --at 2026-12-01T22:00:00Z

A target is all, or pairs that must all fit, separated by commas: account, subaccount and
region (regular expressions), plan, runtime, instance, shoot, and label (label.KEY=VALUE).
--include and --exclude can be given more than once. Without a version the configured one
is taken.";

/// Upgrade the runtimes that match
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct StartArgs {
    /// Upgrade the clusters, to this version of Kubernetes; this is what is done without --kyma
    #[arg(long, value_name = "VERSION", num_args = 0..=1, default_missing_value = "", conflicts_with = "kyma")]
    cluster: Option<String>,
    /// Upgrade Kyma, to this version
    #[arg(long, value_name = "VERSION", num_args = 0..=1, default_missing_value = "")]
    kyma: Option<String>,
    /// The image of the nodes
    #[arg(long, value_name = "NAME", conflicts_with = "kyma")]
    machine_image: Option<String>,
    /// The version of that image
    #[arg(long, value_name = "VERSION", conflicts_with = "kyma")]
    machine_image_version: Option<String>,
    /// The runtimes to upgrade, such as plan=azure, or all
    #[arg(long, value_name = "TARGET", required = true)]
    include: Vec<String>,
    /// Runtimes to leave out
    #[arg(long, value_name = "TARGET")]
    exclude: Vec<String>,
    /// How many runtimes are upgraded at a time
    #[arg(long, value_name = "N", default_value_t = 1)]
    parallel: u32,
    /// Pause after so many, until it is resumed
    #[arg(long, value_name = "N")]
    canary: Option<u32>,
    /// Begin no further runtime after so many failures
    #[arg(long, value_name = "N")]
    max_failures: Option<u32>,
    /// Begin at this time
    #[arg(long, value_name = "TIME")]
    at: Option<String>,
    /// Upgrade each runtime in its maintenance window
    #[arg(long)]
    maintenance_window: bool,
    /// List the runtimes and what would be sent, and change nothing
    #[arg(long, conflicts_with = "wait")]
    dry_run: bool,
    #[command(flatten)]
    waiting: WaitArgs,
}

impl StartArgs {
    fn request(&self) -> Result<UpgradeRequest> {
        let targets = |given: &[String]| given.iter().map(|text| target(text)).collect::<Result<Vec<_>>>();
        let kubernetes = self.kyma.is_none().then(|| KubernetesVersions {
            kubernetes_version: self.cluster.clone().unwrap_or_default(),
            machine_image: self.machine_image.clone().unwrap_or_default(),
            machine_image_version: self.machine_image_version.clone().unwrap_or_default(),
        });
        let schedule = if self.maintenance_window { "maintenanceWindow" } else { "immediate" };
        Ok(UpgradeRequest {
            targets: TargetSpec { include: targets(&self.include)?, exclude: targets(&self.exclude)? },
            strategy: StrategySpec {
                schedule: schedule.to_owned(),
                schedule_time: self.at.clone(),
                parallel: ParallelSpec { workers: self.parallel },
                canary: self.canary,
                max_failures: self.max_failures,
                ..StrategySpec::default()
            },
            dry_run: self.dry_run,
            kubernetes,
            kyma: self.kyma.clone().map(|version| KymaVersionSpec { version }),
            kyma_version: None,
        })
    }
}

fn target(text: &str) -> Result<RuntimeTarget> {
    let mut target = RuntimeTarget::default();
    for pair in text.split(',') {
        if pair == "all" {
            "all".clone_into(&mut target.target);
            continue;
        }
        let Some((key, value)) = pair.split_once('=') else {
            bail!("{pair:?} is no target; write all, or a pair such as plan=azure");
        };
        let member = match key {
            "account" => &mut target.global_account,
            "subaccount" => &mut target.sub_account,
            "region" => &mut target.region,
            "runtime" => &mut target.runtime_id,
            "instance" => &mut target.instance_id,
            "plan" => &mut target.plan_name,
            "shoot" => &mut target.shoot,
            _ => match key.strip_prefix("label.") {
                Some(name) => {
                    target.label = format!("{name}={value}");
                    continue;
                }
                None => bail!(
                    "{key:?} is no member of a target; there are account, subaccount, region, plan, runtime, \
                     instance, shoot and label.KEY"
                ),
            },
        };
        value.clone_into(member);
    }
    Ok(target)
}

#[derive(Debug, Serialize)]
#[serde(transparent)]
struct PreviewTable(UpgradePreview);

impl Render for PreviewTable {
    fn table(&self, is_wide: bool) -> Table {
        let mut columns = vec!["INSTANCE", "PLAN", "REGION", "REQUEST"];
        columns.extend(if is_wide { vec!["RUNTIME", "ACCOUNT", "BEGINS"] } else { vec![] });
        let mut table = Table::new(columns);
        for one in &self.0.data {
            let mut cells = vec![
                Cell::new(&one.instance_id).cut(if is_wide { 64 } else { 36 }),
                Cell::new(&one.service_plan_name),
                Cell::new(&one.region),
                Cell::new(request(&one.request)),
            ];
            if is_wide {
                cells.push(Cell::new(&one.runtime_id));
                cells.push(Cell::new(&one.global_account_id));
                cells.push(Cell::new(one.begins_at.to_string()));
            }
            table.row(cells);
        }
        table
    }

    fn names(&self) -> Vec<String> {
        self.0.data.iter().map(|one| output::printable(&one.instance_id)).collect()
    }
}

/// `kubernetes 1.22.9`: the versions alone.
fn request(request: &serde_json::Value) -> String {
    let words = [
        ("kubernetes", "/clusterConfig/kubernetesVersion"),
        ("image", "/clusterConfig/machineImage"),
        ("image", "/clusterConfig/machineImageVersion"),
        ("kyma", "/kymaConfig/version"),
        ("kubernetes", "/spec/shoot/kubernetes/version"),
        ("image", "/worker/machine/image/name"),
        ("image", "/worker/machine/image/version"),
    ];
    let of = |(word, path): &(&str, &str)| {
        Some(format!("{word} {}", request.pointer(path).and_then(serde_json::Value::as_str)?))
    };
    words.iter().filter_map(of).collect::<Vec<_>>().join(", ")
}

pub(super) async fn run(global: &Global, args: &StartArgs, client: &PlatformClient) -> Result<Exit> {
    let asked = args.request()?;
    let path = ["upgrade", if args.kyma.is_some() { "kyma" } else { "cluster" }];
    let call = client.http.request(Method::POST, &path)?.json(&asked);
    if args.dry_run {
        let preview: UpgradePreview = call.read().await?;
        let (listed, total) = (preview.count, preview.total_count);
        let skipped = skipped(preview.skipped_count, preview.skipped.first());
        output::print(global.output, &PreviewTable(preview))?;
        let more = if listed < total { format!(", of which {listed} are listed") } else { String::new() };
        note(format!("{total} would be upgraded{more}{skipped}; nothing was changed"));
        return Ok(Exit::GOOD);
    }
    let key = uuid::Builder::from_random_bytes(rand::random()).into_uuid().to_string();
    let started: StartedOrchestration = call.header("Idempotency-Key", &key).read().await?;
    if started.skipped_count > 0 {
        note(format!("{} are skipped: their back end has no such upgrade", started.skipped_count));
    }
    let id = started.orchestration_id;
    let is_for_people = matches!(global.output, Format::Table | Format::Wide);
    if args.waiting.wait || !is_for_people {
        return args.waiting.show(global, id, client).await;
    }
    output::data(&id.to_string())?;
    note(format!("follow it: {}", hint::command(&format!("upgrades show {id} --wait"))));
    Ok(Exit::GOOD)
}

fn skipped(count: usize, first: Option<&SkippedTarget>) -> String {
    first.map_or_else(String::new, |first| format!(", {count} would be skipped ({})", first.reason))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_all_or_pairs() {
        assert_eq!(target("all").unwrap().target, "all");
        let both = target("plan=azure,region=^west").unwrap();
        assert_eq!((both.plan_name.as_str(), both.region.as_str()), ("azure", "^west"));
        assert_eq!(target("label.cloud_account=shared-azure").unwrap().label, "cloud_account=shared-azure");
        for bad in ["", "azure", "colour=red"] {
            assert!(target(bad).is_err(), "{bad}");
        }
    }
}
