//! What the external systems say that they did, and whether that is what they should have done.

use std::collections::BTreeSet;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::launch::INSTANCES_EACH;
use crate::demo::platform;

#[derive(Debug, Default, Serialize)]
pub(super) struct Ledger {
    #[serde(flatten)]
    pub(super) counts: EffectCounts,
    /// The tokens of the greetings that stand. Each begins with the id of its operation.
    #[serde(skip)]
    pub(super) tokens: Vec<String>,
}

#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct EffectCounts {
    #[serde(rename(deserialize = "greeter/greet"))]
    pub(super) greetings: EffectCount,
    #[serde(rename(deserialize = "provisioner/runtime"))]
    pub(super) runtimes: EffectCount,
    #[serde(rename(deserialize = "cluster/service_account"))]
    pub(super) service_accounts: EffectCount,
    #[serde(rename(deserialize = "oned/document"))]
    pub(super) documents: EffectCount,
    #[serde(rename(deserialize = "oneflow/service"))]
    pub(super) services: EffectCount,
    #[serde(rename(deserialize = "oned/vm"))]
    pub(super) machines: EffectCount,
    #[serde(rename(deserialize = "image_builder/compose"))]
    pub(super) images: EffectCount,
    #[serde(rename(deserialize = "ec2/instance"))]
    pub(super) instances: EffectCount,
    #[serde(rename(deserialize = "ec2/key_pair"))]
    pub(super) key_pairs: EffectCount,
    #[serde(rename(deserialize = "arm/vm"))]
    pub(super) azure_instances: EffectCount,
    #[serde(rename(deserialize = "arm/nic"))]
    pub(super) azure_nics: EffectCount,
    #[serde(rename(deserialize = "arm/public_ip"))]
    pub(super) azure_addresses: EffectCount,
    #[serde(rename(deserialize = "arm/disk"))]
    pub(super) azure_disks: EffectCount,
    #[serde(rename(deserialize = "arm/nsg"))]
    pub(super) azure_security_groups: EffectCount,
    #[serde(rename(deserialize = "arm/network"))]
    pub(super) azure_networks: EffectCount,
    #[serde(rename(deserialize = "arm/group"))]
    pub(super) azure_groups: EffectCount,
    #[serde(rename(deserialize = "gce/instance"))]
    pub(super) google_instances: EffectCount,
    #[serde(rename(deserialize = "gce/disk"))]
    pub(super) google_disks: EffectCount,
}

#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub(super) struct EffectCount {
    pub(super) made: u64,
    pub(super) taken_back: u64,
    pub(super) standing: u64,
    pub(super) repeats: u64,
}

/// What must have come of the operations.
#[derive(Debug, Default)]
pub(super) struct Expected {
    /// The operations whose greetings must stand.
    pub(super) greeted: BTreeSet<String>,
    /// How many runtimes of each sort were made. None of them must stand.
    pub(super) provisions: u64,
    pub(super) creates: u64,
    /// How many launches succeeded. What they made must stand, and nothing else.
    pub(super) launched: u64,
    /// How many there were. Each uploaded a key of its own.
    pub(super) launches: u64,
    /// How many launches succeeded there. What they made must stand, with its parts, and nothing else.
    pub(super) at_azure: u64,
    pub(super) at_google: u64,
}

/// A function, and data beside it.
const MACHINES_EACH: u64 = 2;

impl Ledger {
    pub(super) async fn read(sandbox: &str) -> Result<Ledger> {
        #[derive(Deserialize)]
        struct RemainingEffects {
            effects: Vec<Effect>,
        }
        #[derive(Deserialize)]
        struct Effect {
            system: String,
            token: String,
        }
        let http = platform::client()?;
        let answer =
            http.get(format!("{sandbox}/ledger/summary")).send().await.context("cannot read the ledger")?;
        let counts = answer.json().await?;
        let answer = http.get(format!("{sandbox}/ledger")).send().await.context("cannot read the ledger")?;
        let RemainingEffects { effects } = answer.json().await?;
        let greeted = effects.into_iter().filter(|effect| effect.system == "greeter");
        Ok(Ledger { counts, tokens: greeted.map(|effect| effect.token).collect() })
    }

    /// What is not as it must be, if anything.
    pub(super) fn error_text(&self, expected: &Expected) -> Option<String> {
        let once: BTreeSet<&String> = self.tokens.iter().collect();
        if once.len() != self.tokens.len() {
            return Some("something was done twice".to_owned());
        }
        let owner = |token: &String| token.split('-').next().unwrap_or_default().to_owned();
        let owners: BTreeSet<String> = self.tokens.iter().map(owner).collect();
        if owners != expected.greeted {
            let (owners, greeted) = (owners.len(), expected.greeted.len());
            return Some(format!(
                "the greetings of {owners} operations stand, but {greeted} operations succeeded"
            ));
        }
        let EffectCounts { runtimes, documents, services, machines, instances, key_pairs, .. } = &self.counts;
        let launched = expected.launched * INSTANCES_EACH;
        let made = [
            ("runtimes", runtimes, expected.provisions),
            ("documents", documents, expected.creates),
            ("services", services, expected.creates),
            ("VMs", machines, expected.creates * MACHINES_EACH),
            ("instances", instances, launched),
            ("key pairs", key_pairs, expected.launches),
        ];
        if let Some((what, count, wanted)) = made.into_iter().find(|(_, count, wanted)| count.made != *wanted)
        {
            return Some(format!("{} {what} were made where {wanted} were asked for", count.made));
        }
        let left = self.counts.must_not_stand().into_iter().find(|(_, count)| count.standing > 0);
        if let Some((what, count)) = left {
            return Some(format!("{} {what} still stand", count.standing));
        }
        let mut stands =
            vec![("instances", instances, launched), ("key pairs", key_pairs, expected.launched)];
        let [azure, google] = [expected.at_azure, expected.at_google].map(|count| count * INSTANCES_EACH);
        stands.extend(self.counts.of_azure(azure, expected.at_azure));
        stands.push(("instances of Google", &self.counts.google_instances, google));
        stands.push(("disks of Google", &self.counts.google_disks, google));
        let wrong = stands.into_iter().find(|(_, count, wanted)| count.standing != *wanted);
        wrong.map(|(what, count, wanted)| format!("{} {what} stand where {wanted} should", count.standing))
    }

    pub(super) fn proof(&self, greeted: usize) -> String {
        let EffectCounts { greetings, runtimes, service_accounts, documents, services, machines, .. } =
            &self.counts;
        let EffectCounts { images, instances, key_pairs, google_instances, google_disks, .. } = &self.counts;
        let azure = self.counts.azure_line();
        let nebula = [documents, services, machines].map(|count| count.standing).iter().sum::<u64>();
        format!(
            "\nproof, from the ledgers of the external systems themselves:\n  \
               greetings: {} made, {} undone, {} standing:\n    \
                 of exactly the {greeted} operations that succeeded\n  \
               runtimes: {} made, each once, and {} deleted; {} standing\n  \
               service accounts: {} made, {} undone\n  \
               OpenNebula: {} document, {} service and {} VMs made; {nebula} standing\n  \
               EC2: {} image built; {} instances made, {} standing;\n    \
                 {} key pairs made, {} undone, {} standing\n  \
               Azure: {azure}\n  \
               Google: {} instances made, {} standing, with {} disks\n  \
               calls repeated because an answer was lost: {}, without a second effect",
            greetings.made,
            greetings.taken_back,
            greetings.standing,
            runtimes.made,
            runtimes.taken_back,
            runtimes.standing,
            service_accounts.made,
            service_accounts.taken_back,
            documents.made,
            services.made,
            machines.made,
            images.made,
            instances.made,
            instances.standing,
            key_pairs.made,
            key_pairs.taken_back,
            key_pairs.standing,
            google_instances.made,
            google_instances.standing,
            google_disks.standing,
            greetings.repeats + service_accounts.repeats,
        )
    }
}

impl EffectCounts {
    /// All kinds of things that a launch makes at Azure, and how many should stand: some for each instance, some for
    /// each launch.
    fn of_azure(&self, instances: u64, launches: u64) -> [(&'static str, &EffectCount, u64); 7] {
        [
            ("instances of Azure", &self.azure_instances, instances),
            ("network interfaces of Azure", &self.azure_nics, instances),
            ("addresses of Azure", &self.azure_addresses, instances),
            ("disks of Azure", &self.azure_disks, instances),
            ("security groups of Azure", &self.azure_security_groups, launches),
            ("networks of Azure", &self.azure_networks, launches),
            ("resource groups of Azure", &self.azure_groups, launches),
        ]
    }

    /// Whether every part that stands at Azure belongs to an instance that does.
    pub(super) fn azure_parts_match(&self) -> bool {
        let launches = self.azure_instances.standing / INSTANCES_EACH;
        let all = self.of_azure(launches * INSTANCES_EACH, launches);
        all.into_iter().all(|(_, count, wanted)| count.standing == wanted)
    }

    fn azure_line(&self) -> String {
        let undone: u64 = self.of_azure(0, 0).iter().skip(1).map(|(_, count, _)| count.taken_back).sum();
        let parts: u64 = self.of_azure(0, 0).iter().skip(1).map(|(_, count, _)| count.standing).sum();
        let vms = self.azure_instances;
        format!(
            "{} instances made, {} undone, {} standing with {parts} parts;\n    \
               {undone} parts of the launch that failed undone",
            vms.made, vms.taken_back, vms.standing
        )
    }

    fn must_not_stand(&self) -> [(&'static str, &EffectCount); 5] {
        [
            ("runtimes", &self.runtimes),
            ("service accounts", &self.service_accounts),
            ("VMs", &self.machines),
            ("services", &self.services),
            ("documents", &self.documents),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_text(ledger: &Ledger, expected: &Expected) -> String {
        ledger.error_text(expected).unwrap_or_default()
    }

    #[test]
    fn it_reports_about_wrong_greetings() {
        let stand = |tokens: &[&str]| Ledger {
            tokens: tokens.iter().map(|token| (*token).to_owned()).collect(),
            ..Ledger::default()
        };
        let one = Expected { greeted: ["one".to_owned()].into(), ..Expected::default() };
        assert_eq!(error_text(&stand(&["one-a"]), &one), "");
        assert_eq!(
            error_text(&stand(&["one-a", "one-b"]), &one),
            "",
            "more than one step may have an effect"
        );
        assert_eq!(error_text(&stand(&["one-a", "one-a"]), &one), "something was done twice");
        assert!(error_text(&stand(&[]), &one).contains("of 0 operations stand, but 1"));
        assert!(
            error_text(&stand(&["one-a"]), &Expected::default()).contains("of 1 operations stand, but 0")
        );
    }

    #[test]
    fn it_reports_about_a_second_runtime_and_about_what_is_left() {
        let count = |made, standing| EffectCount { made, standing, ..EffectCount::default() };
        let gone = || EffectCounts {
            runtimes: count(2, 0),
            documents: count(1, 0),
            services: count(1, 0),
            machines: count(2, 0),
            instances: count(2, 2),
            key_pairs: count(2, 1),
            ..EffectCounts::default()
        };
        let expected =
            Expected { provisions: 2, creates: 1, launched: 1, launches: 2, ..Expected::default() };
        let told = |counts| error_text(&Ledger { counts, tokens: vec![] }, &expected);
        assert_eq!(told(gone()), "");
        for (counts, text) in [
            (EffectCounts { runtimes: count(3, 0), ..gone() }, "3 runtimes were made where 2 were asked for"),
            (EffectCounts { runtimes: count(2, 1), ..gone() }, "1 runtimes still stand"),
            (EffectCounts { service_accounts: count(1, 1), ..gone() }, "1 service accounts still stand"),
            (
                EffectCounts { documents: count(0, 0), ..gone() },
                "0 documents were made where 1 were asked for",
            ),
            (EffectCounts { documents: count(1, 1), ..gone() }, "1 documents still stand"),
            (EffectCounts { services: count(2, 0), ..gone() }, "2 services were made where 1 were asked for"),
            (EffectCounts { services: count(1, 1), ..gone() }, "1 services still stand"),
            (EffectCounts { machines: count(3, 0), ..gone() }, "3 VMs were made where 2 were asked for"),
            (EffectCounts { machines: count(2, 2), ..gone() }, "2 VMs still stand"),
            (
                EffectCounts { instances: count(4, 2), ..gone() },
                "4 instances were made where 2 were asked for",
            ),
            (EffectCounts { instances: count(2, 1), ..gone() }, "1 instances stand where 2 should"),
            (
                EffectCounts { key_pairs: count(1, 1), ..gone() },
                "1 key pairs were made where 2 were asked for",
            ),
            (EffectCounts { key_pairs: count(2, 2), ..gone() }, "2 key pairs stand where 1 should"),
        ] {
            assert_eq!(told(counts), text);
        }
    }
}
