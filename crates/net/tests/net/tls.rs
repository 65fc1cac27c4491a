//! TLS as a client: with a server of the same library and generated certificates, and with a handmade server that is
//! too old. Every refusal has its reason; valid servers carry data both ways.

mod server;

use crate::stream::until;
use server::{Issued, Issuer, Server, pin_of};
use std::time::Duration;
use touchline_net::Connection;
use touchline_net::stream::{Error, Listener, Readiness};
use touchline_net::tls::{Client, Identity, Pin, Refusal, ServerSettings, Settings, SetupError};

const HOST: &str = "fix.venue.example";

fn ready(server: &Server, client: &Client) -> Result<Connection, Error> {
    let mut connection = Connection::connect(server.address, Some(client), 1)?;
    let ready = until(|| match connection.is_ready(0) {
        Ok(false) => None,
        done => Some(done),
    });
    ready.map(|_| connection)
}

/// Sends all of `bytes`, and receives as much from an echo.
fn echoed(connection: &mut Connection, bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let (mut sent, mut back) = (0, Vec::new());
    let mut room = [0; 1_000];
    until(|| {
        let turn = connection.send(&bytes[sent..]).and_then(|taken| {
            sent += taken;
            connection.receive(&mut room)
        });
        match turn {
            Err(error) => return Some(Err(error)),
            Ok(received) => back.extend(&room[..received]),
        }
        (back.len() >= bytes.len()).then_some(Ok(()))
    })?;
    Ok(back)
}

fn client(roots: &str) -> Client {
    let settings = Settings {
        server_name: HOST,
        roots: Some(roots.as_bytes()),
        ..Settings::default()
    };
    Client::new(&settings).expect("all is in order")
}

/// Refusal of a server with this certificate by a client that trusts `roots`.
fn refusal(roots: &str, certificate: Issued) -> Refusal {
    let server = Server::with(certificate);
    match ready(&server, &client(roots)) {
        Err(Error::Tls(refusal)) => refusal,
        other => panic!("it was taken, or failed in another way: {other:?}"),
    }
}

#[test]
fn a_valid_server_carries_data_both_ways() {
    let issuer = Issuer::new("an issuer");
    for tls12_only in [false, true] {
        let server = Server::start(issuer.issue(HOST), None, tls12_only);
        let mut connection = ready(&server, &client(&issuer.pem())).expect("all is right");
        assert_eq!(connection.receive(&mut [0; 8]), Ok(0), "nothing is there");
        assert_eq!(connection.receive(&mut []), Ok(0), "no room is no end");
        let words: Vec<u8> = (0..1_000_000_u32).map(|at| (at % 251) as u8).collect();
        assert!(echoed(&mut connection, b"request").expect("open") == b"request");
        assert!(echoed(&mut connection, &words).expect("open") == words);
        assert_eq!(server.name_asked_for().as_deref(), Some(HOST), "SNI");
    }
}

/// A read smaller than a record leaves bytes in the TLS library, and the socket does not become readable for them. Our server requests
/// no certificate if it has no issuers of clients.
#[test]
fn decrypted_bytes_that_wait_are_reported_by_the_connection_alone() {
    let issuer = Issuer::new("an issuer");
    let issued = issuer.issue(HOST);
    let settings = ServerSettings {
        certificates: issued.certificate_pem.as_bytes(),
        key: issued.key_pem.as_bytes(),
        client_roots: None,
    };
    let server = touchline_net::tls::Server::new(&settings).expect("a certificate with its key");
    let any = "127.0.0.1:0".parse().expect("an address");
    let mut listener = Listener::bind(any).expect("a free port");
    let tls = client(&issuer.pem());
    let mut near = Connection::connect(listener.address(), Some(&tls), 1).expect("it begins");
    let (stream, _) = until(|| listener.accept().expect("it listens"));
    let mut far = Connection::accept(stream, Some(&server), 1).expect("it begins");
    assert!(near.is_handshaking() && far.is_handshaking());
    until(|| {
        let both = [near.is_ready(0), far.is_ready(0)];
        (both == [Ok(true), Ok(true)]).then_some(())
    });
    assert!(!near.is_handshaking() && !far.is_handshaking());
    let mut readiness = Readiness::new(1).expect("a descriptor");
    readiness
        .watch(0)
        .begin(near.stream())
        .expect("it is watched");
    assert!(!near.has_unread());
    assert_eq!(far.send(&[7; 100]), Ok(100));
    assert!(!far.has_unsent());
    until(|| {
        readiness.look();
        readiness.is_ready(0).then_some(())
    });
    let mut room = [0; 64];
    assert_eq!(near.receive(&mut room), Ok(64));
    readiness.look();
    assert!(!readiness.is_ready(0), "the socket is empty");
    assert!(near.has_unread());
    assert_eq!(near.receive(&mut room), Ok(36));
    assert!(!near.has_unread());
    assert_eq!(near.receive(&mut room), Ok(0));
    // The peer does not read: bytes that the system does not accept wait, and are reported as unsent.
    until(|| {
        far.send(&[7; 16_384]).expect("it is open");
        far.has_unsent().then_some(())
    });
    until(|| {
        let _ = near.receive(&mut [0; 65_536]).expect("it is open");
        far.receive(&mut room).expect("it is open");
        (!far.has_unsent()).then_some(())
    });
}

#[test]
fn each_wrong_certificate_is_refused_for_its_reason() {
    let issuer = Issuer::new("an issuer");
    let roots = issuer.pem();
    assert_eq!(refusal(&roots, issuer.expired(HOST)), Refusal::Expired);
    assert_eq!(refusal(&roots, issuer.not_yet(HOST)), Refusal::NotYetValid);
    let other_host = issuer.issue("fix.other.example");
    assert_eq!(refusal(&roots, other_host), Refusal::WrongHost);
    let other_issuer = Issuer::new("another issuer").issue(HOST);
    assert_eq!(refusal(&roots, other_issuer), Refusal::UnknownIssuer);
    assert_eq!(
        refusal(&roots, Issued::by_itself(HOST)),
        Refusal::SelfSigned
    );
    // The same name with another key.
    let impostor = Issuer::new("an issuer").issue(HOST);
    assert!(matches!(
        refusal(&roots, impostor),
        Refusal::UnknownIssuer | Refusal::BadCertificate
    ));
}

#[test]
fn a_server_that_is_too_old_or_speaks_no_tls_is_refused() {
    let issuer = Issuer::new("an issuer");
    let client = client(&issuer.pem());
    for (answer, refusal) in [
        (server::hello_of_tls_1_1(), Refusal::TooOld),
        (server::alert(70), Refusal::TooOld),
        (server::alert(40), Refusal::Refused),
        (
            b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
            Refusal::NotTls,
        ),
        (
            b"8=FIX.4.4\x019=5\x0135=5\x0110=000\x01".to_vec(),
            Refusal::NotTls,
        ),
    ] {
        let server = Server::that_says(answer);
        let error = ready(&server, &client).expect_err("it cannot be talked to");
        assert_eq!(error, Error::Tls(refusal));
    }
    let server = Server::that_says(Vec::new());
    assert!(ready(&server, &client).is_err(), "it closes without a word");
}

#[test]
fn a_handshake_that_does_not_end_times_out() {
    let issuer = Issuer::new("an issuer");
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = match listener.local_addr() {
        Ok(std::net::SocketAddr::V4(address)) => address,
        other => panic!("no address: {other:?}"),
    };
    let client = client(&issuer.pem());
    let mut connection = Connection::connect(address, Some(&client), 100).expect("it begins");
    let _silent = listener.accept().expect("it is there");
    for _ in 0..20 {
        std::thread::sleep(Duration::from_millis(1));
        assert_eq!(connection.is_ready(99), Ok(false));
        assert_eq!(connection.send(b"too early"), Ok(0));
    }
    assert_eq!(connection.is_ready(100), Err(Error::TimedOut));
}

#[test]
fn a_key_that_is_not_pinned_is_refused() {
    let issuer = Issuer::new("an issuer");
    let (certificate, other) = (issuer.issue(HOST), issuer.issue(HOST));
    let (pin, other) = (pin_of(&certificate), pin_of(&other));
    let roots = issuer.pem();
    let with = |pins: &[Pin]| {
        let settings = Settings {
            server_name: HOST,
            roots: Some(roots.as_bytes()),
            pins,
            identity: None,
        };
        Client::new(&settings).expect("all is in order")
    };
    let server = Server::with(certificate);
    let error = ready(&server, &with(&[other])).expect_err("its key is another one");
    assert_eq!(error, Error::Tls(Refusal::PinDiffers));
    let mut connection = ready(&server, &with(&[other, pin])).expect("one of both");
    assert!(echoed(&mut connection, b"request").expect("open") == b"request");
    // A pin is required in addition to the other checks.
    let stranger = Issued::by_itself(HOST);
    let pins = [pin_of(&stranger)];
    let error = ready(&Server::with(stranger), &with(&pins)).expect_err("nobody vouches for it");
    assert_eq!(error, Error::Tls(Refusal::SelfSigned));
}

#[test]
fn a_server_that_requests_a_client_certificate_gets_it() {
    let (issuer, firm) = (Issuer::new("an issuer"), Issuer::new("the firm's issuer"));
    let (ours, strangers) = (firm.issue("firm"), Issuer::new("nobody").issue("firm"));
    let roots = issuer.pem();
    let with = |identity: Option<&Issued>| {
        let settings = Settings {
            server_name: HOST,
            roots: Some(roots.as_bytes()),
            pins: &[],
            identity: identity.map(|issued| Identity {
                certificates: issued.certificate_pem.as_bytes(),
                key: issued.key_pem.as_bytes(),
            }),
        };
        Client::new(&settings).expect("all is in order")
    };
    for tls12_only in [false, true] {
        let server = Server::start(issuer.issue(HOST), Some(&firm), tls12_only);
        let outcome = |client: &Client| {
            // In TLS 1.3 the server's answer comes after the handshake.
            ready(&server, client).and_then(|mut connection| echoed(&mut connection, b"request"))
        };
        assert_eq!(outcome(&with(Some(&ours))), Ok(b"request".to_vec()));
        let refused = outcome(&with(Some(&strangers)));
        assert_eq!(refused, Err(Error::Tls(Refusal::CertificateRefused)));
        assert_eq!(
            outcome(&with(None)),
            Err(Error::Tls(Refusal::CertificateWanted))
        );
    }
}

#[test]
fn a_close_notify_is_distinguished_from_a_truncation() {
    let issuer = Issuer::new("an issuer");
    let server = Server::with(issuer.issue(HOST));
    for (word, end) in [
        (&b"close"[..], Error::Closed),
        (b"cut", Error::Tls(Refusal::Cut)),
    ] {
        let mut connection = ready(&server, &client(&issuer.pem())).expect("all is right");
        assert_eq!(connection.send(word), Ok(word.len()));
        let mut room = [0; 16];
        let error = until(|| connection.receive(&mut room).err());
        assert_eq!(error, end);
    }
}

#[test]
fn altered_data_is_refused() {
    let issuer = Issuer::new("an issuer");
    let server = Server::with(issuer.issue(HOST));
    let mut connection = ready(&server, &client(&issuer.pem())).expect("all is right");
    assert_eq!(connection.send(b"forge"), Ok(5));
    let mut room = [0; 16];
    let error = until(|| match connection.receive(&mut room) {
        Ok(0) => None,
        Ok(taken) => panic!("{taken} bytes of nobody were taken"),
        Err(error) => Some(error),
    });
    assert_eq!(error, Error::Tls(Refusal::Broken));
}

#[test]
fn settings_that_cannot_be_used_are_refused_at_start() {
    let issuer = Issuer::new("an issuer");
    let (ours, other) = (issuer.issue("firm"), issuer.issue("firm"));
    let roots = issuer.pem();
    let right = Settings {
        server_name: HOST,
        roots: Some(roots.as_bytes()),
        ..Settings::default()
    };
    let identity = |certificates: &'static str, key: &'static str| {
        Some(Identity {
            certificates: certificates.as_bytes(),
            key: key.as_bytes(),
        })
    };
    let mixed = Some(Identity {
        certificates: ours.certificate_pem.as_bytes(),
        key: other.key_pem.as_bytes(),
    });
    for (settings, error) in [
        (
            Settings {
                server_name: "",
                ..right
            },
            SetupError::NoName,
        ),
        (
            Settings {
                server_name: "a b",
                ..right
            },
            SetupError::NoName,
        ),
        (
            Settings {
                roots: Some(b"text"),
                ..right
            },
            SetupError::NoRoots,
        ),
        (
            Settings {
                roots: Some(b""),
                ..right
            },
            SetupError::NoRoots,
        ),
        (
            Settings {
                identity: identity("", ""),
                ..right
            },
            SetupError::NoCertificate,
        ),
        (
            Settings {
                identity: mixed,
                ..right
            },
            SetupError::NotOurs,
        ),
    ] {
        assert_eq!(Client::new(&settings).map(|_| ()), Err(error));
    }
    let key_alone = Settings {
        identity: Some(Identity {
            certificates: ours.certificate_pem.as_bytes(),
            key: b"no key",
        }),
        ..right
    };
    assert_eq!(Client::new(&key_alone).map(|_| ()), Err(SetupError::NoKey));
    let public = Client::new(&Settings {
        roots: None,
        ..right
    });
    assert!(public.is_ok(), "Mozilla's roots are built in");

    let pin = pin_of(&ours);
    assert_eq!(Pin::read(&pin.to_string()), Ok(pin));
    assert_eq!(Pin::read(&pin.to_string().to_uppercase()), Ok(pin));
    for wrong in ["", "00", &"g".repeat(64), &"0".repeat(65), &"é".repeat(32)] {
        assert_eq!(Pin::read(wrong), Err(SetupError::BadPin), "{wrong}");
    }
}
