//! `tls://`: both sides present certificates; a client without one receives nothing.

use crate::stage::{Market, Stage, step, until};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::time::{Duration, Instant};
use touchline_net::stream::Error;
use touchline_net::tls::{
    Client, Identity, Refusal as TlsRefusal, Server, ServerSettings, Settings,
};
use touchline_relay::link::SendEvent;
use touchline_relay::link::tcp::{Refusal, TcpReceive, TcpSend, TcpSendSettings};
use touchline_relay::run::RunEvent;

/// An issuer of certificates.
struct Issuer(CertifiedIssuer<'static, KeyPair>);

impl Issuer {
    fn new(name: &str) -> Issuer {
        let mut params = CertificateParams::new(Vec::new()).expect("no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params
            .distinguished_name
            .push(rcgen::DnType::CommonName, name);
        let key = KeyPair::generate().expect("a key");
        Issuer(CertifiedIssuer::self_signed(params, key).expect("an issuer"))
    }

    fn pem(&self) -> String {
        self.0.pem()
    }

    /// A certificate for a host, and its key.
    fn issue(&self, host: &str) -> (String, String) {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new(vec![host.to_owned()]).expect("a name");
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        (certificate.pem(), key.serialize_pem())
    }
}

fn server(own: &Issuer, clients: &Issuer) -> Server {
    let (certificate, key) = own.issue("localhost");
    let client_roots = clients.pem();
    let settings = ServerSettings {
        certificates: certificate.as_bytes(),
        key: key.as_bytes(),
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
        identity: issued.as_ref().map(|(certificate, key)| Identity {
            certificates: certificate.as_bytes(),
            key: key.as_bytes(),
        }),
    };
    Client::new(&settings).expect("valid certificates")
}

#[test]
fn only_a_receiver_with_a_certificate_receives_books() {
    let stage = Stage::new();
    let mut publisher = stage.publisher("a");
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
    let mut send = stage.sending("a", "gw1", link);
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
        let mut receive = stage.receiving(&bus, TcpReceive::new(&address, receiver));
        let mut refused = None;
        let start = Instant::now();
        while refused.is_none() && start.elapsed() < Duration::from_secs(10) {
            for event in step(&mut [&mut send, &mut receive]) {
                if let RunEvent::Receiver(SendEvent::Refused { reason, .. }) = event {
                    refused = Some(reason);
                }
            }
        }
        assert_eq!(refused, Some(Refusal::Connection(Error::Tls(wanted))));
        assert_eq!(stage.counter(&bus, "relay_batches"), 0);
    }
    let with_certificate = Some(client(&servers, Some(&clients)));
    let mut receive = stage.receiving("b", TcpReceive::new(&address, with_certificate));
    for _ in 0..5 {
        market.events(300, &mut publisher);
        until(&mut [&mut send, &mut receive], "books differ", || {
            stage.is_same("a", "b")
        });
    }
}
