//! `tls://`: both sides present certificates; a client without one receives nothing.

use crate::buses::{Buses, MS, Market, step, until, until_event, until_refused};
use std::any::Any;
use std::net::{Ipv4Addr, SocketAddrV4, TcpStream};
use touchline_net::Connection;
use touchline_net::stream::Error;
use touchline_net::tls::{
    Client, Identity, Refusal as TlsRefusal, Server, ServerSettings, Settings,
};
use touchline_relay::link::Refusal;
use touchline_relay::link::SendEvent;
use touchline_relay::link::tcp::{TcpReceive, TcpSend, TcpSendSettings};
use touchline_relay::run::RunEvent;
use touchline_testing::PATIENCE;
use touchline_testing::issuer::Issuer;

fn server(own: &Issuer, clients: &Issuer) -> Server {
    let issued = own.issue("localhost");
    let client_roots = clients.pem();
    let settings = ServerSettings {
        certificates: issued.certificate_pem.as_bytes(),
        key: issued.key_pem.as_bytes(),
        client_roots: Some(client_roots.as_bytes()),
    };
    Server::new(&settings).expect("valid certificates")
}

fn client(roots: &Issuer, own: Option<&Issuer>) -> Client {
    let issued = own.map(|issuer| issuer.issue("receiver"));
    let roots = roots.pem();
    let settings = Settings {
        server_name: "localhost",
        roots: Some(roots.as_bytes()),
        pins: &[],
        identity: issued.as_ref().map(|issued| Identity {
            certificates: issued.certificate_pem.as_bytes(),
            key: issued.key_pem.as_bytes(),
        }),
    };
    Client::new(&settings).expect("valid certificates")
}

#[test]
fn only_a_receiver_with_a_certificate_receives_books() {
    let buses = Buses::new();
    let mut publisher = buses.publisher("a");
    let mut market = Market::new(11);
    market.define(&mut publisher);
    market.events(300, &mut publisher);
    let (servers, clients, strangers) = (
        Issuer::new("servers"),
        Issuer::new("clients"),
        Issuer::new("strangers"),
    );
    let any_port = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
    let tls = Some(server(&servers, &clients));
    let link = TcpSend::bind(any_port, tls, TcpSendSettings::default()).expect("a free port");
    let address = link.address().to_string();
    let mut send = buses.sending("a", "gw1", link);
    for (number, (receiver, wanted)) in [
        (Some(client(&servers, None)), TlsRefusal::ClientWithout),
        (
            Some(client(&servers, Some(&strangers))),
            TlsRefusal::ClientRefused,
        ),
        (
            Some(client(&strangers, Some(&clients))),
            TlsRefusal::ServerRefused,
        ),
        (None, TlsRefusal::ClientNotTls),
    ]
    .into_iter()
    .enumerate()
    {
        let bus = format!("refused{number}");
        let mut receive = buses.receiving(&bus, TcpReceive::new(&address, receiver));
        let refused = until_refused(&mut [&mut send, &mut receive]);
        assert_eq!(refused, Refusal::Connection(Error::Tls(wanted)));
        assert_eq!(buses.counter(&bus, "relay_batches"), 0);
    }
    let with_certificate = Some(client(&servers, Some(&clients)));
    let mut receive = buses.receiving("b", TcpReceive::new(&address, with_certificate));
    for _ in 0..5 {
        market.events(300, &mut publisher);
        buses.until_same(&mut [&mut send, &mut receive]);
    }
}

/// Reasons of the receivers that were refused.
fn refused(events: &[RunEvent]) -> Vec<Refusal> {
    let of = |event: &RunEvent| match event {
        RunEvent::Receiver(SendEvent::Refused { reason, .. }) => Some(*reason),
        _ => None,
    };
    events.iter().filter_map(of).collect()
}

fn refused_count(buses: &Buses) -> u64 {
    buses.sender_counter("a", "gw1", "relay_receivers_refused")
}

/// Clients that connect and go no further, one after another, beside a receiver: each is one event and one count, its place
/// is free again after the limit, and the receiver has every message.
#[test]
fn clients_that_stop_before_their_request_lose_their_place_and_disturb_nobody() {
    let buses = Buses::new();
    let mut publisher = buses.publisher("a");
    let mut market = Market::new(12);
    market.define(&mut publisher);
    let (servers, clients) = (Issuer::new("servers"), Issuer::new("clients"));
    let any_port = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
    let settings = TcpSendSettings {
        clients_max: 2,
        // Time in which a receiver is ready even on a loaded host.
        request_ns_max: 3_000 * MS,
        ..TcpSendSettings::default()
    };
    let tls = Some(server(&servers, &clients));
    let link = TcpSend::bind(any_port, tls, settings).expect("a free port");
    let address = link.address();
    let mut send = buses.sending("a", "gw1", link);
    let receiver = || TcpReceive::new(&address.to_string(), Some(client(&servers, Some(&clients))));
    let mut receive = buses.receiving("b", receiver());
    buses.until_same(&mut [&mut send, &mut receive]);
    let begun = || {
        let own = client(&servers, Some(&clients));
        let connection = Connection::connect(address, Some(&own), u64::MAX);
        let mut connection = connection.expect("it listens");
        while connection.has_unsent() {
            connection.is_ready(0).expect("it listens");
        }
        connection
    };
    for (number, reason) in [Refusal::Handshake, Refusal::Handshake, Refusal::Silent]
        .into_iter()
        .enumerate()
    {
        let before = refused_count(&buses);
        let holder: Box<dyn Any> = match number {
            // A client that sends nothing.
            0 => Box::new(TcpStream::connect(address).expect("it listens")),
            // A client that has sent the first message of a handshake.
            1 => Box::new(begun()),
            // A client that has completed the handshake, and requests nothing.
            _ => {
                let mut connection = begun();
                while !connection.is_ready(0).expect("a certificate") {
                    step(&mut [&mut send, &mut receive]);
                }
                Box::new(connection)
            }
        };
        let mut events = Vec::new();
        touchline_testing::until("a refusal", PATIENCE, || {
            market.events(1, &mut publisher);
            events.extend(step(&mut [&mut send, &mut receive]));
            !refused(&events).is_empty()
        });
        let after = until(&mut [&mut send, &mut receive], "not counted", || {
            refused_count(&buses) > before && buses.is_same("a", "b")
        });
        events.extend(after);
        assert_eq!(refused(&events), [reason]);
        drop(holder);
        // The client's place is free.
        let mut second = buses.receiving(&format!("c{number}"), receiver());
        let bus = format!("c{number}");
        until(
            &mut [&mut send, &mut receive, &mut second],
            "books differ",
            || buses.is_same("a", &bus),
        );
        drop(second);
        until_event(
            &mut [&mut send, &mut receive],
            "the end of the second one",
            || {},
            |event| {
                matches!(event, RunEvent::Receiver(SendEvent::Disconnected { .. })).then_some(())
            },
        );
    }
    for name in ["relay_gaps", "relay_disconnects"] {
        assert_eq!(buses.counter("b", name), 0, "{name}");
    }
}
