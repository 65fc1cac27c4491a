//! Sockets that cannot be opened are refused with one line that names place and fix.

use crate::udp::{addresses, endpoint, group, settings};
use std::net::{Ipv4Addr, SocketAddrV4, UdpSocket};
use touchline_net::UdpSource;
use touchline_net::udp::{Endpoint, Error, Sender, SenderSettings, Settings};

fn refusal(endpoints: &[Endpoint], settings: &Settings) -> Error {
    match UdpSource::open(endpoints, settings) {
        Ok(_) => panic!("{endpoints:?} should be refused"),
        Err(touchline_net::Error::Udp(error)) => {
            let text = error.to_string();
            assert!(!text.contains('\n') && text.len() < 400, "{text}");
            error
        }
        Err(other) => panic!("{other}"),
    }
}

fn on(interface: &str) -> Settings {
    Settings {
        interface: Some(interface.to_owned()),
        ..settings(1)
    }
}

#[test]
fn an_invalid_endpoint_is_refused() {
    assert!(matches!(refusal(&[], &settings(1)), Error::NoEndpoint));
}

#[test]
fn an_interface_that_does_not_exist_is_answered_with_those_that_do() {
    for wanted in ["eth-nowhere", "203.0.113.77", ""] {
        let error = refusal(&[group(30)], &on(wanted));
        assert!(matches!(error, Error::NoInterface { .. }), "{error}");
        assert!(error.to_string().contains("lo (127.0.0.1)"), "{error}");
        assert!(error.is_of_a_setting());
    }
    let settings = SenderSettings {
        interface: Some("eth-nowhere".to_owned()),
        ..SenderSettings::default()
    };
    assert!(matches!(
        Sender::open(&settings),
        Err(Error::NoInterface { .. })
    ));
}

#[test]
fn a_port_in_exclusive_use_is_refused() {
    let theirs = UdpSocket::bind("127.0.0.1:0").expect("a port is free");
    let port = theirs.local_addr().expect("it is bound").port();
    let ours = endpoint(SocketAddrV4::new(Ipv4Addr::LOCALHOST, port));
    let error = refusal(&[ours], &settings(1));
    assert!(matches!(error, Error::Taken { .. }), "{error}");
    assert!(!error.is_of_a_setting());
    assert!(
        error.to_string().contains(&format!("sport = :{port}")),
        "{error}"
    );
    // A host's own address is not shared either, or the last process to bind would receive
    // everything.
    let ours = endpoint(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0));
    let first = UdpSource::open(&[ours], &settings(1)).expect("a port is free");
    let error = refusal(&[endpoint(addresses(&first)[0])], &settings(1));
    assert!(matches!(error, Error::Taken { .. }), "{error}");
}

#[test]
fn an_address_of_another_host_is_refused() {
    let theirs = endpoint(SocketAddrV4::new(Ipv4Addr::new(203, 0, 113, 1), 0));
    let error = refusal(&[theirs], &settings(1));
    assert!(matches!(error, Error::NotOurs { .. }), "{error}");
    assert!(error.to_string().contains("lo (127.0.0.1)"), "{error}");
}

#[test]
fn unspecified_and_broadcast_addresses_are_refused() {
    for ip in [Ipv4Addr::UNSPECIFIED, Ipv4Addr::BROADCAST] {
        let error = refusal(&[endpoint(SocketAddrV4::new(ip, 0))], &settings(1));
        assert!(matches!(error, Error::Address { .. }), "{error}");
    }
}

#[test]
fn more_sources_than_the_kernel_allows_for_a_group_are_refused() {
    let crowded = Endpoint {
        sources: (1..=200)
            .map(|last| Ipv4Addr::new(127, 0, 1, last))
            .collect(),
        ..group(31)
    };
    let error = refusal(std::slice::from_ref(&crowded), &settings(1));
    assert!(
        matches!(error, Error::TooManyJoins { sources: 200, .. }),
        "{error}"
    );
    assert!(error.to_string().contains("igmp_max_msf"), "{error}");
    let settings = Settings {
        any_source_joins: true,
        ..settings(1)
    };
    UdpSource::open(&[crowded], &settings).expect("joined for all, filtered here");
}
