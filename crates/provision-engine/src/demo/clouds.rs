//! The same launch at Azure and at Google Cloud, where instances are made one by one, and one that finds no room late.

use anyhow::{Context, Result, ensure};
use reqwest::Method;
use serde_json::{Value, json};

use super::launch::INSTANCES_EACH;
use super::ledger::Ledger;
use super::play::{DemoPart, Ending, Play};
use super::stage::aside;

/// One launch in a cloud that is not AWS.
struct CloudOrder {
    name: &'static str,
    provider: &'static str,
    image: &'static str,
    instance_type: &'static str,
    ending: Ending,
}

/// What the sandbox has in the account of its own source.
const IMAGE_OF_AZURE: &str = "/subscriptions/4b9d213f-712f-4d17-a483-8a10bbe9df3a/resourceGroups/images/\
    providers/Microsoft.Compute/images/rhel-9";
const IMAGE_OF_GOOGLE: &str = "projects/rhel-cloud/global/images/rhel-9-v20260101";
/// The size of which Azure has one instance left.
const RARE_SIZE: &str = "Standard_D2s_v5";
/// Its private half was never saved.
const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIEgh3v7b1kN8nqHvB7gYz1cPZ0l2vTqf7xkJm9rUeXwC";

const LATE: CloudOrder = CloudOrder {
    name: "Phaethon",
    provider: "azure",
    image: IMAGE_OF_AZURE,
    instance_type: RARE_SIZE,
    ending: Ending::Undone,
};
const ORDERS: [CloudOrder; 3] = [
    CloudOrder {
        name: "Aeolus",
        provider: "azure",
        image: IMAGE_OF_AZURE,
        instance_type: "Standard_B2s",
        ending: Ending::Succeeded,
    },
    CloudOrder {
        name: "Iris",
        provider: "gcp",
        image: IMAGE_OF_GOOGLE,
        instance_type: "e2-medium",
        ending: Ending::Succeeded,
    },
    LATE,
];

/// Where the launch of this name goes.
pub(super) fn cloud_of(name: &str) -> &'static str {
    ORDERS.iter().find(|order| order.name == name).map_or("aws", |order| order.provider)
}

impl CloudOrder {
    fn body(&self) -> Value {
        json!({
            "provider": self.provider, "image": {"id": self.image},
            "parameters": {
                "source_id": format!("sandbox-{}", self.provider), "instance_type": self.instance_type,
                "amount": INSTANCES_EACH, "name": self.name.to_lowercase(),
                "pubkey": {"name": self.name, "body": KEY},
            },
        })
    }
}

impl Play<'_> {
    /// Asks for a launch while other acts go on: Azure accepts both instances, says a moment later that it has no room for
    /// the second, and is asked again for a second.
    pub(super) async fn launch_without_room(&self) -> Result<(String, DemoPart)> {
        let delays = json!({"running_ms": 150, "network_ms": 10, "terminate_ms": 50, "reserve_ms": 100});
        self.script(Method::PUT, "azure/delay_times", &delays).await?;
        let room = json!({"size": RARE_SIZE, "instances": 1, "at": "operation"});
        self.script(Method::PUT, "azure/capacity", &room).await?;
        self.submit_launch(LATE.name, &LATE.body(), LATE.ending).await
    }

    /// Two more launches at once, and the end of the one that found no room.
    pub(super) async fn other_clouds(&mut self, late: (String, DemoPart)) -> Result<()> {
        self.stage.title("launches at Azure and Google, and an earlier one that found no room late");
        let (mut ids, mut parts) = (Vec::new(), Vec::new());
        for order in ORDERS.iter().filter(|order| order.name != LATE.name) {
            let (id, part) = self.submit_launch(order.name, &order.body(), order.ending).await?;
            ids.push(id);
            parts.push(part);
        }
        ids.push(late.0);
        parts.push(late.1);
        self.play_out(parts).await?;
        for (order, id) in ORDERS.iter().zip(&ids) {
            let launch = self.shown(id).await?;
            if order.ending == Ending::Undone {
                let error = launch.error.context("a launch that failed does not say why")?;
                aside(&format!("{}: {}", order.name, error.provider_code.unwrap_or(error.category)));
                continue;
            }
            ensure!(
                u64::try_from(launch.instances.len())? == INSTANCES_EACH,
                "{} instances were launched where {INSTANCES_EACH} were asked for",
                launch.instances.len()
            );
            for instance in &launch.instances {
                let address = self.answers(instance).await?;
                // The id of an instance at Azure is a path.
                let name = instance.instance_id.rsplit('/').next().unwrap_or_default();
                aside(&format!("{name} answers at {address}"));
            }
        }
        let counts = Ledger::read(self.sandbox).await?.counts;
        ensure!(counts.azure_parts_match(), "parts of the launch that failed are left at Azure");
        aside("Azure has the parts of two instances and nothing of the launch that failed");
        Ok(())
    }
}
