//! Which fields and types the GraphQL schema of a Provisioner has. Its releases differ, so every query and every input
//! is made to fit the schema of the server that gets it.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Dialect;

/// Asks a server for its schema. Three levels of `ofType` reach through a list of required values that is required.
pub(super) const INTROSPECTION: &str = "query Introspection { result: __schema { types { name \
    fields(includeDeprecated: true) { name type { ...T } } inputFields { name type { ...T } } } } } \
    fragment T on __Type { kind name ofType { kind name ofType { kind name ofType { kind name } } } }";

/// The types and fields that our calls use, for servers that do not answer the introspection. A line is a type with its
/// fields: `!` after a field that the server requires, `:` and the type of a field that has fields itself, `@` and the first
/// dialect that has it, `<` and the first one that no longer has it.
const KNOWN: &str = "
    Mutation provisionRuntime:OperationStatus deprovisionRuntime upgradeRuntime:OperationStatus \
        upgradeShoot:OperationStatus@2021
    OperationStatus id operation state message runtimeID lastError:LastError@2022
    GardenerConfig name kubernetesVersion machineType region provider purpose seed targetSecret diskType volumeSizeGB \
        workerCidr autoScalerMin autoScalerMax maxSurge maxUnavailable
    ProvisionRuntimeInput runtimeInput!:RuntimeInput clusterConfig!:ClusterConfigInput kymaConfig!:KymaConfigInput<2022 \
        kymaConfig:KymaConfigInput@2022
    RuntimeInput name! description labels
    ClusterConfigInput gardenerConfig!:GardenerConfigInput administrators@2021
    GardenerConfigInput name!@2021 kubernetesVersion! volumeSizeGB!<2021 volumeSizeGB@2021 machineType! \
        machineImage@2021 machineImageVersion@2021 region! provider! purpose licenceType seed targetSecret! \
        diskType!<2021 diskType@2021 workerCidr! podsCidr@2022 servicesCidr@2022 autoScalerMin! autoScalerMax! \
        maxSurge! maxUnavailable! enableKubernetesVersionAutoUpdate@2021 enableMachineImageVersionAutoUpdate@2021 \
        providerSpecificConfig!:ProviderSpecificInput oidcConfig:OIDCConfigInput@2021 dnsConfig:DNSConfigInput@2022 \
        exposureClassName@2022 shootNetworkingFilterDisabled@2022 controlPlaneFailureTolerance@2022 euAccess@2022 \
        shootAndSeedSameRegion@2022
    ProviderSpecificInput gcpConfig:GCPProviderConfigInput azureConfig:AzureProviderConfigInput \
        awsConfig:AWSProviderConfigInput openStackConfig:OpenStackProviderConfigInput@2021
    GCPProviderConfigInput zones!
    AzureProviderConfigInput vnetCidr! zones azureZones:AzureZoneInput@2022 enableNatGateway@2022 \
        idleConnectionTimeoutMinutes@2022
    AzureZoneInput name!@2022 cidr!@2022
    AWSProviderConfigInput vpcCidr! zone!<2021 publicCidr!<2021 internalCidr!<2021 awsZones!:AWSZoneInput@2021
    AWSZoneInput name!@2021 publicCidr!@2021 internalCidr!@2021 workerCidr!@2021
    OpenStackProviderConfigInput zones!@2021 floatingPoolName!<2022 floatingPoolName@2022 cloudProfileName!<2022 \
        cloudProfileName@2022 loadBalancerProvider!@2021
    OIDCConfigInput clientID!@2021 groupsClaim!@2021 issuerURL!@2021 signingAlgs!@2021 usernameClaim!@2021 \
        usernamePrefix!@2021
    DNSConfigInput domain!@2022 providers:DNSProviderInput@2022
    DNSProviderInput domainsInclude!@2022 primary!@2022 secretName!@2022 type!@2022
    KymaConfigInput version! profile@2021 components!:ComponentConfigurationInput configuration:ConfigEntryInput \
        conflictStrategy@2021
    ComponentConfigurationInput component! namespace! configuration:ConfigEntryInput sourceURL conflictStrategy@2021
    ConfigEntryInput key! value! secret
    UpgradeRuntimeInput kymaConfig!:KymaConfigInput
    UpgradeShootInput gardenerConfig!:GardenerUpgradeInput@2021 administrators@2021
    GardenerUpgradeInput kubernetesVersion@2021 volumeSizeGB@2021 machineType@2021 machineImage@2021 \
        machineImageVersion@2021 diskType@2021 purpose@2021 autoScalerMin@2021 autoScalerMax@2021 maxSurge@2021 \
        maxUnavailable@2021 enableKubernetesVersionAutoUpdate@2021 enableMachineImageVersionAutoUpdate@2021 \
        providerSpecificConfig:ProviderSpecificInput@2021 oidcConfig:OIDCConfigInput@2021 exposureClassName@2022 \
        shootNetworkingFilterDisabled@2022
";

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Schema {
    types: BTreeMap<String, BTreeMap<String, SchemaField>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct SchemaField {
    is_required: bool,
    /// Without `!` and brackets.
    type_name: Option<String>,
}

impl Schema {
    /// What a server of these years is known to have.
    pub(super) fn known(dialect: Dialect) -> Schema {
        let lines = KNOWN.trim().lines().map(str::split_whitespace);
        let types = lines.filter_map(|mut words| {
            let name = words.next()?.to_owned();
            let fields: BTreeMap<_, _> = words.filter_map(|word| known_field(word, dialect)).collect();
            (!fields.is_empty()).then_some((name, fields))
        });
        Schema { types: types.collect() }
    }

    /// What a server says that it has.
    pub(super) fn introspected(body: IntrospectionBody) -> Schema {
        let fields = |listed: Option<Vec<FieldBody>>, is_input: bool| {
            let read = move |field: FieldBody| (field.name, field.kind.field(is_input));
            listed.into_iter().flatten().map(read)
        };
        let types = body.types.into_iter().map(|body| {
            let all: BTreeMap<_, _> =
                fields(body.fields, false).chain(fields(body.input_fields, true)).collect();
            (body.name, all)
        });
        Schema { types: types.filter(|(_, fields)| !fields.is_empty()).collect() }
    }

    pub(super) fn has(&self, type_name: &str, field: &str) -> bool {
        self.field(type_name, field).is_some()
    }

    /// The type of a field, where it has fields itself.
    pub(super) fn type_of(&self, type_name: &str, field: &str) -> Option<&str> {
        let name = self.field(type_name, field)?.type_name.as_deref()?;
        self.types.contains_key(name).then_some(name)
    }

    pub(super) fn required<'a>(&'a self, type_name: &str) -> impl Iterator<Item = &'a str> {
        let fields = self.types.get(type_name).into_iter().flatten();
        fields.filter(|(_, field)| field.is_required).map(|(name, _)| name.as_str())
    }

    fn field(&self, type_name: &str, field: &str) -> Option<&SchemaField> {
        self.types.get(type_name)?.get(field)
    }
}

fn known_field(word: &str, dialect: Dialect) -> Option<(String, SchemaField)> {
    let (word, until) = word.split_once('<').map_or((word, None), |(word, year)| (word, Some(year)));
    let (word, since) = word.split_once('@').map_or((word, None), |(word, year)| (word, Some(year)));
    let year = dialect.as_str();
    if since.is_some_and(|since| year < since) || until.is_some_and(|until| year >= until) {
        return None;
    }
    let (word, type_name) = word.split_once(':').map_or((word, None), |(word, name)| (word, Some(name)));
    let name = word.trim_end_matches('!');
    Some((
        name.to_owned(),
        SchemaField { is_required: name != word, type_name: type_name.map(str::to_owned) },
    ))
}

#[derive(Deserialize)]
pub(super) struct IntrospectionBody {
    types: Vec<TypeBody>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TypeBody {
    name: String,
    fields: Option<Vec<FieldBody>>,
    input_fields: Option<Vec<FieldBody>>,
}

#[derive(Deserialize)]
struct FieldBody {
    name: String,
    #[serde(rename = "type")]
    kind: KindBody,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct KindBody {
    kind: String,
    name: Option<String>,
    of_type: Option<Box<KindBody>>,
}

impl KindBody {
    /// A field of an answer is never required; one of an input is where it cannot be null.
    fn field(self, is_input: bool) -> SchemaField {
        let is_required = is_input && self.kind == "NON_NULL";
        let mut innermost = self;
        while let Some(inner) = innermost.of_type {
            innermost = *inner;
        }
        SchemaField { is_required, type_name: innermost.name }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dialect_has_the_fields_of_its_years() {
        let [of_2020, of_2021, of_2022] =
            [Dialect::Of2020, Dialect::Of2021, Dialect::Of2022].map(Schema::known);
        let has = |type_name: &str, field: &str| {
            [&of_2020, &of_2021, &of_2022].map(|schema| schema.has(type_name, field))
        };
        assert_eq!(has("OperationStatus", "lastError"), [false, false, true]);
        assert_eq!(has("GardenerConfigInput", "name"), [false, true, true]);
        assert_eq!(has("AWSProviderConfigInput", "zone"), [true, false, false]);
        assert_eq!(has("Mutation", "upgradeShoot"), [false, true, true]);
        assert_eq!(has("Nothing", "name"), [false; 3]);
        let requires = |schema: &Schema, field: &str| {
            schema.required("GardenerConfigInput").any(|required| required == field)
        };
        assert!(requires(&of_2020, "volumeSizeGB") && !requires(&of_2021, "volumeSizeGB"));
        assert!(requires(&of_2022, "name") && !requires(&of_2020, "name"));
        assert_eq!(of_2020.type_of("ClusterConfigInput", "gardenerConfig"), Some("GardenerConfigInput"));
        assert_eq!(of_2020.type_of("RuntimeInput", "labels"), None);
    }

    #[test]
    fn an_introspection_tells_the_same() {
        let list = r#"{"kind": "NON_NULL", "name": null, "ofType": {"kind": "LIST", "name": null,
            "ofType": {"kind": "INPUT_OBJECT", "name": "B"}}}"#;
        let body = format!(
            r#"{{"types": [{{"name": "A", "fields": null, "inputFields": [{{"name": "bs", "type": {list}}}]}},
                {{"name": "B", "fields": null, "inputFields": [{{"name": "c", "type": {{"kind": "SCALAR", "name": "String"}}}}]}},
                {{"name": "Q", "inputFields": null, "fields": [{{"name": "id", "type": {{"kind": "NON_NULL", "ofType":
                    {{"kind": "SCALAR", "name": "String"}}}}}}]}}]}}"#
        );
        let schema = Schema::introspected(serde_json::from_str(&body).unwrap());
        assert_eq!(schema.required("A").collect::<Vec<_>>(), ["bs"]);
        assert_eq!(schema.type_of("A", "bs"), Some("B"));
        assert!(schema.has("B", "c") && schema.required("B").next().is_none());
        assert!(schema.has("Q", "id") && schema.required("Q").next().is_none(), "an answer requires nothing");
    }
}
