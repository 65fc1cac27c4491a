//! The drop copy over TLS: a client of TLS in one thread with the acceptor, and clients that fail.

use super::Acceptor;
use super::reports::tests::{events, reports_of};
use crate::execution::config::ReportConfig;
use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};
use touchline_net::Connection;
use touchline_net::tls::{Client, Identity, Server, ServerSettings, Settings as TlsSettings};
use touchline_session::fix::{Event, Memory, Role, Session, Settings};
use touchline_testing::issuer::{Issued, Issuer};
use touchline_testing::{Folder, until};
use touchline_types::ReceiveTime;

/// Timeout of every step.
const HANGS: Duration = Duration::from_secs(20);
const HOST: &str = "drop-copy.firm.example";
const SECOND_NS: u64 = 1_000_000_000;

/// An acceptor with TLS, the issuers, and a time that a test moves.
struct Port {
    _folder: Folder,
    acceptor: Acceptor,
    server: Issuer,
    clients: Issuer,
    now_ns: u64,
    said: Vec<String>,
}

impl Port {
    fn open(name: &str, is_mutual: bool) -> Port {
        let folder = Folder::new(name);
        let (server, clients) = (Issuer::new("the firm"), Issuer::new("back offices"));
        let issued = server.issue(HOST);
        let roots = clients.pem();
        let settings = ServerSettings {
            certificates: issued.certificate_pem.as_bytes(),
            key: issued.key_pem.as_bytes(),
            client_roots: is_mutual.then_some(roots.as_bytes()),
        };
        let tls = Server::new(&settings).expect("a certificate with its key");
        let text = "listen = \"127.0.0.1:0\"\nnumbers = \"n\"\n[[clients]]\ntarget = \"OPS\"";
        let config: ReportConfig = toml::from_str(text).expect("a section");
        let (_, reports) = reports_of(&events());
        let acceptor = Acceptor::open(&config, &folder, vec![None], Some(tls), reports);
        Port {
            acceptor: acceptor.expect("a port"),
            _folder: folder,
            server,
            clients,
            now_ns: 1 << 60,
            said: Vec::new(),
        }
    }

    fn work(&mut self) {
        let time = ReceiveTime {
            wall_ns: self.now_ns,
            mono_ns: self.now_ns,
        };
        self.acceptor.work(time).expect("numbers");
        while let Some(news) = self.acceptor.next_news() {
            self.said.push(news);
        }
    }

    /// Works until the acceptor reports a line, and returns the oldest line not yet returned.
    #[track_caller]
    fn line(&mut self) -> String {
        until("a line", HANGS, || {
            self.work();
            !self.said.is_empty()
        });
        self.said.remove(0)
    }

    fn connect(&self, identity: Option<&Issued>) -> Connection {
        let roots = self.server.pem();
        let settings = TlsSettings {
            server_name: HOST,
            roots: Some(roots.as_bytes()),
            pins: &[],
            identity: identity.map(|issued| Identity {
                certificates: issued.certificate_pem.as_bytes(),
                key: issued.key_pem.as_bytes(),
            }),
        };
        let client = Client::new(&settings).expect("valid settings");
        Connection::connect(self.acceptor.address(), Some(&client), u64::MAX).expect("it begins")
    }

    /// Ends a handshake, or fails in it. In TLS 1.3 the answer to a client's certificate comes later.
    fn greet(&mut self, connection: &mut Connection) {
        until("the end of the handshake", HANGS, || {
            self.work();
            !matches!(connection.is_ready(0), Ok(false))
        });
    }

    /// Logs on and receives this many reports: their ExecIDs.
    fn reports(&mut self, connection: &mut Connection, count: usize) -> Vec<String> {
        let (start, mut found) = (Instant::now(), Vec::new());
        let settings = Settings::new(Role::Initiator, "OPS", "TOUCHLINE");
        let mut session = Session::new(settings, Memory::default());
        let time = |now_ns| ReceiveTime {
            wall_ns: now_ns,
            mono_ns: now_ns,
        };
        session.connected(time(self.now_ns));
        while found.len() < count {
            assert!(start.elapsed() < HANGS, "{found:?} {:?}", self.said);
            let sent = connection
                .send(session.poll_transmit())
                .expect("it is open");
            session.transmitted(sent);
            self.work();
            let bytes = connection.receive(session.room()).expect("it is open");
            session.filled(bytes, time(self.now_ns));
            while let Some(event) = session.poll() {
                if let Event::Application(message, ..) = event {
                    let mut fields = message.fields().filter_map(Result::ok);
                    let id = fields.find(|field| field.tag == 17).expect("an ExecID");
                    found.push(String::from_utf8_lossy(id.value).into_owned());
                }
            }
        }
        found
    }

    /// The address has to wait, and is served after that.
    fn waits(&mut self, ours: &Issued) {
        let mut connection = self.connect(Some(ours));
        until("the wait of the address", HANGS, || {
            self.work();
            connection.is_ready(0).is_err()
        });
        self.now_ns += 2 * SECOND_NS;
        self.logs_on(Some(ours));
    }

    fn logs_on(&mut self, identity: Option<&Issued>) {
        let mut connection = self.connect(identity);
        self.greet(&mut connection);
        let found = self.reports(&mut connection, 5);
        assert_eq!(found, ["A-X1", "A-X2", "A-X3", "A-X2-H", "T-P1-2-8"]);
        assert_eq!(
            self.line(),
            "OPS logged on from 127.0.0.1, 0 reports sent before"
        );
    }
}

/// With and without certificates of clients the reports are those of a connection without TLS.
#[test]
fn a_client_of_tls_receives_the_reports() {
    let mut port = Port::open("server", false);
    port.logs_on(None);
    let mut port = Port::open("mutual", true);
    let ours = port.clients.issue("ops");
    port.logs_on(Some(&ours));
}

/// A client that fails in the handshake is one line, with its reason, and closed. Others are served meanwhile.
#[test]
fn a_failed_handshake_is_one_line_and_delays_nobody() {
    let mut port = Port::open("refused", true);
    let silent = TcpStream::connect(port.acceptor.address()).expect("it listens");
    let mut plain = TcpStream::connect(port.acceptor.address()).expect("it listens");
    let logon = b"8=FIX.4.4\x019=5\x0135=A\x0110=000\x01";
    plain.write_all(logon).expect("it is open");
    let begin = "connection from 127.0.0.1 refused: ";
    let line = port.line();
    assert!(
        line.starts_with(begin) && line.contains("TLS: the client does not use TLS"),
        "{line}"
    );
    let foreign = port.server.issue("ops");
    for (identity, why) in [
        (None, "TLS: the client showed no certificate"),
        (
            Some(&foreign),
            "TLS: the client's certificate is not of an issuer",
        ),
    ] {
        let mut connection = port.connect(identity);
        port.greet(&mut connection);
        let line = port.line();
        assert!(line.starts_with(begin) && line.contains(why), "{line}");
        until("the end of the connection", HANGS, || {
            connection.receive(&mut [0; 64]).is_err()
        });
    }
    let ours = port.clients.issue("ops");
    port.logs_on(Some(&ours));
    // The silent connection has had its time, and was open until now.
    port.now_ns += 10 * SECOND_NS;
    let end = format!("{begin}it did not finish the TLS handshake");
    until("the end of the silent client", HANGS, || port.line() == end);
    drop(silent);
}

/// Failed handshakes of an address are throttled like failed Logons: after six of them in a row the address waits, and then a
/// right client is served again.
#[test]
fn failed_handshakes_are_throttled() {
    let mut port = Port::open("throttled", true);
    let ours = port.clients.issue("ops");
    for _ in 0..6 {
        let mut connection = port.connect(None);
        port.greet(&mut connection);
        assert!(port.line().contains("showed no certificate"));
    }
    port.waits(&ours);
}

/// A client that sends its hello, costs a key exchange, and closes is throttled like a client with a wrong certificate.
#[test]
fn connections_that_are_closed_in_the_handshake_are_throttled() {
    let mut port = Port::open("closed", true);
    let ours = port.clients.issue("ops");
    for _ in 0..6 {
        let mut connection = port.connect(Some(&ours));
        // The client sends its ClientHello; the connection is established at once, since it is to this host.
        assert_eq!(connection.is_ready(0), Ok(false));
        port.work();
        drop(connection);
        assert!(port.line().ends_with("it did not finish the TLS handshake"));
    }
    port.waits(&ours);
}
