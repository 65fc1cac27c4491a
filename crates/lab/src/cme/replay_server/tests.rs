//! The server against a small client.

use super::request::message;
use super::{Behaviour, ReplayServer, Totals};
use crate::cme::encode::Version;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::time::Duration;

const CHANNEL: u32 = 998;

/// A server that stores the packets 11 to 3,010, each with its number as its content.
fn server() -> ReplayServer {
    let server = ReplayServer::start((Ipv4Addr::LOCALHOST, 0).into(), CHANNEL, Version::V9, 3_000);
    let server = server.expect("a free port");
    for sequence in 1..=3_010u32 {
        server.keep(sequence, &payload(sequence));
    }
    server
}

fn payload(sequence: u32) -> Vec<u8> {
    let mut payload = sequence.to_le_bytes().to_vec();
    payload.resize(40, 7);
    payload
}

fn connect(server: &ReplayServer) -> TcpStream {
    let stream = TcpStream::connect(server.address()).expect("it listens");
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("a time-out");
    stream
}

/// Packets up to the end of the connection; `None` for a truncated last one.
fn packets(mut stream: TcpStream) -> Vec<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    // A connection reset comes after all of the answer.
    let _ = stream.read_to_end(&mut bytes);
    let mut rest = &bytes[..];
    let mut packets = Vec::new();
    while let Some((length, after)) = rest.split_first_chunk::<2>() {
        let length = usize::from(u16::from_le_bytes(*length));
        packets.push(after.get(..length).map(<[u8]>::to_vec));
        rest = after.get(length..).unwrap_or(&[]);
    }
    packets
}

fn ask(server: &ReplayServer, request: &str) -> Vec<Option<Vec<u8>>> {
    let mut stream = connect(server);
    stream
        .write_all(&message("35=A|553=CME|554=CME|"))
        .expect("it reads");
    stream.write_all(&message(request)).expect("it reads");
    packets(stream)
}

fn request(first: u32, last: u32) -> String {
    format!("35=V|1180={CHANNEL}|262={CHANNEL}-1|1182={first}|1183={last}|")
}

/// Template and text of a packet with one message.
fn said(packet: &Option<Vec<u8>>) -> (u8, String) {
    let packet = packet.as_ref().expect("a whole packet");
    let text: Vec<u8> = packet[22..]
        .iter()
        .copied()
        .take_while(|&byte| byte != 0)
        .collect();
    (packet[16], String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn requested_packets_are_sent_between_logon_and_logout() {
    let server = server();
    for (first, last) in [(11, 11), (500, 507), (1_011, 3_010)] {
        let answer = ask(&server, &request(first, last));
        let (logon, rest) = answer.split_first().expect("a logon");
        let (logout, sent) = rest.split_last().expect("a logout");
        assert_eq!(said(logon).0, 15);
        assert_eq!(
            logon.as_ref().map(|packet| packet[..4].to_vec()),
            Some(vec![1, 0, 0, 0])
        );
        let count = last - first + 1;
        assert_eq!(said(logout), (16, format!("{count} packets sent")));
        let expected: Vec<_> = (first..=last)
            .map(|sequence| Some(payload(sequence)))
            .collect();
        assert_eq!(sent, expected);
    }
    let expected = Totals {
        connections: 3,
        served: 3,
        refused: 0,
        packets: 2_009,
    };
    assert_eq!(server.totals(), expected);
}

#[test]
fn requests_that_cannot_be_served_are_refused_with_the_reason() {
    let server = server();
    for (asked, words) in [
        (request(10, 12), "10 to 12: 11 to 3010 are kept"),
        (request(3_010, 3_011), "11 to 3010 are kept"),
        (request(11, 2_011), "1 to 2000 packets"),
        (request(12, 11), "1 to 2000 packets"),
        (request(0, 11), "positive numbers"),
        (
            request(11, 12).replace("1180=998", "1180=997"),
            "ApplID (1180) must be 998",
        ),
        (request(11, 12).replace("262=998-1|", ""), "MDReqID"),
        ("35=X|".to_owned(), "35=V"),
        ("35=V|1182".to_owned(), "TAG=VALUE"),
    ] {
        let answer = ask(&server, &asked);
        let [logon, logout] = &answer[..] else {
            panic!("{asked}: {answer:?}");
        };
        assert_eq!(said(logon).0, 15);
        let (template, text) = said(logout);
        assert!(template == 16 && text.contains(words), "{asked}: {text}");
    }
    assert_eq!(server.totals().refused, 9);
    let mut stream = connect(&server);
    stream
        .write_all(&message("35=A|553=CME|"))
        .expect("it reads");
    assert!(said(&packets(stream)[0]).1.contains("Password"));
    let mut stream = connect(&server);
    stream.write_all(b"GET / HTTP/1.1\r\n").expect("it reads");
    assert!(said(&packets(stream)[0]).1.contains("BodyLength"));
    assert_eq!(ask(&server, "35=5|").len(), 2, "who logs out is let go");
}

#[test]
fn the_server_injects_the_configured_faults() {
    let server = server();
    server.behave(Behaviour::Refuse);
    let refused = ask(&server, &request(11, 20));
    assert!(said(&refused[1]).1.contains("refused"), "{refused:?}");
    server.behave(Behaviour::Half);
    let half = ask(&server, &request(11, 20));
    assert_eq!(
        (half.len(), half.last()),
        (7, Some(&None)),
        "logon, five packets, a cut one"
    );
    server.behave(Behaviour::Slow);
    assert_eq!(ask(&server, &request(11, 13)).len(), 5);
    server.behave(Behaviour::Close);
    assert!(packets(connect(&server)).is_empty());
    server.behave(Behaviour::Silent);
    let mut stream = connect(&server);
    stream
        .write_all(&message("35=A|553=CME|554=CME|"))
        .expect("it reads");
    stream
        .set_read_timeout(Some(Duration::from_millis(200)))
        .expect("a time-out");
    assert!(stream.read(&mut [0]).is_err(), "nothing is answered");
    server.behave(Behaviour::Ok);
    assert_eq!(ask(&server, &request(11, 20)).len(), 12);
    // The server ends although a client still waits.
    drop(server);
    assert_eq!(packets(stream), []);
}
