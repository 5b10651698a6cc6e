//! One broker of Apache Kafka that is its own controller, which a test can stop and start again. It needs Java, and the jars in
//! the folder that `PROVISION_ENGINE_KAFKA` names; `./test` fetches them.

use std::fs::{self, File};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;

/// Any 16 bytes in base64.
const CLUSTER_ID: &str = "cHJvdmlzaW9uLWVuZ2luZQ";

pub(crate) struct Broker {
    jars: PathBuf,
    place: TempDir,
    /// Of the listener for clients, and of the one for the controller.
    ports: [u16; 2],
    process: Option<Child>,
}

/// How clients speak to a broker.
#[derive(Default)]
pub(crate) struct Listener {
    /// Empty for one in clear and without SASL.
    pub(crate) protocol: &'static str,
    /// Further lines of `server.properties`.
    pub(crate) properties: String,
    /// Further words for the command that formats the storage.
    pub(crate) format: Vec<String>,
}

/// Where the jars are, or why there is no broker.
pub(crate) fn jars() -> Result<PathBuf, &'static str> {
    let java = Command::new("java").arg("-version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !java.is_ok_and(|ended| ended.success()) {
        return Err("java is missing");
    }
    let folder = std::env::var_os("PROVISION_ENGINE_KAFKA").map(PathBuf::from).unwrap_or_default();
    let has_jars = fs::read_dir(&folder).is_ok_and(|mut files| files.any(|file| file.is_ok()));
    has_jars.then_some(folder).ok_or("PROVISION_ENGINE_KAFKA names no folder with the jars of Apache Kafka")
}

impl Broker {
    /// Formats the storage of a new broker, and starts it.
    pub(crate) async fn new(jars: PathBuf, listener: Listener) -> Broker {
        let place = TempDir::new().unwrap();
        let free = [(); 2].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
        let ports = free.map(|listener| listener.local_addr().unwrap().port());
        let broker = Broker { jars, place, ports, process: None };
        broker.format(&listener);
        broker.started().await
    }

    pub(crate) fn address(&self) -> String {
        format!("127.0.0.1:{}", self.ports[0])
    }

    /// Without a word, as a machine that loses its power.
    pub(crate) fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }

    /// Starts it, and waits until it listens.
    pub(crate) async fn start(&mut self) {
        let log = File::create(self.place.path().join("log")).unwrap();
        let mut java = self.java("kafka.Kafka");
        java.arg(self.properties()).stdout(log.try_clone().unwrap()).stderr(log);
        let mut process = java.spawn().unwrap();
        while TcpStream::connect(self.address()).is_err() {
            if let Some(ended) = process.try_wait().unwrap() {
                panic!("the broker ended: {ended}\n{}", self.said());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        self.process = Some(process);
    }

    async fn started(mut self) -> Broker {
        self.start().await;
        self
    }

    fn format(&self, listener: &Listener) {
        let [clients, controller] = self.ports;
        let protocol = if listener.protocol.is_empty() { "PLAINTEXT" } else { listener.protocol };
        let data = self.place.path().join("data");
        let properties = format!(
            "process.roles=broker,controller\nnode.id=1\n\
             controller.quorum.voters=1@127.0.0.1:{controller}\ncontroller.listener.names=CONTROLLER\n\
             listeners=CLIENTS://127.0.0.1:{clients},CONTROLLER://127.0.0.1:{controller}\n\
             advertised.listeners=CLIENTS://127.0.0.1:{clients}\ninter.broker.listener.name=CLIENTS\n\
             listener.security.protocol.map=CLIENTS:{protocol},CONTROLLER:PLAINTEXT\n\
             log.dirs={}\nnum.partitions=2\noffsets.topic.num.partitions=1\n\
             offsets.topic.replication.factor=1\ntransaction.state.log.replication.factor=1\n\
             transaction.state.log.min.isr=1\ngroup.initial.rebalance.delay.ms=0\n{}",
            data.display(),
            listener.properties,
        );
        fs::write(self.properties(), properties).unwrap();
        let mut java = self.java("kafka.tools.StorageTool");
        java.args(["format", "--cluster-id", CLUSTER_ID, "--config"]).arg(self.properties());
        let formatted = java.args(&listener.format).output().unwrap();
        assert!(formatted.status.success(), "{}", String::from_utf8_lossy(&formatted.stderr));
    }

    fn java(&self, class: &str) -> Command {
        let mut java = Command::new("java");
        java.args(["-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"])
            .arg("-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
            .args(["-cp".into(), self.jars.join("*")])
            .arg(class)
            .stdin(Stdio::null());
        java
    }

    fn properties(&self) -> PathBuf {
        self.place.path().join("server.properties")
    }

    fn said(&self) -> String {
        fs::read_to_string(self.place.path().join("log")).unwrap_or_default()
    }
}

impl Drop for Broker {
    fn drop(&mut self) {
        self.kill();
    }
}
