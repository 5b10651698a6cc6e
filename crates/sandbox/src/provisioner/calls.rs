//! What each call to the provisioner does.

use serde_json::{Value, json};

use super::faults::{FaultMatch, ScriptedCall};
use super::operation::OperationKind;
use super::runtimes::SimulatedRuntime;
use super::{Provisioner, RUNTIME, admission};
use crate::graphql::{Arguments, GraphqlError, GraphqlUser, Root};
use crate::ledger::EffectResult;

const INSTANCE_LABEL: &str = "broker_instance_id";

impl Root for Provisioner {
    fn answer(&self, field: &str, arguments: Arguments, caller: &GraphqlUser) -> Result<Value, GraphqlError> {
        if caller.tenant.is_empty() {
            return Err(GraphqlError::bad_request("tenant header is empty"));
        }
        let id = arguments.get("id").and_then(Value::as_str).unwrap_or_default();
        let config = arguments.get("config").unwrap_or(&Value::Null);
        match field {
            "provisionRuntime" => self.provision(config, caller),
            "deprovisionRuntime" => self.deprovision(id, caller),
            "upgradeRuntime" => self.upgrade(id, config, caller),
            "upgradeShoot" => self.upgrade_shoot(id, config, caller),
            "hibernateRuntime" => self.hibernate(id, caller),
            "rollBackUpgradeOperation" => self.roll_back(id, caller),
            "reconnectRuntimeAgent" => self.settled().owned(id, caller).map(|_| json!("")),
            "runtimeStatus" => self.runtime_status(id, caller),
            "runtimeOperationStatus" => self.operation_status(id, caller),
            other => Err(GraphqlError::internal(format!("the field {other} is not implemented"))),
        }
    }
}

impl Provisioner {
    fn provision(&self, config: &Value, caller: &GraphqlUser) -> Result<Value, GraphqlError> {
        let mut runtimes = self.settled();
        admission::provision(config)?;
        let input = &config["runtimeInput"];
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let subject = FaultMatch {
            name: text(&input["name"]),
            instance_id: text(&input["labels"][INSTANCE_LABEL]),
            runtime_id: None,
            tenant: Some(caller.tenant.clone()),
            sub_account: caller.sub_account.clone(),
        };
        let failure = runtimes.faults.next_for(ScriptedCall::Provision, &subject)?;
        let kind = match config["kymaConfig"] {
            Value::Null => OperationKind::ProvisionNoInstall,
            _ => OperationKind::Provision,
        };
        let now = self.clock.now();
        let runtime = runtimes.add(config, subject, now)?;
        let made = self.ledger.make(RUNTIME, &runtime.id, runtime.request());
        assert_eq!(made, EffectResult::Now, "ids are never used twice");
        self.director.register(&runtime.id, &caller.tenant, input, now);
        let id = runtime.id.clone();
        Ok(runtimes.start(&id, kind, failure, now)?.started())
    }

    fn deprovision(&self, id: &str, caller: &GraphqlUser) -> Result<Value, GraphqlError> {
        let mut runtimes = self.settled();
        let runtime = runtimes.idle(id, caller)?;
        let kind = match runtime.input()["kymaConfig"] {
            Value::Null => OperationKind::DeprovisionNoInstall,
            _ => OperationKind::Deprovision,
        };
        let subject = runtime.subject.clone();
        let failure = runtimes.faults.next_for(ScriptedCall::Deprovision, &subject)?;
        let operation = runtimes.start(id, kind, failure, self.clock.now())?;
        Ok(json!(operation.id))
    }

    fn upgrade(&self, id: &str, config: &Value, caller: &GraphqlUser) -> Result<Value, GraphqlError> {
        let kyma = &config["kymaConfig"];
        admission::kyma(kyma)?;
        self.operate(id, caller, ScriptedCall::Upgrade, OperationKind::Upgrade, |runtime, input| {
            runtime.kyma_before = Some(std::mem::replace(&mut input["kymaConfig"], kyma.clone()));
        })
    }

    fn upgrade_shoot(&self, id: &str, config: &Value, caller: &GraphqlUser) -> Result<Value, GraphqlError> {
        self.operate(id, caller, ScriptedCall::UpgradeShoot, OperationKind::UpgradeShoot, |_, input| {
            let cluster = &mut input["clusterConfig"];
            for (name, value) in config["gardenerConfig"].as_object().into_iter().flatten() {
                if !value.is_null() {
                    cluster["gardenerConfig"][name] = value.clone();
                }
            }
            if !config["administrators"].is_null() {
                cluster["administrators"] = config["administrators"].clone();
            }
        })
    }

    fn hibernate(&self, id: &str, caller: &GraphqlUser) -> Result<Value, GraphqlError> {
        self.operate(id, caller, ScriptedCall::Hibernate, OperationKind::Hibernate, |_, _| {})
    }

    /// Starts an operation on a runtime that was provisioned, and changes what is stored at once.
    fn operate(
        &self,
        id: &str,
        caller: &GraphqlUser,
        call: ScriptedCall,
        kind: OperationKind,
        change: impl FnOnce(&mut SimulatedRuntime, &mut Value),
    ) -> Result<Value, GraphqlError> {
        let mut runtimes = self.settled();
        let runtime = runtimes.idle(id, caller)?;
        if !runtime.is_provisioned {
            return Err(GraphqlError::bad_request(format!("the runtime {id} was not provisioned")));
        }
        let subject = runtime.subject.clone();
        let failure = runtimes.faults.next_for(call, &subject)?;
        let is_upgrade = matches!(kind, OperationKind::Upgrade | OperationKind::UpgradeShoot);
        runtimes.change(id, |runtime, input| {
            runtime.upgrades += u32::from(is_upgrade);
            change(runtime, input);
        });
        Ok(runtimes.start(id, kind, failure, self.clock.now())?.started())
    }

    fn roll_back(&self, id: &str, caller: &GraphqlUser) -> Result<Value, GraphqlError> {
        let mut runtimes = self.settled();
        if runtimes.idle(id, caller)?.kyma_before.is_none() {
            return Err(GraphqlError::bad_request(format!("the runtime {id} has no upgrade to roll back")));
        }
        runtimes.change(id, |runtime, input| {
            if let Some(before) = runtime.kyma_before.take() {
                input["kymaConfig"] = before;
            }
        });
        drop(runtimes);
        self.runtime_status(id, caller)
    }

    fn operation_status(&self, id: &str, caller: &GraphqlUser) -> Result<Value, GraphqlError> {
        let runtimes = self.settled();
        let (operation, runtime) = runtimes.operation(id, caller)?;
        let status = operation.at(self.clock.now());
        let subject = runtime.subject.clone();
        runtimes.faults.next_for(ScriptedCall::Status, &subject)?;
        Ok(status)
    }

    fn runtime_status(&self, id: &str, caller: &GraphqlUser) -> Result<Value, GraphqlError> {
        let runtimes = self.settled();
        let subject = runtimes.owned(id, caller)?.subject.clone();
        runtimes.faults.next_for(ScriptedCall::Status, &subject)?;
        let runtime = runtimes.owned(id, caller)?;
        let input = runtime.input();
        let connection = if runtime.is_provisioned { "Connected" } else { "Pending" };
        let kubeconfig = runtime.is_provisioned.then(|| self.clusters.kubeconfig(id));
        Ok(json!({
            "lastOperationStatus": runtimes.last_status(runtime, self.clock.now()),
            "runtimeConnectionStatus": {"status": connection},
            "runtimeConfiguration": {
                "clusterConfig": gardener(&input),
                "kymaConfig": kyma(&input),
                "kubeconfig": kubeconfig,
            },
            "hibernationStatus": {
                "hibernated": runtime.is_hibernated,
                "hibernationPossible": runtime.is_provisioned && !runtime.is_hibernated,
            },
        }))
    }
}

/// The same as in the input, but the configuration of the provider is one of several types.
fn gardener(input: &Value) -> Value {
    let mut gardener = input["clusterConfig"]["gardenerConfig"].clone();
    let given = gardener["providerSpecificConfig"].take();
    let types = [
        ("gcpConfig", "GCPProviderConfig"),
        ("azureConfig", "AzureProviderConfig"),
        ("awsConfig", "AWSProviderConfig"),
        ("openStackConfig", "OpenStackProviderConfig"),
    ];
    let chosen = types.into_iter().find(|(name, _)| given[name].is_object());
    gardener["providerSpecificConfig"] = chosen.map_or(Value::Null, |(name, type_name)| {
        let mut config = given[name].clone();
        config["__typename"] = json!(type_name);
        config
    });
    gardener
}

/// The same as in the input, with lists where one value was given for a list of one.
fn kyma(input: &Value) -> Value {
    let mut kyma = input["kymaConfig"].clone();
    if kyma.is_object() {
        kyma["components"] = json!(admission::one_or_many(&kyma["components"]));
    }
    kyma
}
