//! Tests of connections to banks, with and without TLS, over loopback, with the bank in the same thread.

mod hours;

use super::carry::Core;
use super::rig::{self, Host};
use crate::execution::config::Config;
use crate::execution::config::tests::{text, text_of};
use crate::execution::edge::{Link, Lost, Socket};
use crate::execution::standby::Standby;
use crate::execution::trader::{Incident, Trader};
use std::cell::Cell;
use std::net::SocketAddrV4;
use std::rc::Rc;
use std::time::Duration;
use touchline_lab::bank::scripted::ScriptedBank;
use touchline_net::stream::Readiness;
use touchline_net::tls::{Client, Identity, Server, ServerSettings, Settings as TlsSettings};
use touchline_testing::issuer::{Issued, Issuer};
use touchline_types::ReceiveTime;

/// Timeout of every step.
const HANGS: Duration = Duration::from_secs(20);
/// Largest read of the engine: less than a record of two reports.
const READ_MAX: usize = 32;
const MS: u64 = 1_000_000;
const HOST: &str = "orders.bank.example";

/// A link with short reads that counts the steps of connections.
struct Short(Socket, Rc<Cell<usize>>);

impl Link for Short {
    fn connect(&mut self, until_ns: u64) -> Result<(), Lost> {
        self.1.set(self.1.get() + 1);
        self.0.connect(until_ns)
    }

    fn is_connected(&mut self, now_ns: u64) -> Result<bool, Lost> {
        self.1.set(self.1.get() + 1);
        self.0.is_connected(now_ns)
    }

    fn receive(&mut self, room: &mut [u8]) -> Result<usize, Lost> {
        let most = room.len().min(READ_MAX);
        self.0.receive(&mut room[..most])
    }

    fn send(&mut self, bytes: &[u8]) -> Result<usize, Lost> {
        self.0.send(bytes)
    }

    fn has_unread(&self) -> bool {
        self.0.has_unread()
    }

    fn has_unsent(&self) -> bool {
        self.0.has_unsent()
    }

    fn close(&mut self) {
        self.0.close();
    }
}

/// An engine, most often with one bank. Only the test advances the time, so no timer is due.
struct Engine {
    core: Core<Host, Short>,
    readiness: Readiness,
    now_ns: u64,
    said: Vec<String>,
    /// Steps of connections so far, and most in a round.
    steps: Rc<Cell<usize>>,
    steps_max: usize,
}

impl Engine {
    fn open(bank: SocketAddrV4, tls: Option<Client>) -> Engine {
        Engine::of(&[bank], tls)
    }

    /// With banks A, B, and so on.
    fn of(banks: &[SocketAddrV4], tls: Option<Client>) -> Engine {
        Engine::with(banks, tls, "reconnect_ms = 1\nreconnect_ms_max = 5\n")
    }

    /// With these settings of each session.
    fn with(banks: &[SocketAddrV4], tls: Option<Client>, session: &str) -> Engine {
        let readiness = Readiness::new(banks.len()).expect("a descriptor");
        let steps = Rc::new(Cell::new(0));
        let links = banks.iter().enumerate().map(|(place, &bank)| {
            let socket = Socket::new(bank, tls.clone(), readiness.watch(place));
            Short(socket, Rc::clone(&steps))
        });
        let text = text_of(banks, session);
        Engine {
            core: rig::engine(&text, links),
            steps,
            steps_max: 0,
            readiness,
            now_ns: 1 << 60,
            said: Vec::new(),
        }
    }

    /// A round, as [`super::Trader`] makes it between two of its timers.
    fn round(&mut self) {
        self.readiness.look();
        let (now_ns, readiness) = (self.now_ns, &self.readiness);
        self.steps.set(0);
        self.core
            .order_sessions(now_ns, || now_ns, |bank| readiness.is_ready(bank));
        self.steps_max = self.steps_max.max(self.steps.get());
        let said = self.core.incidents.drain(..);
        self.said
            .extend(said.map(|incident: Incident| incident.to_string()));
    }

    fn is_up(&self) -> bool {
        self.core.banks[0].session.is_up()
    }
}

/// The order session of bank A.
fn listen(tls: Option<Server>) -> ScriptedBank {
    named("A", tls)
}

fn named(name: &str, tls: Option<Server>) -> ScriptedBank {
    let mut bank = ScriptedBank::listen(name, "T");
    bank.tls = tls;
    bank
}

/// Reports of unknown orders, in one record of TLS.
fn report(bank: &mut ScriptedBank, ids: &[&str]) {
    for id in ids {
        bank.report(&[
            (37, "O"),
            (17, *id),
            (150, "4"),
            (39, "4"),
            (11, "unknown"),
            (55, "EUR/USD"),
            (54, "1"),
            (151, "0"),
            (14, "0"),
            (6, "0"),
        ]);
    }
    assert_eq!(bank.flush(), 1, "one call, one record");
}

#[track_caller]
fn until(
    what: &str,
    engine: &mut Engine,
    bank: &mut ScriptedBank,
    is_so: impl Fn(&Engine) -> bool,
) {
    rounds(what, engine, bank, 0, is_so);
}

/// [`until`], but time advances with the host's clock.
#[track_caller]
fn in_time(
    what: &str,
    engine: &mut Engine,
    bank: &mut ScriptedBank,
    is_so: impl Fn(&Engine) -> bool,
) {
    rounds(what, engine, bank, MS, is_so);
}

/// Rounds of both sides, between which time goes on by `step_ns`, until something is so.
#[track_caller]
fn rounds(
    what: &str,
    engine: &mut Engine,
    bank: &mut ScriptedBank,
    step_ns: u64,
    is_so: impl Fn(&Engine) -> bool,
) {
    touchline_testing::until(what, HANGS, || {
        if is_so(engine) {
            return Ok(());
        }
        engine.now_ns += step_ns;
        engine.round();
        bank.work(ReceiveTime::at(engine.now_ns));
        Err(engine.said.clone())
    });
}

fn server(certificate: &Issued, clients: Option<&Issuer>) -> Option<Server> {
    let clients = clients.map(Issuer::pem);
    let settings = ServerSettings {
        certificates: certificate.certificate_pem.as_bytes(),
        key: certificate.key_pem.as_bytes(),
        client_roots: clients.as_ref().map(String::as_bytes),
    };
    Some(Server::new(&settings).expect("a certificate with its key"))
}

fn client(roots: &Issuer, identity: Option<&Issued>) -> Option<Client> {
    let roots = roots.pem();
    let settings = TlsSettings {
        server_name: HOST,
        roots: Some(roots.as_bytes()),
        pins: &[],
        identity: identity.map(|issued| Identity {
            certificates: issued.certificate_pem.as_bytes(),
            key: issued.key_pem.as_bytes(),
        }),
    };
    Some(Client::new(&settings).expect("valid settings"))
}

/// Two reports arrive in one TLS record, and the engine reads less than a record at a time. After its first read the
/// socket is empty, so its readiness shows nothing, and no timer is due: the rest waits only in the TLS library.
#[test]
fn reports_that_wait_in_the_tls_library_are_read() {
    let issuer = Issuer::new("an issuer");
    let mut bank = listen(server(&issuer.issue(HOST), None));
    let mut engine = Engine::open(bank.address(), client(&issuer, None));
    until("a session", &mut engine, &mut bank, Engine::is_up);
    report(&mut bank, &["X1", "X2"]);
    touchline_testing::until("bytes in the socket", HANGS, || {
        engine.readiness.look();
        engine.readiness.is_ready(0)
    });
    engine.round();
    assert!(
        engine.core.totals.reports < 2,
        "the read room is too large for this test"
    );
    engine.readiness.look();
    assert!(
        !engine.readiness.is_ready(0),
        "bytes are left in the socket"
    );
    for _ in 0..100 {
        engine.round();
    }
    assert_eq!(engine.core.totals.reports, 2, "reports wait");
}

/// Each refusal is one line with its reason, for any number of attempts; another reason is another line, and the
/// session comes up when the reason is gone.
#[test]
fn a_bank_that_cannot_be_verified_is_one_line_with_the_reason() {
    let issuer = Issuer::new("an issuer");
    let other = Issuer::new("another issuer");
    for (certificate, reason) in [
        (issuer.expired(HOST), "has expired"),
        (issuer.not_yet(HOST), "is not valid yet"),
        (issuer.issue("orders.other.example"), "is for another host"),
        (other.issue(HOST), "was issued by an unknown issuer"),
        (Issued::by_itself(HOST), "is self-signed"),
    ] {
        let mut bank = listen(server(&certificate, None));
        let address = bank.address();
        let mut engine = Engine::open(address, client(&issuer, None));
        in_time(reason, &mut engine, &mut bank, |engine| {
            !engine.said.is_empty()
        });
        let begin = format!(
            "order session of A cannot connect to {address}: TLS: the server's certificate {reason}"
        );
        assert!(engine.said[0].starts_with(&begin), "{:?}", engine.said);
        assert!(
            engine.said[0].ends_with("; attempt 1, the next one in 1 ms"),
            "{:?}",
            engine.said
        );
        let until_ns = engine.now_ns + 100 * MS;
        in_time("a pause", &mut engine, &mut bank, |engine| {
            engine.now_ns > until_ns
        });
        assert_eq!(engine.said.len(), 1, "{:?}", engine.said);
        assert!(!engine.is_up());
        engine.now_ns += 60_000 * MS;
        in_time("a reminder", &mut engine, &mut bank, |engine| {
            engine.said.len() == 2
        });
        assert!(engine.said[1].starts_with(&begin), "{:?}", engine.said);
        bank.tls = server(&issuer.issue(HOST), None);
        in_time("a session", &mut engine, &mut bank, Engine::is_up);
    }
}

/// With and without TLS: the port is closed, the connection gets no answer, the bank answers without TLS.
#[test]
fn a_connection_that_is_not_made_is_a_line_with_the_reason() {
    let issuer = Issuer::new("an issuer");
    for tls in [None, client(&issuer, None)] {
        let bank = listen(None);
        let address = bank.address();
        let mut engine = Engine::open(address, tls.clone());
        drop(bank);
        let mut nobody = listen(None);
        in_time("a refusal", &mut engine, &mut nobody, |engine| {
            !engine.said.is_empty()
        });
        let begin = format!("order session of A cannot connect to {address}: connection refused");
        assert!(engine.said[0].starts_with(&begin), "{:?}", engine.said);
    }
    // The kernel accepts; the bank never reads.
    let silent = listen(None);
    let mut engine = Engine::open(silent.address(), client(&issuer, None));
    let mut nobody = listen(None);
    for _ in 0..50 {
        engine.round();
        std::thread::sleep(Duration::from_micros(100));
    }
    assert_eq!(engine.said, [""; 0]);
    engine.now_ns += 5_000 * MS;
    until("a timeout", &mut engine, &mut nobody, |engine| {
        !engine.said.is_empty()
    });
    assert!(
        engine.said[0].contains("connection timed out"),
        "{:?}",
        engine.said
    );
    // The bank takes the first message for garbage and closes, as many do; or it answers in FIX.
    let mut plain = listen(None);
    let mut engine = Engine::open(plain.address(), client(&issuer, None));
    in_time("an end", &mut engine, &mut plain, |engine| {
        !engine.said.is_empty()
    });
    assert!(
        engine.said[0].contains(" cannot connect to "),
        "{:?}",
        engine.said
    );
}

/// A bank that requires a client certificate gets ours; without a configured certificate the log line names the missing
/// one.
#[test]
fn a_bank_that_asks_gets_our_certificate() {
    let (issuer, firm) = (Issuer::new("an issuer"), Issuer::new("the firm"));
    let ours = firm.issue("desk");
    let mut bank = listen(server(&issuer.issue(HOST), Some(&firm)));
    let address = bank.address();
    let mut engine = Engine::open(address, client(&issuer, None));
    in_time("a refusal", &mut engine, &mut bank, |engine| {
        !engine.said.is_empty()
    });
    assert!(
        engine.said[0].contains("wants a client certificate"),
        "{:?}",
        engine.said
    );
    let mut engine = Engine::open(address, client(&issuer, Some(&ours)));
    in_time("a session", &mut engine, &mut bank, Engine::is_up);
}

/// Eight banks at once, as after a cut of the network. The first bank accepts the connection but sends nothing, so its
/// handshake does not end.
#[test]
fn a_round_makes_one_step_of_one_handshake_and_no_bank_starves() {
    let issuer = Issuer::new("an issuer");
    let certificate = issuer.issue(HOST);
    let names = ["A", "B", "C", "D", "E", "F", "G", "H"];
    let mut banks = names.map(|name| named(name, server(&certificate, None)));
    let addresses = banks.each_ref().map(|bank| bank.address());
    let mut engine = Engine::of(&addresses, client(&issuer, None));
    touchline_testing::until("a session of each other bank", HANGS, || {
        engine.round();
        for bank in &mut banks[1..] {
            bank.work(ReceiveTime::at(engine.now_ns));
        }
        let mut others = engine.core.banks.sessions().skip(1);
        match others.all(|session| session.is_up()) {
            true => Ok(()),
            false => Err(engine.said.clone()),
        }
    });
    assert_eq!(engine.steps_max, 1, "steps of connections in a round");
    assert!(engine.core.banks[0].session.is_disconnected());
}

/// A session that connects or has sent its Logon when the engine stops does not come up any more, and the engine waits for no such
/// session. One that is up logs out.
#[test]
fn a_session_that_is_not_up_when_the_engine_stops_does_not_come_up() {
    let mut was_up = false;
    for rounds in 0..1_000 {
        if was_up {
            break;
        }
        let mut bank = listen(None);
        let mut engine = Engine::open(bank.address(), None);
        for _ in 0..rounds {
            engine.round();
            bank.work(ReceiveTime::at(engine.now_ns));
        }
        was_up = engine.is_up();
        engine.core.log_out(ReceiveTime::at(engine.now_ns));
        assert_eq!(engine.core.is_disconnected(), !was_up, "{rounds}");
        for _ in 0..50 {
            engine.round();
            assert!(was_up || !engine.is_up(), "{rounds}: {:?}", engine.said);
            bank.work(ReceiveTime::at(engine.now_ns));
        }
        until("an end", &mut engine, &mut bank, |engine| {
            engine.core.is_disconnected()
        });
    }
    assert!(was_up, "a session that is up logs out");
}

/// Pauses are doubled also if each connection gets as far as the Logon, from the third on beyond `reconnect_ms_max`, until a session
/// lasts for a minute.
#[test]
fn a_bank_that_accepts_and_closes_is_tried_less_and_less_often() {
    let mut bank = listen(None);
    let mut engine = Engine::open(bank.address(), None);
    let mut pauses_ms = Vec::new();
    for lasts_ms in [0, 1, 4, 0, 5, 60_000, 0] {
        until("a session", &mut engine, &mut bank, Engine::is_up);
        engine.now_ns += lasts_ms * MS;
        bank.disconnect();
        until("an end", &mut engine, &mut bank, |engine| !engine.is_up());
        let session = &engine.core.banks[0].session;
        let pause_ms = (0..100).find(|ms| session.is_connecting(engine.now_ns + ms * MS));
        let pause_ms = pause_ms.expect("it connects again");
        pauses_ms.push(pause_ms);
        engine.now_ns += pause_ms * MS;
    }
    assert_eq!(pauses_ms, [1, 2, 4, 8, 16, 1, 2]);
}

/// A session that was up and is lost is another incident.
#[test]
fn a_bank_that_closes_is_a_line() {
    let issuer = Issuer::new("an issuer");
    let mut bank = listen(server(&issuer.issue(HOST), None));
    let mut engine = Engine::open(bank.address(), client(&issuer, None));
    until("a session", &mut engine, &mut bank, Engine::is_up);
    drop(bank);
    let mut nobody = listen(None);
    until("an end", &mut engine, &mut nobody, |engine| !engine.is_up());
    assert!(
        engine.said[1].starts_with("order session of A was lost: connection closed by the bank"),
        "{:?}",
        engine.said
    );
}

/// A session's section names files relative to the directory of the configuration; an unusable file is refused with its
/// bank.
#[test]
fn a_section_that_cannot_be_used_is_refused_with_its_bank() {
    let text = |tls: &str| format!("{}[sessions.tls]\n{tls}\n", text());
    let config = Config::parse(&text("")).expect("an empty table is enough");
    assert!(config.access().expect("public issuers")[0].tls.is_some());
    for (tls, said) in [
        (
            "roots_file = \"r.pem\"",
            "sessions: A: tls: /nowhere/r.pem: cannot read it",
        ),
        (
            "pins = [\"xyz\"]",
            "sessions: A: tls: xyz: a pin has 64 hexadecimal digits",
        ),
        (
            "client_certificate_file = \"c.pem\"",
            "sessions: A: tls: /nowhere/c.pem: the client certificate has no key",
        ),
    ] {
        let mut config = Config::parse(&text(tls)).expect(tls);
        config.starts_at(std::path::Path::new("/nowhere"));
        let error = config.access().expect_err(tls).to_string();
        assert!(error.starts_with(said), "{error}");
    }
    // Neither an engine nor a standby begins without the files, and no journal is made.
    let parent = touchline_testing::Folder::new("tls");
    let folder = parent.join("engine");
    let mut config = Config::parse(&text("roots_file = \"r.pem\"")).expect("a configuration");
    config.starts_at(&folder);
    config.run.directory = Some(folder.join("buses"));
    let errors = [Trader::open(&config).err(), Standby::open(&config).err()];
    for error in errors {
        let error = error.expect("it has no issuers").to_string();
        assert!(error.contains("r.pem: cannot read it"), "{error}");
    }
    assert!(!folder.exists(), "something was made");
    let error = Config::parse(&text("verify = false")).expect_err("no such setting");
    assert!(
        error
            .to_string()
            .contains("unknown setting `verify` in [sessions.tls]"),
        "{error}"
    );
    // A key in the text is refused before the parser can repeat it.
    let error = Config::parse(&text("client_key = \"sentinel-71b1e02a\"")).expect_err("a key");
    let error = error.to_string();
    assert!(
        error.contains("client_key") && error.contains("{ file ="),
        "{error}"
    );
    assert!(!error.contains("sentinel"), "{error}");
}
