//! Where the database is, and how to get in.

use std::future::poll_fn;
use std::sync::Arc;

use engine::store::StoreError;
use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::Notify;
use tokio::task::JoinHandle;
use tokio_postgres::config::{Host, TargetSessionAttrs};
use tokio_postgres::{AsyncMessage, Client, Config, Connection, NoTls, Socket};
use tracing::debug;

use super::connection::{BATCH_TIMEOUT, CONNECT_TIMEOUT, reason};
use super::failure::fault;
use super::tls::{ConnectAttempt, TlsRequirement};

pub(super) struct DatabaseTarget {
    /// One for each server that the address names.
    servers: Vec<Config>,
    /// With or without TLS, in the order in which they are tried.
    ways: Vec<ConnectAttempt>,
}

impl DatabaseTarget {
    pub(super) fn parse(url: &str) -> Result<DatabaseTarget, StoreError> {
        let (config, wanted) = read(url)?;
        let mut servers = each_server(&config);
        for config in &mut servers {
            if config.get_application_name().is_none() {
                config.application_name("provision-engine");
            }
            // A standby accepts connections and refuses all writes.
            config.target_session_attrs(TargetSessionAttrs::ReadWrite);
            config.connect_timeout(CONNECT_TIMEOUT);
            config.keepalives_idle(CONNECT_TIMEOUT).keepalives_interval(CONNECT_TIMEOUT);
            config.keepalives_retries(2).tcp_user_timeout(BATCH_TIMEOUT);
        }
        Ok(DatabaseTarget { servers, ways: wanted.ways()? })
    }

    /// Asks all servers at the same time and takes the first that accepts writes, so that one that hangs does not
    /// keep us from the one that was promoted. The task drives the connection until it ends, and rings when the
    /// database tells something.
    pub(super) async fn connect(
        &self,
        wake_up: Option<Arc<Notify>>,
    ) -> Result<(Client, JoinHandle<()>), StoreError> {
        let connect = |server| self.connect_to(server, wake_up.clone());
        let mut answers: FuturesUnordered<_> = self.servers.iter().map(connect).collect();
        let mut errors = Vec::new();
        while let Some(answer) = answers.next().await {
            match answer {
                Ok(connected) => return Ok(connected),
                Err(error) => errors.push(error),
            }
        }
        Err(all_errors(errors))
    }

    async fn connect_to(
        &self,
        server: &Config,
        wake_up: Option<Arc<Notify>>,
    ) -> Result<(Client, JoinHandle<()>), StoreError> {
        let mut first = None;
        for way in &self.ways {
            match open(server, way, wake_up.clone()).await {
                Ok(opened) => return Ok(opened),
                // The error of the way that is preferred says the most.
                Err(error) => first = first.or(Some(error)),
            }
        }
        Err(first.unwrap_or_else(|| StoreError::Refused("there is no way to connect".into())))
    }
}

async fn open(
    server: &Config,
    way: &ConnectAttempt,
    wake_up: Option<Arc<Notify>>,
) -> Result<(Client, JoinHandle<()>), StoreError> {
    let mut server = server.clone();
    server.ssl_mode(way.mode());
    match way {
        ConnectAttempt::Plain => {
            let (client, connection) = server.connect(NoTls).await.map_err(fault)?;
            Ok((client, tokio::spawn(run_connection(connection, wake_up))))
        }
        ConnectAttempt::Optional(tls) | ConnectAttempt::Tls(tls) => {
            let (client, connection) = server.connect(tls.clone()).await.map_err(fault)?;
            Ok((client, tokio::spawn(run_connection(connection, wake_up))))
        }
    }
}

/// The password in the address of a database.
pub(super) fn password(url: &str) -> Result<Option<Vec<u8>>, StoreError> {
    Ok(read(url)?.0.get_password().map(<[u8]>::to_vec))
}

fn read(url: &str) -> Result<(Config, TlsRequirement), StoreError> {
    let (url, wanted) = TlsRequirement::take_from(url)?;
    let config: Config = url
        .parse()
        .map_err(|error| StoreError::Refused(format!("the address of the database is wrong: {error}")))?;
    let wanted = wanted.with(config.get_ssl_mode());
    Ok((config, wanted))
}

/// One configuration for each server that the address names.
fn each_server(all: &Config) -> Vec<Config> {
    let (hosts, addresses, ports) = (all.get_hosts(), all.get_hostaddrs(), all.get_ports());
    let count = hosts.len().max(addresses.len());
    let fits = [hosts.len(), addresses.len()].iter().all(|len| [0, count].contains(len));
    // Where the lists do not fit together, the library says so when it connects.
    if count < 2 || !fits || ![0, 1, count].contains(&ports.len()) {
        return vec![all.clone()];
    }
    let server = |index: usize| {
        let mut one = without_servers(all);
        match hosts.get(index) {
            Some(Host::Tcp(name)) => one.host(name),
            Some(Host::Unix(path)) => one.host_path(path),
            None => &mut one,
        };
        addresses.get(index).map(|address| one.hostaddr(*address));
        ports.get(index).or(ports.first()).map(|port| one.port(*port));
        one
    };
    (0..count).map(server).collect()
}

/// The library has no way to take a server out of a configuration.
fn without_servers(all: &Config) -> Config {
    let mut one = Config::new();
    all.get_user().map(|user| one.user(user));
    all.get_password().map(|password| one.password(password));
    all.get_dbname().map(|name| one.dbname(name));
    all.get_options().map(|options| one.options(options));
    all.get_application_name().map(|name| one.application_name(name));
    one.ssl_negotiation(all.get_ssl_negotiation());
    one.keepalives(all.get_keepalives()).channel_binding(all.get_channel_binding());
    one.load_balance_hosts(all.get_load_balance_hosts());
    one
}

/// One server that may answer later is enough to try again.
fn all_errors(mut errors: Vec<StoreError>) -> StoreError {
    if errors.len() == 1 {
        return errors.remove(0);
    }
    let may_heal = errors.iter().any(StoreError::may_heal);
    let mut texts: Vec<String> = errors.into_iter().map(reason).collect();
    texts.dedup();
    let text = texts.join("; ");
    if may_heal { StoreError::Unavailable(text) } else { StoreError::Refused(text) }
}

async fn run_connection<S>(mut connection: Connection<Socket, S>, wake_up: Option<Arc<Notify>>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send,
{
    loop {
        match poll_fn(|context| connection.poll_message(context)).await {
            Some(Ok(AsyncMessage::Notification(_))) => {
                if let Some(wake_up) = &wake_up {
                    wake_up.notify_one();
                }
            }
            Some(Ok(_)) => {}
            Some(Err(error)) => {
                debug!(%error, "lost a connection to the database");
                break;
            }
            None => break,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_with_several_servers_is_one_address_for_each() {
        let rest = "/engine?application_name=a&options=o&sslnegotiation=direct&keepalives=0\
                    &channel_binding=disable&load_balance_hosts=random";
        let read = |hosts: &str| read(&format!("postgres://ann:s3cret@{hosts}{rest}")).unwrap().0;
        let servers = each_server(&read("one:1,[::1]:2,%2Frun:3,four"));
        assert_eq!(servers, ["one:1", "[::1]:2", "%2Frun:3", "four"].map(read));
        let addresses = each_server(&"host=a,b hostaddr=127.0.0.1,127.0.0.2 port=7".parse().unwrap());
        let expected = ["host=a hostaddr=127.0.0.1 port=7", "host=b hostaddr=127.0.0.2 port=7"];
        assert_eq!(addresses, expected.map(|text| text.parse::<Config>().unwrap()));
        for odd in ["host=a,b hostaddr=127.0.0.1", "host=a,b,c port=1,2", ""] {
            let odd: Config = odd.parse().unwrap();
            assert_eq!(each_server(&odd), std::slice::from_ref(&odd));
        }
    }
}
