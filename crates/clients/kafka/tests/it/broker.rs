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

pub(crate) struct KafkaBroker {
    jars: PathBuf,
    place: TempDir,
    listeners: Vec<Listener>,
    /// Of the listeners, and at last of the one for the controller.
    ports: Vec<u16>,
    process: Option<Child>,
}

/// How clients speak to a broker.
pub(crate) struct Listener {
    /// Small letters.
    pub(crate) name: String,
    pub(crate) protocol: &'static str,
    /// Lines of `server.properties` about this listener alone.
    pub(crate) properties: Vec<String>,
}

impl Listener {
    /// In clear and without SASL.
    pub(crate) fn plain() -> Listener {
        Listener { name: "plain".into(), protocol: "PLAINTEXT", properties: Vec::new() }
    }
}

/// Who signs in by SCRAM, which a broker keeps in its storage.
pub(crate) const USER: &str = "ann";
pub(crate) const PASSWORD: &str = "not-a-real-password";

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

impl KafkaBroker {
    /// Formats the storage of a new broker, and starts it.
    pub(crate) async fn new(jars: PathBuf, listeners: Vec<Listener>) -> KafkaBroker {
        let place = TempDir::new().unwrap();
        let free: Vec<_> = (0..=listeners.len()).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let ports = free.iter().map(|listener| listener.local_addr().unwrap().port()).collect();
        drop(free);
        let mut broker = KafkaBroker { jars, place, listeners, ports, process: None };
        broker.format();
        broker.start().await;
        broker
    }

    /// Of the listener with this number.
    pub(crate) fn address(&self, listener: usize) -> String {
        format!("127.0.0.1:{}", self.ports[listener])
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
        while TcpStream::connect(self.address(0)).is_err() {
            if let Some(ended) = process.try_wait().unwrap() {
                panic!("the broker ended: {ended}\n{}", self.said());
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        self.process = Some(process);
    }

    fn format(&self) {
        let controller = self.ports[self.listeners.len()];
        let each = |write: &dyn Fn(usize, &Listener) -> String| {
            let written: Vec<String> =
                self.listeners.iter().enumerate().map(|(number, listener)| write(number, listener)).collect();
            written.join(",")
        };
        let clients = each(&|number, listener| format!("{}://{}", listener.name, self.address(number)));
        let protocols = each(&|_, listener| format!("{}:{}", listener.name, listener.protocol));
        let properties: Vec<String> = self
            .listeners
            .iter()
            .flat_map(|listener| {
                let of = format!("listener.name.{}", listener.name);
                listener.properties.iter().map(move |line| format!("{of}.{line}\n"))
            })
            .collect();
        let data = self.place.path().join("data");
        let properties = format!(
            "process.roles=broker,controller\nnode.id=1\n\
             controller.quorum.voters=1@127.0.0.1:{controller}\ncontroller.listener.names=CONTROLLER\n\
             listeners={clients},CONTROLLER://127.0.0.1:{controller}\n\
             advertised.listeners={clients}\ninter.broker.listener.name={}\n\
             listener.security.protocol.map={protocols},CONTROLLER:PLAINTEXT\n\
             log.dirs={}\nnum.partitions=2\noffsets.topic.num.partitions=1\n\
             offsets.topic.replication.factor=1\ntransaction.state.log.replication.factor=1\n\
             transaction.state.log.min.isr=1\ngroup.initial.rebalance.delay.ms=0\n{}",
            self.listeners[0].name,
            data.display(),
            properties.concat(),
        );
        fs::write(self.properties(), properties).unwrap();
        let mut java = self.java("kafka.tools.StorageTool");
        java.args(["format", "--cluster-id", CLUSTER_ID, "--config"]).arg(self.properties());
        for mechanism in ["SCRAM-SHA-256", "SCRAM-SHA-512"] {
            java.args(["--add-scram", &format!("{mechanism}=[name={USER},password={PASSWORD}]")]);
        }
        let formatted = java.output().unwrap();
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

impl Drop for KafkaBroker {
    fn drop(&mut self) {
        self.kill();
    }
}
