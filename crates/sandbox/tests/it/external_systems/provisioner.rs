//! The provisioner when all goes well.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::caller::{HttpClient, PROVISION, config};

/// As the original client writes it: everything in the text, commas at the end, keys without quotes.
const INLINE: &str = r#"mutation {
  result: provisionRuntime(config: {
    runtimeInput: {
      name: "n",
      description: "d",
      labels: { broker_instance_id:"i-1", global_subaccount_id:"sa-1", lists: ["a", "b"], },
    },
    clusterConfig: { gardenerConfig: {
      kubernetesVersion: "1.16.9", volumeSizeGB: 30, machineType: "n1-standard-4", region: "europe-west4",
      provider: "gcp", diskType: "pd-standard", targetSecret: "s", workerCidr: "10.250.0.0/19",
      autoScalerMin: 3, autoScalerMax: 4, maxSurge: 4, maxUnavailable: 1,
      providerSpecificConfig: { gcpConfig: { zones: ["europe-west4-a","europe-west4-b",] } },
    } },
    kymaConfig: {
      version: "1.13.0",
      components: [
        { component: "compass-runtime-agent", namespace: "compass-system", }
        { component: "core", namespace: "kyma-system",
          configuration: [ { key: "a.b", value: "say \"x\"\nand y", secret: true, } { key: "c", value: "{(", }
          ] }
      ]
      configuration: [ { key: "g", value: "h", } ]
    },
  }) { id operation state message runtimeID }
}"#;

#[tokio::test]
async fn the_text_form_of_the_original_client_is_understood() {
    let caller = HttpClient::new().await;
    caller.script(json!({"dialect": "2020"})).await;
    let response = caller
        .request(Method::POST, "/provisioner/graphql")
        .header("tenant", "ga-1")
        .header("sub-account", "sa-1")
        .header("content-type", "application/json; charset=utf-8")
        .body(json!({"query": INLINE, "variables": null}).to_string())
        .send()
        .await
        .unwrap();
    assert_eq!(response.status(), StatusCode::OK);
    let body: Value = response.json().await.unwrap();
    let started = &body["data"]["result"];
    let (operation_id, runtime_id) =
        (started["id"].as_str().unwrap(), started["runtimeID"].as_str().unwrap());
    assert_eq!(
        body,
        json!({"data": {"result": {
            "id": operation_id, "operation": "Provision", "state": "InProgress",
            "message": "Provisioning started", "runtimeID": runtime_id,
        }}})
    );

    let seen = caller.get(&format!("/provisioner/runtimes/{runtime_id}?reveal=true")).await;
    assert_eq!((&seen["tenant"], &seen["sub_account"]), (&json!("ga-1"), &json!("sa-1")));
    assert_eq!(
        seen["input"]["runtimeInput"]["labels"],
        json!({"broker_instance_id": "i-1", "global_subaccount_id": "sa-1", "lists": ["a", "b"]})
    );
    let entries = &seen["input"]["kymaConfig"]["components"][1]["configuration"];
    assert_eq!(
        *entries,
        json!([{"key": "a.b", "value": "say \"x\"\nand y", "secret": true}, {"key": "c", "value": "{("}])
    );

    let status = format!(
        r#"query {{ result: runtimeOperationStatus(id: "{operation_id}") {{
            id operation state message runtimeID }} }}"#
    );
    assert_eq!(
        caller.result(&status, json!(null)).await,
        json!({
            "id": operation_id, "operation": "Provision", "state": "Succeeded",
            "message": "Operation succeeded", "runtimeID": runtime_id,
        })
    );
    let end = format!("mutation {{ result: deprovisionRuntime(id: \"{runtime_id}\") }}");
    let operation = caller.result(&end, json!({})).await;
    caller.script(json!({})).await;
    let ended = caller.status(&operation).await;
    assert_eq!(
        (&ended["operation"], &ended["state"], &ended["message"]),
        (&json!("Deprovision"), &json!("Succeeded"), &json!("Operation succeeded"))
    );
}

#[tokio::test]
async fn two_equal_calls_make_two_runtimes_and_the_ledger_knows_both() {
    let caller = HttpClient::new().await;
    let first = caller.provision(&config("i-1")).await;
    let second = caller.provision(&config("i-1")).await;
    assert_ne!(first["runtimeID"], second["runtimeID"]);
    assert_ne!(first["id"], second["id"]);
    let effect = |answer: &Value| {
        ("provisioner".to_owned(), "runtime".to_owned(), answer["runtimeID"].as_str().unwrap().to_owned())
    };
    assert_eq!(caller.ledger().await, [effect(&first), effect(&second)]);

    caller.script(json!({"deprovision_ms": 60_000})).await;
    let operation = caller.deprovision(first["runtimeID"].as_str().unwrap()).await;
    assert_eq!(caller.status(&operation).await["state"], "InProgress");
    assert_eq!(caller.ledger().await.len(), 2);
    caller.advance(60).await;
    // The status was not requested, and yet it is over.
    assert_eq!(caller.ledger().await, [effect(&second)]);
    let counts = json!({"made": 2, "taken_back": 1, "standing": 1, "repeats": 0});
    assert_eq!(caller.get("/ledger/summary").await["provisioner/runtime"], counts);
    assert_eq!(caller.status(&operation).await["state"], "Succeeded");
}

#[tokio::test]
async fn an_operation_goes_through_its_stages_as_time_passes() {
    let caller = HttpClient::new().await;
    caller.script(json!({"provision_ms": 180_000, "deprovision_ms": 115_000, "upgrade_ms": 75_000})).await;
    let answer = caller.provision(&config("i-1")).await;
    let runtime_id = answer["runtimeID"].as_str().unwrap().to_owned();
    let provision = [
        (0, "WaitingForClusterDomain"),
        (20, "WaitingForClusterCreation"),
        (55, "StartingInstallation"),
        (20, "WaitingForInstallation"),
        (60, "ConnectRuntimeAgent"),
        (15, "WaitForAgentToConnect"),
    ];
    follow(&caller, &answer["id"], &provision).await;
    let id = json!({"id": runtime_id});
    let upgrade = "mutation($id: String!) { result: upgradeRuntime(id: $id, config: {kymaConfig: {
        version: \"1.14.0\", components: [{component: \"compass-runtime-agent\", namespace: \"n\"}]}})
        { id operation state message runtimeID } }";
    let answer = caller.result(upgrade, id).await;
    assert_eq!((&answer["operation"], &answer["state"]), (&json!("Upgrade"), &json!("InProgress")));
    let stages = [(0, "StartingUpgrade"), (20, "WaitingForInstallation"), (53, "UpdatingUpgradeState")];
    follow(&caller, &answer["id"], &stages).await;
    let operation = caller.deprovision(&runtime_id).await;
    let stages = [
        (0, "CleanupCluster"),
        (22, "TriggerKymaUninstall"),
        (10, "DeprovisionCluster"),
        (30, "WaitForClusterDeletion"),
    ];
    follow(&caller, &operation, &stages).await;
}

#[tokio::test]
async fn a_new_script_holds_and_lets_go_what_is_under_way() {
    let caller = HttpClient::new().await;
    caller.script(json!({"provision_ms": 60_000})).await;
    let answer = caller.provision(&config("i-1")).await;
    caller.script(json!({"provision_ms": 120_000})).await;
    caller.advance(60).await;
    assert_eq!(caller.status(&answer["id"]).await["state"], "InProgress");
    caller.script(json!({})).await;
    assert_eq!(caller.status(&answer["id"]).await["state"], "Succeeded");
}

/// Advances to each stage, and then to the end.
async fn follow(caller: &HttpClient, operation: &Value, stages: &[(u64, &str)]) {
    for (seconds, stage) in stages {
        caller.advance(*seconds).await;
        let status = caller.status(operation).await;
        assert_eq!(status["message"], format!("Operation in progress. Stage {stage}"));
        assert_eq!(status["state"], "InProgress");
    }
    caller.advance(60).await;
    assert_eq!(caller.status(operation).await["message"], "Operation succeeded");
}

const RUNTIME_STATUS: &str = "query($id: String!) { result: runtimeStatus(id: $id) {
    lastOperationStatus { id operation state message }
    runtimeConnectionStatus { status errors { message } }
    runtimeConfiguration { kubeconfig
      clusterConfig { name region machineType autoScalerMax oidcConfig { clientID }
        providerSpecificConfig { __typename
            ... on GCPProviderConfig { zones }
            ... on AzureProviderConfig { vnetCidr zones }
            ... on AWSProviderConfig { awsZones { name } } } }
      kymaConfig { version components { component configuration { key value secret } } } }
    hibernationStatus { hibernated hibernationPossible } } }";

#[tokio::test]
async fn the_status_of_a_runtime_is_its_configuration_and_its_last_operation() {
    let caller = HttpClient::new().await;
    caller.script(json!({"provision_ms": 60_000})).await;
    let answer = caller.provision(&config("i-1")).await;
    let id = json!({"id": answer["runtimeID"]});
    let status = caller.result(RUNTIME_STATUS, id.clone()).await;
    assert_eq!(status["lastOperationStatus"]["id"], answer["id"]);
    assert_eq!(status["lastOperationStatus"]["state"], "InProgress");
    assert_eq!(status["runtimeConnectionStatus"], json!({"status": "Pending", "errors": null}));
    assert_eq!(status["runtimeConfiguration"]["kubeconfig"], json!(null));
    caller.advance(60).await;
    let status = caller.result(RUNTIME_STATUS, id).await;
    assert_eq!(status["lastOperationStatus"]["state"], "Succeeded");
    assert_eq!(status["runtimeConnectionStatus"]["status"], "Connected");
    assert_eq!(status["hibernationStatus"], json!({"hibernated": false, "hibernationPossible": true}));
    let configuration = &status["runtimeConfiguration"];
    assert!(configuration["kubeconfig"].as_str().unwrap().contains("current-context"));
    assert_eq!(
        configuration["clusterConfig"],
        json!({
            "name": "", "region": "westeurope", "machineType": "Standard_D8_v3", "autoScalerMax": 10,
            "oidcConfig": null, "providerSpecificConfig": {
                "__typename": "AzureProviderConfig", "vnetCidr": "10.250.0.0/19", "zones": ["1", "2"]},
        })
    );
    assert_eq!(
        configuration["kymaConfig"]["components"][1]["configuration"],
        json!([{"key": "a.b", "value": "open", "secret": null},
               {"key": "password", "value": "hidden", "secret": true}])
    );
}

#[tokio::test]
async fn upgrades_change_what_is_stored_and_can_be_rolled_back() {
    let caller = HttpClient::new().await;
    let id = caller.runtime("i-1").await;
    let shoot = "mutation($id: String!, $config: UpgradeShootInput!) {
        result: upgradeShoot(id: $id, config: $config) { operation state runtimeID } }";
    let oidc = json!({"clientID": "c", "groupsClaim": "g", "issuerURL": "u", "signingAlgs": ["RS256"],
        "usernameClaim": "n", "usernamePrefix": "-"});
    let gardener = json!({"autoScalerMax": 20, "machineType": null, "oidcConfig": oidc});
    let change = json!({"gardenerConfig": gardener, "administrators": ["ada"]});
    let answer = caller.result(shoot, json!({"id": id, "config": change})).await;
    assert_eq!(answer, json!({"operation": "UpgradeShoot", "state": "InProgress", "runtimeID": id}));
    let kyma = json!({"version": "1.14.0",
        "components": {"component": "compass-runtime-agent", "namespace": "n"}});
    let upgrade = "mutation($id: String!, $config: UpgradeRuntimeInput!) {
        result: upgradeRuntime(id: $id, config: $config) { operation } }";
    caller.result(upgrade, json!({"id": id, "config": {"kymaConfig": kyma}})).await;

    let status = caller.result(RUNTIME_STATUS, json!({"id": id})).await;
    let configuration = &status["runtimeConfiguration"];
    assert_eq!(configuration["clusterConfig"]["autoScalerMax"], 20);
    assert_eq!(configuration["clusterConfig"]["machineType"], "Standard_D8_v3");
    assert_eq!(configuration["clusterConfig"]["oidcConfig"]["clientID"], "c");
    assert_eq!(configuration["kymaConfig"]["version"], "1.14.0");
    assert_eq!(configuration["kymaConfig"]["components"][0]["component"], "compass-runtime-agent");
    let seen = caller.get(&format!("/provisioner/runtimes/{id}")).await;
    assert_eq!(seen["input"]["clusterConfig"]["administrators"], json!(["ada"]));

    let back = "mutation($id: String!) { result: rollBackUpgradeOperation(id: $id) {
        runtimeConfiguration { kymaConfig { version } } } }";
    let status = caller.result(back, json!({"id": id})).await;
    assert_eq!(status["runtimeConfiguration"]["kymaConfig"]["version"], "1.13.0");
    let (message, code) = caller.error(back, json!({"id": id})).await;
    assert!(message.contains("no upgrade"), "{message}");
    assert_eq!(code, 400);
}

#[tokio::test]
async fn a_runtime_can_sleep_and_its_agent_can_be_reconnected() {
    let caller = HttpClient::new().await;
    let id = json!({"id": caller.runtime("i-1").await});
    let hibernate = "mutation($id: String!) { result: hibernateRuntime(id: $id) { operation } }";
    assert_eq!(caller.result(hibernate, id.clone()).await, json!({"operation": "Hibernate"}));
    let status = caller.result(RUNTIME_STATUS, id.clone()).await;
    assert_eq!(status["hibernationStatus"], json!({"hibernated": true, "hibernationPossible": false}));
    let reconnect = "mutation($id: String!) { result: reconnectRuntimeAgent(id: $id) }";
    assert_eq!(caller.result(reconnect, id).await, json!(""));
}

#[tokio::test]
async fn secret_values_are_shown_only_on_demand() {
    let caller = HttpClient::new().await;
    let id = caller.runtime("i-1").await;
    caller.runtime("i-2").await;
    for path in ["/provisioner/runtimes?instance_id=i-1".to_owned(), format!("/provisioner/runtimes/{id}")] {
        let text = caller.get(&path).await.to_string();
        assert!(text.contains("<secret>") && text.contains("open") && !text.contains("hidden"), "{text}");
    }
    let list = caller.get("/provisioner/runtimes?reveal=true&limit=1").await;
    assert_eq!(list["runtimes"].as_array().unwrap().len(), 1);
    assert_eq!(list["runtimes"][0]["input"], config("i-1"));
    let rest = caller.get(&format!("/provisioner/runtimes?after={id}")).await;
    assert_eq!(rest["runtimes"].as_array().unwrap().len(), 1);
    assert_eq!(rest["runtimes"][0]["instance_id"], "i-2");
    let missing = caller.request(Method::GET, "/provisioner/runtimes/unknown").send().await.unwrap();
    assert_eq!(missing.status(), StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_later_provisioner_makes_clusters_without_kyma() {
    let caller = HttpClient::new().await;
    let mut bare = config("i-1");
    bare.as_object_mut().unwrap().remove("kymaConfig");
    for dialect in ["2020", "2021"] {
        caller.script(json!({"dialect": dialect})).await;
        let answer = caller.try_call(PROVISION, json!({"config": bare})).await.unwrap();
        assert_eq!(answer.status(), StatusCode::UNPROCESSABLE_ENTITY, "{dialect}");
    }
    caller.script(json!({"dialect": "2022"})).await;
    let answer = caller.provision(&bare).await;
    assert_eq!(answer["operation"], "ProvisionNoInstall");
    let operation = caller.deprovision(answer["runtimeID"].as_str().unwrap()).await;
    assert_eq!(caller.status(&operation).await["operation"], "DeprovisionNoInstall");
}

/// What the schemas of these years have and require, one fact for each kind of difference.
#[tokio::test]
async fn every_dialect_has_the_fields_of_its_years() {
    let caller = HttpClient::new().await;
    let status = "{ result: runtimeOperationStatus(id: \"x\") { id lastError { reason } } }";
    let shoot = "mutation { result: upgradeShoot(id: \"x\", config: {gardenerConfig: {}}) { id } }";
    let with = |change: fn(&mut Value)| {
        let mut config = config("i-1");
        change(&mut config["clusterConfig"]["gardenerConfig"]);
        json!({ "config": config })
    };
    let without = |field: &'static str| {
        let mut config = config("i-1");
        config["clusterConfig"]["gardenerConfig"].as_object_mut().unwrap().remove(field);
        json!({ "config": config })
    };
    let aws = |config: Value| {
        let mut input = without("name");
        input["config"]["clusterConfig"]["gardenerConfig"]["providerSpecificConfig"] =
            json!({ "awsConfig": config });
        input
    };
    let one = aws(json!({"vpcCidr": "v", "zone": "a", "publicCidr": "p", "internalCidr": "i"}));
    let named = |mut input: Value| {
        input["config"]["clusterConfig"]["gardenerConfig"]["name"] = json!("c-1");
        input
    };
    let zone = json!({"name": "a", "publicCidr": "p", "internalCidr": "i", "workerCidr": "w"});
    let many = named(aws(json!({"vpcCidr": "v", "awsZones": [zone]})));
    let cases = [
        (status, json!({}), [false, false, true], "lastError"),
        (shoot, json!({}), [false, true, true], "upgradeShoot"),
        (PROVISION, with(|_| ()), [false, true, true], "the name of a cluster is known"),
        (PROVISION, without("name"), [true, false, false], "the name of a cluster is required"),
        (PROVISION, one, [true, false, false], "one zone of AWS"),
        (PROVISION, many, [false, true, true], "zones of AWS"),
        (PROVISION, without("volumeSizeGB"), [false, true, true], "the size of the volume is optional"),
        (PROVISION, with(|input| input["euAccess"] = json!(true)), [false, false, true], "euAccess"),
        (PROVISION, with(|input| input["oidcConfig"] = json!(null)), [false, true, true], "oidcConfig"),
    ];
    for (at, dialect) in ["2020", "2021", "2022"].into_iter().enumerate() {
        caller.script(json!({ "dialect": dialect })).await;
        for (query, variables, expected, what) in &cases {
            let status = caller.try_call(query, variables.clone()).await.unwrap().status();
            // What fits the schema is executed, whatever comes of it.
            assert_eq!(status == StatusCode::OK, expected[at], "{what} in {dialect}");
        }
    }
}

#[tokio::test]
async fn it_speaks_graphql_and_not_only_its_own_queries() {
    let caller = HttpClient::new().await;
    assert_eq!(caller.get("/provisioner/healthz").await, json!({"status": "ok"}));
    let id = caller.runtime("i-1").await;
    let query = format!(
        "query {{ one: runtimeStatus(id: {id:?}) {{ ...Last }} two: runtimeStatus(id: {id:?}) {{ ...Last }} }}
         fragment Last on RuntimeStatus {{ last: lastOperationStatus {{ state kind: operation }} }}"
    );
    let last = json!({"last": {"state": "Succeeded", "kind": "Provision"}});
    assert_eq!(caller.call(&query, json!({})).await["data"], json!({"one": last, "two": last}));
    let introspection = "{ result: __type(name: \"ConfigEntryInput\") { inputFields { name } } }";
    let fields = caller.result(introspection, json!({})).await;
    assert_eq!(fields["inputFields"][2]["name"], "secret");
}
