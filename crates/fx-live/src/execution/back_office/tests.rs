//! A scripted client over TCP, in one thread with the acceptor.

use super::reports::tests::{events, reports_of};
use super::{Acceptor, Reports};
use crate::execution::config::ReportConfig;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use touchline_fx_desk::sample::tell;
use touchline_session::fix::{Event, Memory, Role, Session, Settings, Store};
use touchline_testing::Folder;
use touchline_types::ReceiveTime;
use touchline_wire::fix::{Encoder, Message};

/// Rounds without a message after which nothing more is to come.
const QUIET: usize = 200;
const PASSWORD: &[u8] = b"swordfish";

/// A folder and the reports of a journal.
struct Office {
    folder: Folder,
    acceptor: Acceptor,
    now_ns: u64,
}

/// A received report: ExecID, whether it is marked as PossDup or PossResend, and its fields from ExecID on.
type Received = (String, bool, bool, String);

fn config() -> ReportConfig {
    let text = "listen = \"127.0.0.1:0\"\nnumbers = \"n\"\n[[clients]]\ntarget = \"OPS\"\n[[clients]]\ntarget = \"RISK\"\n\
                from = [\"127.0.0.9\"]";
    toml::from_str(text).expect("a section")
}

fn reports(count: usize) -> Reports {
    reports_of(&events()[..count]).1
}

/// The first `count` lines, this much later, in a journal with this id.
fn reports_after(count: usize, later_ns: u64, journal: [u8; 16]) -> Reports {
    let mut events = events();
    for (at_ns, _) in &mut events {
        *at_ns += later_ns;
    }
    let (_, mut reports) = reports_of(&events[..count]);
    reports.of_journal(journal);
    reports
}

impl Office {
    /// An acceptor of the first `count` lines.
    fn open(name: &str, count: usize) -> Office {
        let folder = Folder::new(name);
        let acceptor = Office::acceptor(&folder, count);
        Office {
            folder,
            acceptor,
            now_ns: 1 << 60,
        }
    }

    fn acceptor(folder: &std::path::Path, count: usize) -> Acceptor {
        let passwords = vec![Some(PASSWORD.into()), None];
        Acceptor::open(&config(), folder, passwords, None, reports(count)).expect("a port")
    }

    /// Restarts the acceptor as after a kill of the process: with the journal of `count` lines.
    fn restart(&mut self, count: usize) {
        let other = Acceptor::open(
            &config(),
            &Folder::new("nobody"),
            vec![],
            None,
            Reports::default(),
        );
        self.acceptor = other.expect("a port without clients");
        self.acceptor = Office::acceptor(&self.folder, count);
    }

    fn time(&mut self) -> ReceiveTime {
        self.now_ns += 1_000_000;
        ReceiveTime {
            wall_ns: self.now_ns,
            mono_ns: self.now_ns,
        }
    }

    fn news(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.acceptor.next_news()).collect()
    }

    /// Logs on with this store and password, and receives until nothing more comes, or at most `most` reports, of which
    /// the last are lost with the connection. Returns the store.
    fn session(
        &mut self,
        store: Memory,
        password: &[u8],
        reset: bool,
        most: usize,
    ) -> (Memory, Vec<Received>) {
        let mut settings = Settings::new(Role::Initiator, "OPS", "TOUCHLINE");
        settings.reset_on_logon = reset;
        let mut session = Session::new(settings, store);
        let mut stream = TcpStream::connect(self.acceptor.address()).expect("it listens");
        stream.set_nonblocking(true).expect("a socket");
        let mut received = Vec::new();
        session.connected_with(self.time(), |logon| {
            logon.bytes(554, password);
        });
        let mut quiet = 0;
        while quiet < QUIET && session.disconnect_reason().is_none() {
            quiet += 1;
            let time = self.time();
            self.acceptor.work(time).expect("numbers");
            let out = session.poll_transmit();
            let sent = stream.write(out).unwrap_or(0);
            session.transmitted(sent);
            match stream.read(session.room()) {
                Ok(0) => break,
                Ok(bytes) => session.filled(bytes, time),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    std::thread::sleep(std::time::Duration::from_micros(100));
                }
                Err(_) => break,
            }
            while let Some(event) = session.poll() {
                quiet = 0;
                if let Event::Application(message, ..) = event {
                    if received.len() == most {
                        break;
                    }
                    received.push(read(&message));
                }
            }
            if received.len() == most {
                break;
            }
        }
        drop(stream);
        for _ in 0..QUIET {
            let time = self.time();
            self.acceptor.work(time).expect("numbers");
            if !self.acceptor.is_connected() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_micros(100));
        }
        (session.into_store(), received)
    }
}

fn read(message: &Message<'_>) -> Received {
    assert_eq!(message.msg_type(), b"8");
    let (mut id, mut marks, mut rest) = (String::new(), [false; 2], String::new());
    for field in message.fields().map_while(Result::ok) {
        let value = String::from_utf8_lossy(field.value);
        match field.tag {
            43 => marks[0] = true,
            97 => marks[1] = true,
            17 => id = value.into_owned(),
            8 | 9 | 10 | 34 | 35 | 49 | 52 | 56 | 122 => {}
            tag => rest.push_str(&format!("{tag}={value}|")),
        }
    }
    (id, marks[0], marks[1], rest)
}

fn ids(received: &[Received]) -> Vec<&str> {
    received.iter().map(|(id, ..)| id.as_str()).collect()
}

const IDS: [&str; 5] = ["A-X1", "A-X2", "A-X3", "A-X2-H", "T-P1-2-8"];

/// A client that connects late has all reports once; later ones come over the same numbers, also after the reporting
/// process was killed.
#[test]
fn each_report_comes_once_whenever_a_client_connects() {
    let mut office = Office::open("once", 4);
    let (store, received) = office.session(Memory::default(), PASSWORD, false, 99);
    assert_eq!(ids(&received), IDS[..2]);
    office.restart(events().len());
    let (store, received) = office.session(store, PASSWORD, false, 99);
    assert_eq!(ids(&received), IDS[2..]);
    assert!(received.iter().all(|(_, dup, resend, _)| !dup && !resend));
    let (_, received) = office.session(store, PASSWORD, false, 99);
    assert_eq!(ids(&received), [""; 0]);
}

/// Reports that were lost with a connection are requested by the client and sent again with PossDup, byte for byte,
/// from the journal by a process started since.
#[test]
fn lost_reports_are_sent_again_from_the_journal() {
    let mut office = Office::open("again", events().len());
    let (store, all) = office.session(Memory::default(), PASSWORD, false, 99);
    assert_eq!(ids(&all), IDS);
    let next_out = store.next_out();
    office.restart(events().len());
    // The client has lost the reports it received, and knows only its own next number.
    let mut store = Memory::default();
    for _ in 1..next_out {
        store.add(b"").expect("memory");
    }
    let (_, again) = office.session(store, PASSWORD, false, 99);
    assert_eq!(ids(&again), IDS);
    for (again, first) in again.iter().zip(&all) {
        assert!(again.1 && !again.2, "{again:?}");
        assert_eq!(again.3, first.3);
    }
    // The connection is cut in the middle: each report arrives, and a repeated report is marked with PossDup.
    let mut office = Office::open("cut", events().len());
    let (store, first) = office.session(Memory::default(), PASSWORD, false, 2);
    let (_, second) = office.session(store, PASSWORD, false, 99);
    let mut seen: Vec<&str> = ids(&first);
    for (id, is_dup, ..) in &second {
        assert!(
            *is_dup || !seen.contains(&id.as_str()),
            "{id} came twice, unmarked"
        );
        seen.push(id);
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), IDS.len());
}

/// A client that begins again at 1 has everything again, marked with PossResend.
#[test]
fn a_reset_sends_everything_again() {
    let mut office = Office::open("reset", events().len());
    let (store, received) = office.session(Memory::default(), PASSWORD, true, 99);
    assert_eq!(ids(&received), IDS);
    assert!(received.iter().all(|(_, _, resend, _)| !resend));
    let (_, received) = office.session(store, PASSWORD, true, 99);
    assert_eq!(ids(&received), IDS);
    assert!(received.iter().all(|(_, dup, resend, _)| !dup && *resend));
}

/// After the loss of the journal's end, or with another journal, no number names another report.
#[test]
fn another_journal_is_not_taken_for_the_old_one() {
    let mut office = Office::open("other", events().len());
    let (store, _) = office.session(Memory::default(), PASSWORD, false, 99);
    let next_out = store.next_out();
    office.restart(4);
    let mut lost = Memory::default();
    for _ in 1..next_out {
        lost.add(b"").expect("memory");
    }
    let (store, received) = office.session(lost, PASSWORD, false, 99);
    // The rest of the numbers is filled as a gap.
    assert_eq!(ids(&received), IDS[..2]);
    // The client's reports come when the journal has them again.
    let (mut ledger, _) = reports_of(&events()[..4]);
    for (at_ns, event) in &events()[4..] {
        tell(*at_ns, event, true, |told| {
            ledger.take(told);
            office.acceptor.take(&ledger, told);
        });
    }
    let (_, received) = office.session(store, PASSWORD, false, 99);
    assert_eq!(ids(&received), IDS[2..]);
}

/// The numbers of a client belong to one journal, whose id is stored beside them. Numbers without an id take the first
/// journal; the journal of another engine, which existed while the numbers were used, is refused and changes nothing; a
/// journal that began since is a new journal of the same engine.
#[test]
fn the_journal_of_another_engine_does_not_continue_the_numbers() {
    let (one, other) = ([0x11; 16], [0x22; 16]);
    let mut office = Office::open("owner", 4);
    let files = std::fs::read_dir(&office.folder).expect("our folder");
    let mut files = files.map(|file| file.expect("a file").path());
    let file = files.find(|file| file.to_string_lossy().contains("OPS"));
    let file = file.expect("the client's numbers");
    let id = |file: &std::path::Path| std::fs::read(file).expect("numbers")[32..48].to_vec();
    // Numbers of a version that did not store the id, or of an engine before it makes its journal.
    let (store, received) = office.session(Memory::default(), PASSWORD, false, 99);
    assert_eq!((ids(&received).len(), id(&file)), (2, vec![0; 16]));
    office
        .acceptor
        .of_journal(Some(one))
        .expect("the first one");
    assert_eq!(id(&file), one);
    let open = |folder: &std::path::Path, journal, count, later_ns| {
        let reports = reports_after(count, later_ns, journal);
        let passwords = vec![Some(PASSWORD.into()), None];
        Acceptor::open(&config(), folder, passwords, None, reports)
    };
    let nobody = |office: &mut Office| {
        let none = Acceptor::open(
            &config(),
            &Folder::new("nobody"),
            vec![],
            None,
            Reports::default(),
        );
        office.acceptor = none.expect("a port without clients");
    };
    nobody(&mut office);
    let before = std::fs::read(&file).expect("numbers");
    let refused = open(&office.folder, other, 5, 0)
        .err()
        .expect("it is refused");
    let refused = refused.to_string();
    let (own, found) = ("11".repeat(16), "22".repeat(16));
    assert!(
        refused.contains("it is the journal of another engine")
            && refused.contains(&format!("id {found}, these numbers are of {own}")),
        "{refused}"
    );
    assert!(std::fs::read(&file).expect("numbers") == before, "changed");
    // The same journal, and a new one, continue.
    office.acceptor = open(&office.folder, one, events().len(), 0).expect("the same");
    let (_, received) = office.session(store, PASSWORD, false, 99);
    assert_eq!(ids(&received), IDS[2..]);
    nobody(&mut office);
    let later_ns = office.now_ns;
    office.acceptor = open(&office.folder, other, 4, later_ns).expect("a new one");
    assert_eq!(id(&file), other);
}

/// A client without a session, with another password or from another address is refused, and the log states the reason.
#[test]
fn strangers_are_refused_with_one_line() {
    let mut office = Office::open("strangers", events().len());
    let (_, received) = office.session(Memory::default(), b"guess", false, 99);
    assert_eq!(ids(&received), [""; 0]);
    let news = office.news();
    assert!(
        news.iter()
            .any(|line| line == "OPS refused, from 127.0.0.1: wrong password"),
        "{news:?}"
    );
    for (logon, why) in [
        ("RISK", "the CompIDs are those of no client"),
        ("NOBODY", "the CompIDs are those of no client"),
    ] {
        let mut stream = TcpStream::connect(office.acceptor.address()).expect("it listens");
        let mut room = [0; 256];
        let mut encoder = Encoder::new(&mut room, b"FIX.4.4", b"A");
        encoder
            .bytes(49, logon.as_bytes())
            .bytes(56, b"TOUCHLINE")
            .unsigned(34, 1);
        stream
            .write_all(encoder.finish().expect("room"))
            .expect("a socket");
        let mut news = Vec::new();
        for _ in 0..QUIET {
            let time = office.time();
            office.acceptor.work(time).expect("numbers");
            news.extend(office.news());
            if !news.is_empty() {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert_eq!(
            news,
            [format!("connection from 127.0.0.1 refused: {why}")],
            "{logon}"
        );
    }
    // The right one is still served.
    let (_, received) = office.session(Memory::default(), PASSWORD, false, 99);
    assert_eq!(ids(&received), IDS);
}
