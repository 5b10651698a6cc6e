//! The clouds in which instances can be launched, from the settings, or the sandbox's in their place.

use std::env;
use std::sync::Arc;
use std::time::Duration;

use ::aws::AccessKeys;
use ::azure::{ClientCertificate, Credential};
use ::google::{KeySource, ServiceAccountKey};
use anyhow::{Context, Result, bail};
use cloud::{Provider, ProviderKind};
use engine::secret::{ExposeSecret, SecretString};
use http_client::DriverError;

use crate::settings::{Aws, Azure, Gcp, Settings};
use app::compose::secret;

/// A cloud, and whether the sandbox stands in for it.
pub(crate) struct Cloud {
    pub(crate) provider: Arc<dyn Provider>,
    pub(crate) is_sandbox: bool,
}

/// Those that are configured. For all others the sandbox stands in, where there is one.
pub(crate) fn connect(given: &Settings, sandbox: Option<&str>) -> Result<Vec<Cloud>> {
    let timeout = given.call_timeout.get();
    let own: [Option<Arc<dyn Provider>>; 3] = [
        aws(given, timeout)?
            .map(|options| aws::Aws::new(&options).map(Arc::new))
            .transpose()?
            .map(|one| one as _),
        azure(given, timeout)?
            .map(|options| azure::Azure::new(&options).map(Arc::new))
            .transpose()?
            .map(|one| one as _),
        gcp(given, timeout)?
            .map(|options| google::Google::new(&options).map(Arc::new))
            .transpose()?
            .map(|one| one as _),
    ];
    let own: Vec<Arc<dyn Provider>> = own.into_iter().flatten().collect();
    let kinds: Vec<ProviderKind> = own.iter().map(|provider| provider.kind()).collect();
    let beside =
        sandbox.map(|url| beside(url, timeout)).transpose().context("cannot use the sandbox's clouds")?;
    let beside = beside.into_iter().flatten().filter(|provider| !kinds.contains(&provider.kind()));
    let beside = beside.map(|provider| Cloud { provider, is_sandbox: true });
    Ok(own.into_iter().map(|provider| Cloud { provider, is_sandbox: false }).chain(beside).collect())
}

/// Those of the sandbox at this address.
pub(crate) fn beside(url: &str, timeout: Duration) -> Result<Vec<Arc<dyn Provider>>, DriverError> {
    Ok(vec![
        Arc::new(aws::Aws::new(&aws::Options { timeout, ..aws::Options::beside(url) })?),
        Arc::new(azure::Azure::new(&azure::Options { timeout, ..azure::Options::beside(url) })?),
        Arc::new(google::Google::new(&google::Options { timeout, ..google::Options::beside(url) })?),
    ])
}

fn aws(given: &Settings, timeout: Duration) -> Result<Option<aws::Options>> {
    let Aws { enabled, ec2, sts, region, access_key_id, secret_access_key } = &given.aws;
    if !enabled {
        return Ok(None);
    }
    let id = access_key_id.clone().or_else(|| env::var("AWS_ACCESS_KEY_ID").ok());
    let secret = match secret_access_key {
        Some(path) => Some(secret(path)?),
        None => env::var("AWS_SECRET_ACCESS_KEY").ok().map(SecretString::from),
    };
    let session = env::var("AWS_SESSION_TOKEN").ok().filter(|_| access_key_id.is_none());
    let credentials = id.zip(secret).map(|(id, secret)| AccessKeys {
        id,
        secret,
        session: session.map(SecretString::from),
    });
    let (ec2, sts, home) = (ec2.clone(), sts.clone(), region.clone());
    Ok(Some(aws::Options { ec2, sts, home, credentials, timeout }))
}

fn azure(given: &Settings, timeout: Duration) -> Result<Option<azure::Options>> {
    let Azure {
        enabled,
        arm,
        authority,
        tenant,
        client_id,
        client_secret,
        certificate,
        token_file,
        ssh_from,
    } = &given.azure;
    if !enabled {
        return Ok(None);
    }
    let (Some(tenant), Some(client_id)) = (tenant.clone(), client_id.clone()) else {
        bail!("launch.azure.enabled needs launch.azure.tenant_id and launch.azure.client_id");
    };
    let credential = match (client_secret, certificate, token_file) {
        (Some(path), None, None) => Credential::Secret(secret(path)?),
        (None, Some(path), None) => {
            let read = ClientCertificate::parse(secret(path)?.expose_secret());
            let read = read.map_err(|why| anyhow::anyhow!("launch.azure.client_certificate_file: {why}"))?;
            Credential::Certificate(read)
        }
        (None, None, Some(path)) => Credential::TokenFile(path.clone()),
        _ => bail!(
            "launch.azure.enabled needs one of launch.azure.client_secret_file, \
             launch.azure.client_certificate_file and launch.azure.federated_token_file"
        ),
    };
    Ok(Some(azure::Options {
        arm: arm.clone(),
        authority: authority.clone(),
        tenant,
        client_id,
        credential: Some(credential),
        ssh_from: ssh_from.clone(),
        timeout,
        ..azure::Options::new()
    }))
}

fn gcp(given: &Settings, timeout: Duration) -> Result<Option<google::Options>> {
    let Gcp { enabled, compute, token, key, impersonate, image_projects } = &given.gcp;
    if !enabled {
        return Ok(None);
    }
    let Some(path) = key else { bail!("launch.gcp.enabled needs launch.gcp.key_file") };
    let key = ServiceAccountKey::parse(secret(path)?.expose_secret());
    let key = key.map_err(|why| anyhow::anyhow!("launch.gcp.key_file: {why}"))?;
    let mut options = google::Options {
        compute: compute.clone(),
        token: token.clone(),
        credentials: Some(KeySource::Key(key)),
        impersonate: impersonate.clone(),
        timeout,
        ..google::Options::new()
    };
    options.image_projects.extend(image_projects.iter().cloned());
    Ok(Some(options))
}
