//! A kubeconfig: read when it stands on its own, and written for one user with a token.

use std::net::IpAddr;
use std::path::PathBuf;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use engine::secret::{ExposeSecret, SecretString};
use reqwest::Url;
use serde::Deserialize;
use serde_json::json;

const BYTES_MAX: usize = 256 * 1024;

/// What the current context of a kubeconfig leads to.
#[derive(Debug, Clone)]
pub struct Kubeconfig {
    /// As it was written, so that a kubeconfig made from this one says the same.
    server: String,
    url: Url,
    authority: Option<Vec<u8>>,
    credentials: ClusterCredentials,
}

#[derive(Debug, Clone)]
pub(super) enum ClusterCredentials {
    Token(SecretString),
    /// Where another program keeps the token fresh, as Kubernetes does for a pod.
    TokenFile(PathBuf),
    /// The certificate and its key.
    Certificate {
        pem: SecretString,
    },
}

/// No `Debug` for all of these, because they hold secrets.
#[derive(Deserialize)]
struct File {
    #[serde(rename = "current-context")]
    current_context: Option<String>,
    clusters: Option<Vec<NamedCluster>>,
    contexts: Option<Vec<NamedContext>>,
    users: Option<Vec<NamedUser>>,
}

#[derive(Deserialize)]
struct NamedCluster {
    name: String,
    cluster: ClusterEntry,
}

#[derive(Deserialize)]
struct NamedContext {
    name: String,
    context: ContextEntry,
}

#[derive(Deserialize)]
struct NamedUser {
    name: String,
    user: UserEntry,
}

#[derive(Deserialize)]
struct ContextEntry {
    cluster: String,
    user: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct ClusterEntry {
    server: String,
    certificate_authority_data: Option<String>,
    certificate_authority: Option<String>,
    insecure_skip_tls_verify: Option<bool>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct UserEntry {
    token: Option<String>,
    client_certificate_data: Option<String>,
    client_key_data: Option<String>,
    client_certificate: Option<serde::de::IgnoredAny>,
    client_key: Option<serde::de::IgnoredAny>,
    #[serde(rename = "tokenFile")]
    token_file: Option<serde::de::IgnoredAny>,
    exec: Option<serde::de::IgnoredAny>,
    auth_provider: Option<serde::de::IgnoredAny>,
    username: Option<serde::de::IgnoredAny>,
}

impl Kubeconfig {
    /// Reads what stands in the text itself. What would run a program, read a file or trust every server is
    /// refused. The error never quotes a secret.
    pub fn parse(yaml: &SecretString) -> Result<Kubeconfig, String> {
        let yaml = yaml.expose_secret();
        if yaml.len() > BYTES_MAX {
            return Err(format!("the kubeconfig is longer than {BYTES_MAX} bytes"));
        }
        let file = read(yaml)?;
        let current = file.current_context.filter(|name| !name.is_empty());
        let current = current.ok_or("the kubeconfig has no current-context")?;
        let context = file.contexts.into_iter().flatten().find(|entry| entry.name == current);
        let context = context.ok_or("the kubeconfig has no context of the name in current-context")?.context;
        let cluster = file.clusters.into_iter().flatten().find(|entry| entry.name == context.cluster);
        let cluster =
            cluster.ok_or("the kubeconfig does not have the cluster of its current context")?.cluster;
        let user = file.users.into_iter().flatten().find(|entry| entry.name == context.user);
        let user = user.ok_or("the kubeconfig does not have the user of its current context")?.user;
        let url = server_url(&cluster.server)?;
        Ok(Kubeconfig {
            url,
            authority: authority(&cluster)?,
            credentials: credentials(user)?,
            server: cluster.server,
        })
    }

    /// A server without a kubeconfig: where it is, what it is trusted by, and the file of our token.
    pub fn of_token_file(
        server: &str,
        authority: Option<Vec<u8>>,
        token_file: PathBuf,
    ) -> Result<Kubeconfig, String> {
        let url = server_url(server)?;
        let credentials = ClusterCredentials::TokenFile(token_file);
        Ok(Kubeconfig { url, authority, credentials, server: server.to_owned() })
    }

    pub(super) fn url(&self) -> &Url {
        &self.url
    }

    pub(super) fn authority(&self) -> Option<&[u8]> {
        self.authority.as_deref()
    }

    pub(super) fn credentials(&self) -> &ClusterCredentials {
        &self.credentials
    }
}

/// A kubeconfig for the same cluster, with this token as its only user. `name` names all three of its parts.
pub fn user_kubeconfig(cluster: &Kubeconfig, token: &SecretString, name: &str) -> SecretString {
    let mut entry = json!({ "server": cluster.server });
    if let Some(authority) = &cluster.authority {
        entry["certificate-authority-data"] = STANDARD.encode(authority).into();
    }
    let file = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{ "name": name, "cluster": entry }],
        "contexts": [{ "name": name, "context": { "cluster": name, "user": name } }],
        "current-context": name,
        "users": [{ "name": name, "user": { "token": token.expose_secret() } }],
    });
    serde_saphyr::to_string(&file).expect("maps and lists of texts can be written as YAML").into()
}

fn read(yaml: &str) -> Result<File, String> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! { max_depth: 32, max_nodes: 10_000, max_aliases: 0, max_anchors: 0 },
    };
    serde_saphyr::from_str_with_options(yaml, options).map_err(|error| match error.location() {
        // The parser's own words may quote a value.
        Some(place) => format!("the kubeconfig cannot be read, from line {} on", place.line()),
        None => "the kubeconfig cannot be read".to_owned(),
    })
}

fn server_url(server: &str) -> Result<Url, String> {
    let url =
        Url::parse(server).map_err(|error| format!("server of the kubeconfig is not a url: {error}"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("server of the kubeconfig must not have a user or a password".into());
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("server of the kubeconfig must end with its path".into());
    }
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let is_loopback =
        host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
    match url.scheme() {
        "https" => Ok(url),
        "http" if is_loopback => Ok(url),
        "http" => Err("server of the kubeconfig must be https, unless it is on this machine".into()),
        _ => Err("server of the kubeconfig must begin with https".into()),
    }
}

fn authority(cluster: &ClusterEntry) -> Result<Option<Vec<u8>>, String> {
    if cluster.insecure_skip_tls_verify == Some(true) {
        return Err(
            "insecure-skip-tls-verify of the kubeconfig is refused: give certificate-authority-data".into()
        );
    }
    if cluster.certificate_authority.is_some() && cluster.certificate_authority_data.is_none() {
        return Err(
            "certificate-authority of the kubeconfig is a file: use certificate-authority-data".into()
        );
    }
    let data = cluster.certificate_authority_data.as_ref().filter(|data| !data.is_empty());
    data.map(|data| decoded("certificate-authority-data", data)).transpose()
}

fn credentials(user: UserEntry) -> Result<ClusterCredentials, String> {
    if let Some(token) = user.token.filter(|token| !token.is_empty()) {
        return Ok(ClusterCredentials::Token(token.into()));
    }
    if let (Some(certificate), Some(key)) = (&user.client_certificate_data, &user.client_key_data) {
        let mut pem = decoded("client-certificate-data", certificate)?;
        pem.push(b'\n');
        pem.extend(decoded("client-key-data", key)?);
        let pem =
            String::from_utf8(pem).map_err(|_| "client-certificate-data of the kubeconfig is not PEM")?;
        return Ok(ClusterCredentials::Certificate { pem: pem.into() });
    }
    let unusable = [
        (user.exec.is_some(), "exec runs a program"),
        (user.auth_provider.is_some(), "auth-provider runs a program"),
        (user.token_file.is_some(), "tokenFile is a file"),
        (
            user.client_certificate.is_some() || user.client_key.is_some(),
            "client-certificate or client-key is a file",
        ),
        (user.username.is_some(), "username and password are no longer understood by clusters"),
    ];
    let found = unusable.iter().find(|(is_there, _)| *is_there);
    let found = found.map_or("it has no credentials", |(_, what)| what);
    Err(format!(
        "the user of the kubeconfig cannot be used ({found}): give it a token, or client-certificate-data and \
         client-key-data"
    ))
}

fn decoded(field: &str, text: &str) -> Result<Vec<u8>, String> {
    STANDARD.decode(text.trim()).map_err(|_| format!("{field} of the kubeconfig is not base64"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A kubeconfig with these lines about the cluster and about the user.
    fn yaml(cluster: &str, user: &str) -> SecretString {
        let file = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: here\n\
             contexts:\n\
             - name: elsewhere\n  context: {{cluster: none, user: none}}\n\
             - name: here\n  context: {{cluster: c, user: u, namespace: n}}\n\
             clusters: [{{name: other, cluster: {{server: 'http://other'}}}}, {{name: c, cluster: {{{cluster}}}}}]\n\
             users: [{{name: other, user: {{exec: {{command: sh}}}}}}, {{name: u, user: {{{user}}}}}]\n"
        );
        file.into()
    }

    const SERVER: &str = "server: 'https://api.example:6443/prefix'";
    const TOKEN: &str = "token: hunter2";

    fn token(kubeconfig: &Kubeconfig) -> &str {
        match kubeconfig.credentials() {
            ClusterCredentials::Token(token) => token.expose_secret(),
            _ => panic!("a token was expected"),
        }
    }

    #[test]
    fn the_current_context_is_read() {
        let cluster = format!("{SERVER}, certificate-authority-data: {}", STANDARD.encode("pem"));
        let kubeconfig = Kubeconfig::parse(&yaml(&cluster, TOKEN)).unwrap();
        assert_eq!(kubeconfig.url().as_str(), "https://api.example:6443/prefix");
        assert_eq!(kubeconfig.authority(), Some(b"pem".as_slice()));
        assert_eq!(token(&kubeconfig), "hunter2");
        assert!(!format!("{kubeconfig:?}").contains("hunter2"));

        let user = format!(
            "client-certificate-data: {}, client-key-data: {}",
            STANDARD.encode("certificate"),
            STANDARD.encode("hunter2")
        );
        let kubeconfig = Kubeconfig::parse(&yaml(SERVER, &user)).unwrap();
        assert!(!format!("{kubeconfig:?}").contains("hunter2"));
        let ClusterCredentials::Certificate { pem } = kubeconfig.credentials() else {
            panic!("no certificate")
        };
        assert_eq!(pem.expose_secret(), "certificate\nhunter2");
    }

    #[test]
    fn plain_http_stays_on_this_machine() {
        let parse = |server: &str| Kubeconfig::parse(&yaml(&format!("server: '{server}'"), TOKEN));
        for server in ["http://127.0.0.1:1/clusters/a", "http://localhost:1", "http://[::1]:1", "https://a"] {
            assert!(parse(server).is_ok(), "{server}");
        }
        for server in [
            "http://api.example",
            "http://localhost.example",
            "http://10.0.0.1",
            "http://127.0.0.1@api.example",
            "https://a?b",
            "https://a#b",
            "ftp://localhost",
            "localhost",
            "",
        ] {
            let error = parse(server).unwrap_err();
            assert!(error.starts_with("server of the kubeconfig "), "{server}: {error}");
        }
    }

    #[test]
    fn what_does_not_stand_on_its_own_is_refused_by_name() {
        let insecure = format!("{SERVER}, insecure-skip-tls-verify: true");
        let file = format!("{SERVER}, certificate-authority: /ca.pem");
        let garbled = format!("{SERVER}, certificate-authority-data: '%'");
        for (cluster, user, expect) in [
            (insecure.as_str(), TOKEN, "insecure-skip-tls-verify"),
            (&file, TOKEN, "certificate-authority of"),
            (&garbled, TOKEN, "certificate-authority-data of"),
            (SERVER, "exec: {command: sh}", "exec runs a program"),
            (SERVER, "auth-provider: {name: gcp}", "auth-provider runs a program"),
            (SERVER, "tokenFile: /token", "tokenFile is a file"),
            (SERVER, "client-certificate: /c, client-key: /k", "is a file"),
            (SERVER, "username: a, password: hunter2", "username and password"),
            (SERVER, "token: ''", "no credentials"),
            (SERVER, "client-key-data: hunter2", "no credentials"),
            (SERVER, "client-certificate-data: YQ==, client-key-data: '%hunter2'", "client-key-data of"),
            ("name: x", TOKEN, "cannot be read, from line "),
            (SERVER, "token: [hunter2]", "cannot be read, from line "),
        ] {
            let error = Kubeconfig::parse(&yaml(cluster, user)).unwrap_err();
            assert!(error.contains(expect) && !error.contains("hunter2"), "{expect}: {error}");
        }
    }

    #[test]
    fn half_a_file_and_a_hostile_one_are_refused() {
        let contexts = "contexts: [{name: a, context: {cluster: c, user: u}}]";
        let clusters = "clusters: [{name: c, cluster: {server: 'https://c'}}]";
        for (text, expect) in [
            (String::new(), "no current-context"),
            ("{}".into(), "no current-context"),
            ("current-context: ''".into(), "no current-context"),
            ("current-context: a\ncontexts: null".into(), "no context of the name in current-context"),
            (format!("current-context: a\n{contexts}"), "the cluster of its current context"),
            (format!("current-context: a\n{contexts}\n{clusters}"), "the user of its current context"),
            ("a: &x [hunter2]\nb: *x".into(), "cannot be read"),
            (format!("a: {}{}", "[".repeat(100), "]".repeat(100)), "cannot be read"),
            ("#".repeat(BYTES_MAX + 1), "longer than 262144 bytes"),
        ] {
            let error = Kubeconfig::parse(&text.into()).unwrap_err();
            assert!(error.contains(expect) && !error.contains("hunter2"), "{expect}: {error}");
        }
    }

    #[test]
    fn a_users_kubeconfig_leads_to_the_same_cluster_with_nothing_but_the_token() {
        let cluster = format!("{SERVER}, certificate-authority-data: {}", STANDARD.encode("pem"));
        let admin = Kubeconfig::parse(&yaml(&cluster, TOKEN)).unwrap();
        for odd in ["binding-1", "null", "123", "a: b #\n\"'", "~", "- x"] {
            let written = user_kubeconfig(&admin, &odd.into(), odd);
            assert!(!written.expose_secret().contains("hunter2"));
            let read = Kubeconfig::parse(&written).unwrap();
            assert_eq!((read.server.as_str(), token(&read)), (admin.server.as_str(), odd));
            assert_eq!(read.authority(), Some(b"pem".as_slice()));
        }
    }
}
