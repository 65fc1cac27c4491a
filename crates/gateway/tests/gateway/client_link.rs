//! Link to a venue over TCP: real sockets of this host, and a clock that the test moves.

mod hours;
mod server;
mod test_transport;

use server::Server;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::time::Duration;
use test_transport::TestTransport;
use touchline_gateway::Incident;
use touchline_gateway::live::{Dial, Host, Phase};
use touchline_net::tls::{Client, Settings};
use touchline_testing::free_address;
use touchline_testing::issuer::Issuer;
use touchline_wire::fix::{Encoder, Precision, tag};

const MILLISECOND: u64 = 1_000_000;
const BACKOFF_MS: u64 = 100;
const BACKOFF_MS_MAX: u64 = 1_600;
const CONNECT_MS: u64 = 700;

fn plain(name: impl Into<String>) -> Host {
    Host {
        name: name.into(),
        tls: None,
    }
}

fn dial(hosts: Vec<Host>) -> Dial {
    Dial {
        hosts,
        connect_ns: CONNECT_MS * MILLISECOND,
        backoff_ns: BACKOFF_MS * MILLISECOND,
        backoff_ns_max: BACKOFF_MS_MAX * MILLISECOND,
    }
}

/// A port of this host without a listener.
fn closed_port() -> String {
    free_address().to_string()
}

fn listener() -> TcpListener {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    listener.set_nonblocking(true).expect("a socket");
    listener
}

fn name(listener: &TcpListener) -> String {
    listener.local_addr().expect("an address").to_string()
}

/// Each backoff is between half of its length and all of it, the length doubles up to its limit, and no two gateways
/// have the same backoffs.
#[test]
fn backoffs_grow_up_to_their_maximum_and_are_random() {
    let rests = |chance| {
        let mut transport = TestTransport::new(dial(vec![plain(closed_port())]), chance);
        transport.until_failures(1);
        let rest = |failures| {
            let before = transport.now_ms();
            transport.until_failures(failures);
            transport.now_ms() - before
        };
        (2..10).map(rest).collect::<Vec<u64>>()
    };
    let (one, other) = (rests(7), rests(8));
    assert_ne!(one, other, "two gateways come back at the same moments");
    for rests in [one, other] {
        let mut whole = BACKOFF_MS;
        for rest in &rests {
            // A few steps are needed to find that the port is closed.
            let range = whole / 2..=whole + 5;
            assert!(
                range.contains(rest),
                "{rest} ms, not in {range:?}: {rests:?}"
            );
            whole = (2 * whole).min(BACKOFF_MS_MAX);
        }
    }
}

/// A logon does not reset the backoff; a session that lasted as long as the longest backoff does, which is a minute while the
/// venue closes again and again.
#[test]
fn only_a_lasting_connection_resets_the_backoff() {
    let venue = listener();
    let mut transport = TestTransport::new(dial(vec![plain(name(&venue))]), 3);
    let last_backoff = |transport: &mut TestTransport, stands_ms| {
        let stream = transport.until_accepted(&venue);
        transport.pass(stands_ms);
        drop(stream);
        transport.until("lost", |transport| transport.counter("connected") == 0);
        let before = transport.now_ms();
        let stream = transport.until_accepted(&venue);
        let rest = transport.now_ms() - before;
        drop(stream);
        transport.until("lost", |transport| transport.counter("connected") == 0);
        rest
    };
    for _ in 0..4 {
        last_backoff(&mut transport, 50);
    }
    let rest = last_backoff(&mut transport, 50);
    assert!(
        rest >= BACKOFF_MS_MAX / 2,
        "it storms a venue that lets it in: {rest} ms"
    );
    let rest = last_backoff(&mut transport, BACKOFF_MS_MAX + 10);
    assert!(rest >= BACKOFF_MS_MAX / 2, "it closes as before: {rest} ms");
    let rest = last_backoff(&mut transport, 60_010);
    assert!(rest <= BACKOFF_MS + 5, "it stood, and rests for {rest} ms");
    assert!(transport.counter("connections_lost") >= 10);
    assert_eq!(
        transport.last_error(),
        format!(
            "{}: connection reset or closed by the other side",
            name(&venue)
        )
    );
}

/// The text of a Logout followed at once by a disconnect is reported, however late the link reads
/// it.
#[test]
fn the_text_of_a_logout_is_reported_instead_of_the_disconnect() {
    let venue = listener();
    let mut transport = TestTransport::new(dial(vec![plain(name(&venue))]), 11);
    let mut stream = transport.until_accepted(&venue);
    let mut room = [0; 256];
    let mut logout = Encoder::new(&mut room, b"FIX.4.4", b"5");
    logout
        .bytes(tag::SENDER_COMP_ID, b"VENUE")
        .bytes(tag::TARGET_COMP_ID, b"FIRM")
        .unsigned(tag::MSG_SEQ_NUM, 1)
        .timestamp(
            tag::SENDING_TIME,
            test_transport::wall_ns(),
            Precision::Milliseconds,
        )
        .bytes(tag::TEXT, b"come back tomorrow");
    let logout = logout.finish().expect("it has room");
    stream.write_all(logout).expect("it is read");
    drop(stream);
    transport.hear();
    transport.until("the end", |transport| transport.counter("connected") == 0);
    assert!(
        transport.last_error().contains("come back tomorrow"),
        "{}",
        transport.last_error()
    );
    assert_eq!(transport.counter("connections_closed"), 1);
    assert_eq!(transport.counter("connections_lost"), 0);
}

/// A venue that refuses each Logon: the third refusal is reported with the venue's message and without our password, then each time
/// that their number has doubled; the pause grows beyond its configured maximum.
#[test]
fn a_refusal_that_repeats_is_told_with_the_message_and_the_pause_grows() {
    let venue = listener();
    let mut transport = TestTransport::new(dial(vec![plain(name(&venue))]), 3);
    let mut pauses = Vec::new();
    for round in 1..=12 {
        let before = transport.now_ms();
        let mut stream = transport.until_accepted(&venue);
        pauses.push(transport.now_ms() - before);
        let mut room = [0; 256];
        let mut message = Encoder::new(&mut room, b"FIX.4.4", b"5");
        message
            .bytes(tag::SENDER_COMP_ID, b"VENUE")
            .bytes(tag::TARGET_COMP_ID, b"FIRM")
            .unsigned(tag::MSG_SEQ_NUM, 1)
            .bytes(tag::SENDING_TIME, b"20260105-00:00:00")
            .bytes(tag::TEXT, format!("refusal {round}").as_bytes())
            .bytes(tag::PASSWORD, b"sentinel");
        let bytes = message.finish().expect("a short message");
        stream.write_all(bytes).expect("a connection");
        transport.until("a refusal", |transport| {
            transport.counter("connections_closed") == round
        });
    }
    transport.pass(5);
    let told: Vec<_> = std::mem::take(&mut transport.others)
        .into_iter()
        .map(|incident| match incident {
            Incident::FailureRepeated(failure) => failure,
            other => panic!("{other:?}"),
        })
        .collect();
    let counts: Vec<u32> = told.iter().map(|failure| failure.count).collect();
    assert_eq!(counts, [3, 6, 12]);
    for failure in told {
        assert_eq!(failure.host, name(&venue));
        assert!(failure.reason.contains("refusal"), "{failure:?}");
        assert!(failure.message.contains("35=5|"), "{failure:?}");
        assert!(!format!("{failure:?}").contains("sentinel"), "{failure:?}");
    }
    let longest = pauses.iter().max().expect("pauses");
    assert!(*longest > 10 * BACKOFF_MS_MAX, "{pauses:?}");
    assert!(*longest <= 60_100, "{pauses:?}");
}

/// A venue that accepts the logon, sends, and closes without a message when the session has lasted longer than the longest pause: the
/// third close is reported with the last message that it sent, and the pause grows beyond its configured maximum.
#[test]
fn a_venue_that_closes_again_and_again_is_told_with_its_last_message_and_the_pause_grows() {
    let venue = listener();
    let mut transport = TestTransport::new(dial(vec![plain(name(&venue))]), 3);
    let mut pauses = Vec::new();
    for round in 1..=12 {
        let before = transport.now_ms();
        let mut stream = transport.until_accepted(&venue);
        pauses.push(transport.now_ms() - before);
        for (number, msg_type) in [(1, b"A"), (2, b"0")] {
            let mut room = [0; 256];
            let mut message = Encoder::new(&mut room, b"FIX.4.4", msg_type);
            message
                .bytes(tag::SENDER_COMP_ID, b"VENUE")
                .bytes(tag::TARGET_COMP_ID, b"FIRM")
                .unsigned(tag::MSG_SEQ_NUM, number)
                .timestamp(
                    tag::SENDING_TIME,
                    test_transport::wall_ns(),
                    Precision::Milliseconds,
                );
            if number == 1 {
                message.unsigned(98, 0).unsigned(108, 30).bytes(141, b"Y");
            }
            let bytes = message.finish().expect("a short message");
            stream.write_all(bytes).expect("a connection");
        }
        transport.hear();
        transport.pass(BACKOFF_MS_MAX + 10);
        drop(stream);
        transport.until("the end", |transport| {
            transport.counter("connections_lost") == round
        });
    }
    transport.pass(5);
    let told: Vec<_> = std::mem::take(&mut transport.others)
        .into_iter()
        .map(|incident| match incident {
            Incident::FailureRepeated(failure) => failure,
            other => panic!("{other:?}"),
        })
        .collect();
    let counts: Vec<u32> = told.iter().map(|failure| failure.count).collect();
    assert_eq!(counts, [3, 6, 12], "{told:?}");
    for failure in told {
        assert!(failure.reason.contains("closed"), "{failure:?}");
        assert!(failure.message.contains("|35=0|"), "{failure:?}");
    }
    // Until the third time each connection lasted.
    assert!(
        pauses[..4].iter().all(|pause| *pause <= BACKOFF_MS + 5),
        "{pauses:?}"
    );
    let longest = pauses.iter().max().expect("pauses");
    assert!(*longest > 10 * BACKOFF_MS_MAX, "{pauses:?}");
    assert!(*longest <= 60_100, "{pauses:?}");
}

/// After failed attempts at all hosts, the first one is tried again.
#[test]
fn hosts_are_tried_in_turn() {
    let (first, second) = (listener(), listener());
    let hosts = [&name(&first), &closed_port(), &name(&second)];
    let hosts = hosts.map(|name| plain(name.as_str()));
    let mut transport = TestTransport::new(dial(hosts.into()), 5);
    for round in 1..=3 {
        drop(transport.until_accepted(&first));
        assert!(second.accept().is_err(), "not its turn");
        transport.until_failures(round);
        assert!(transport.last_error().ends_with(": connection refused"));
        drop(transport.until_accepted(&second));
        assert!(first.accept().is_err(), "not its turn");
    }
}

/// An attempt without an answer times out: in TCP, because no process accepts the connection, and in TLS, because the
/// server does not answer.
#[test]
fn an_attempt_that_hangs_ends_in_time() {
    let full = listener();
    let address = full.local_addr().expect("an address");
    let patience = Duration::from_millis(300);
    let waiting: Vec<TcpStream> =
        std::iter::from_fn(|| TcpStream::connect_timeout(&address, patience).ok()).collect();
    let silent = listener();
    let issuer = Issuer::new("an issuer");
    let over_tls = Host {
        tls: Some(client(&issuer, "venue.example")),
        ..plain(name(&silent))
    };
    for host in [plain(name(&full)), over_tls] {
        let host_name = host.name.clone();
        let mut transport = TestTransport::new(dial(vec![host]), 1);
        transport.until("an attempt", |transport| {
            transport.phase() == Phase::Connecting
        });
        let before = transport.now_ms();
        transport.until_failures(1);
        let took = transport.now_ms() - before;
        assert!(
            (CONNECT_MS - 5..=CONNECT_MS + 5).contains(&took),
            "{took} ms"
        );
        assert_eq!(
            transport.last_error(),
            format!("{host_name}: connection timed out")
        );
    }
    assert!(waiting.len() > 100, "the queue of a listener is long");
}

/// An unknown host name is reported as such, and not as a refused connection.
#[test]
fn a_name_that_is_not_found_is_reported_as_such() {
    for (host, wanted) in [
        ("no such host:5001", "no such host:5001: name not found: "),
        ("[::1]:5001", "[::1]:5001: no IPv4 address"),
    ] {
        let mut transport = TestTransport::new(dial(vec![plain(host)]), 1);
        transport.until_failures(1);
        let said = transport.last_error();
        assert!(said.starts_with(wanted), "{said}");
        assert!(!said.contains("refused"), "{said}");
    }
    let port = name(&listener());
    let mut transport = TestTransport::new(dial(vec![plain(port.as_str())]), 1);
    transport.until_failures(1);
    assert_eq!(
        transport.last_error(),
        format!("{port}: connection refused")
    );
}

fn client(issuer: &Issuer, host: &str) -> Client {
    let roots = issuer.pem();
    let settings = Settings {
        server_name: host,
        roots: Some(roots.as_bytes()),
        ..Settings::default()
    };
    Client::new(&settings).expect("all is in order")
}

/// Over TLS the link sends data only after the server has proved its name.
#[test]
fn tls_verifies_the_name_before_data_is_sent() {
    let issuer = Issuer::new("an issuer");
    let right = Server::start(&issuer, "venue.example");
    let wrong = Server::start(&issuer, "elsewhere.example");
    let over_tls = |server: &Server| Host {
        name: address(server.address),
        tls: Some(client(&issuer, "venue.example")),
    };
    // The handshake takes real time, because the other thread gets little processor time.
    let patient = |server: &Server| Dial {
        connect_ns: 60_000 * MILLISECOND,
        ..dial(vec![over_tls(server)])
    };
    let mut transport = TestTransport::new(patient(&right), 1);
    transport.until("a Logon", |_| !right.heard().is_empty());
    let heard = right.heard();
    let logon = String::from_utf8_lossy(&heard);
    assert!(
        logon.starts_with("8=FIX.4.4\x01") && logon.contains("\x0135=A\x01"),
        "{logon}"
    );
    assert_eq!(
        (
            transport.counter("connected"),
            transport.counter("connections")
        ),
        (1, 1)
    );

    let mut transport = TestTransport::new(patient(&wrong), 1);
    transport.until_failures(3);
    assert_eq!(transport.counter("connections"), 0);
    assert_eq!(wrong.heard(), b"");
    let said = transport.last_error();
    assert!(
        said.contains("TLS: the server's certificate is for another host"),
        "{said}"
    );
}

fn address(address: SocketAddrV4) -> String {
    SocketAddr::V4(address).to_string()
}
