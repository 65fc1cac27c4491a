//! A TCP stream with every behaviour of a peer.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use touchline_net::stream::{Error, Listener, Readiness, Stream};
use touchline_testing::PATIENCE;

fn listen() -> (TcpListener, SocketAddrV4) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    match listener.local_addr() {
        Ok(SocketAddr::V4(address)) => (listener, address),
        other => panic!("no address: {other:?}"),
    }
}

/// Polls until there is a result.
pub fn until<T>(poll: impl FnMut() -> Option<T>) -> T {
    touchline_testing::until("a result", PATIENCE, poll)
}

fn connected() -> (Stream, TcpStream) {
    let (listener, address) = listen();
    let mut stream = Stream::connect(address, 100).expect("it begins");
    until(|| stream.is_connected(0).expect("it is taken").then_some(()));
    // An established connection no longer times out.
    assert_eq!(stream.is_connected(1_000), Ok(true));
    (stream, listener.accept().expect("it is there").0)
}

#[test]
fn sent_bytes_arrive_and_no_call_blocks() {
    let (mut stream, mut other) = connected();
    let mut room = [0; 16];
    assert_eq!(stream.receive(&mut room), Ok(0), "nothing is there");
    assert_eq!(stream.send(b"request"), Ok(7));
    other.read_exact(&mut room[..7]).expect("what was sent");
    assert_eq!(&room[..7], b"request");
    other.write_all(b"answer").expect("it can be sent");
    let received = until(|| Some(stream.receive(&mut room[..4]).expect("open")).filter(|n| *n > 0));
    assert!(received <= 4, "no more than there is room for");
    assert_eq!(room[0], b'a');
    assert_eq!(stream.receive(&mut []), Ok(0), "no room is no end");
}

/// A touch sends nothing, on a connection that is made, that is new and that the peer has closed.
#[test]
fn a_touch_sends_no_byte() {
    let (mut stream, mut other) = connected();
    stream.touch();
    assert_eq!(stream.send(b"one"), Ok(3));
    stream.touch();
    assert_eq!(stream.send(b"two"), Ok(3));
    stream.touch();
    let (_listener, address) = listen();
    Stream::connect(address, 100).expect("it begins").touch();
    let mut room = [0; 16];
    other.read_exact(&mut room[..6]).expect("what was sent");
    assert_eq!(&room[..6], b"onetwo");
    other.set_nonblocking(true).expect("a socket");
    assert!(other.read(&mut room).is_err(), "no byte and no end");
    drop(other);
    until(|| stream.receive(&mut room).is_err().then_some(()));
    stream.touch();
}

/// A connection is ready while it has unread bytes and after its end, under its number; one that was replaced is not.
#[test]
fn readiness_names_the_connection_with_bytes_to_read() {
    let mut readiness = Readiness::new(70).expect("a descriptor");
    let mut pairs: Vec<_> = (0..70).map(|_| connected()).collect();
    for (number, (stream, _)) in pairs.iter().enumerate() {
        readiness
            .watch(number)
            .begin(stream)
            .expect("it is watched");
    }
    let ready = |readiness: &mut Readiness| -> Vec<usize> {
        readiness.look();
        (0..70)
            .filter(|number| readiness.is_ready(*number))
            .collect()
    };
    assert_eq!(ready(&mut readiness), [], "nothing was sent");
    for number in [3, 69] {
        pairs[number].1.write_all(b"report").expect("it is sent");
    }
    until(|| (ready(&mut readiness) == [3, 69]).then_some(()));
    let mut room = [0; 4];
    assert_eq!(pairs[3].0.receive(&mut room), Ok(4));
    assert_eq!(ready(&mut readiness), [3, 69], "two bytes are left");
    assert_eq!(pairs[3].0.receive(&mut room), Ok(2));
    assert_eq!(ready(&mut readiness), [69]);
    // The end is something to read.
    let (stream, other) = connected();
    readiness.watch(69).begin(&stream).expect("it is watched");
    pairs[69] = (stream, other);
    assert_eq!(ready(&mut readiness), [], "the replaced one is gone");
    pairs.truncate(69);
    let (mut stream, other) = pairs.swap_remove(5);
    drop(other);
    until(|| (ready(&mut readiness) == [5]).then_some(()));
    assert_eq!(stream.receive(&mut room), Err(Error::Closed));
    // More connections than one call reports: later calls report the others.
    let mut seen = [false; 70];
    for (_, other) in &mut pairs {
        other.write_all(b"report").expect("it is sent");
    }
    until(|| {
        for number in ready(&mut readiness) {
            seen[number] = true;
        }
        let all = (0..69).all(|number| seen[number]);
        all.then_some(())
    });
}

/// The time is that of the arrival, however late the bytes are read.
#[test]
fn received_bytes_have_the_time_of_the_kernel() {
    let (mut stream, mut other) = connected();
    let mut room = [0; 16];
    other.write_all(b"early").expect("it can be sent");
    until(|| Some(stream.receive(&mut room).expect("open")).filter(|n| *n > 0));
    assert_eq!(stream.kernel_ns(), None, "nobody asked");
    stream.request_timestamps();
    // The kernel starts to timestamp a moment after the first request on the host.
    let (from, to, kernel_ns) = until(|| {
        let from = SystemTime::now();
        other.write_all(b"answer").expect("it can be sent");
        let to = SystemTime::now();
        std::thread::sleep(Duration::from_millis(20));
        until(|| Some(stream.receive(&mut room).expect("open")).filter(|n| *n > 0));
        Some((from, to, stream.kernel_ns()?))
    });
    let kernel = UNIX_EPOCH + Duration::from_nanos(kernel_ns);
    assert!(from <= kernel && kernel <= to, "{from:?} {kernel:?} {to:?}");
    assert_eq!(stream.receive(&mut room), Ok(0), "nothing is there");
    drop(other);
    let end = until(|| stream.receive(&mut room).err());
    assert_eq!(end, Error::Closed);
}

#[test]
fn the_end_comes_after_what_was_sent_before_it() {
    let (mut stream, mut other) = connected();
    other.write_all(b"last words").expect("it can be sent");
    drop(other);
    let (mut said, mut room) = (Vec::new(), [0; 4]);
    let error = until(|| match stream.receive(&mut room) {
        Ok(received) => {
            said.extend(&room[..received]);
            None
        }
        Err(error) => Some(error),
    });
    assert_eq!(
        (said.as_slice(), error),
        (b"last words".as_slice(), Error::Closed)
    );
}

#[test]
fn a_full_connection_takes_no_more_and_a_gone_one_is_an_error() {
    let (mut stream, other) = connected();
    let much = vec![7; 1 << 20];
    let mut taken = 0;
    until(|| {
        let now = stream.send(&much).expect("open");
        taken += now;
        (now == 0).then_some(())
    });
    assert!(taken > 0 && taken < 1 << 30, "{taken} bytes in buffers");
    // Closed with unread bytes: the connection is reset, without a signal.
    drop(other);
    let error = until(|| stream.send(&much).err());
    assert_eq!(error, Error::Closed);
}

#[test]
fn a_port_without_a_listener_refuses_the_connection() {
    let (listener, address) = listen();
    drop(listener);
    let refused = match Stream::connect(address, 100) {
        Err(error) => error,
        Ok(mut stream) => until(|| stream.is_connected(0).err()),
    };
    assert_eq!(refused, Error::Refused);
    assert_eq!(refused.to_string(), "connection refused");
}

/// A listener with a full queue does not answer: the connect times out.
#[test]
fn a_connection_that_is_not_made_in_time_is_given_up() {
    let (listener, address) = listen();
    let mut queued = Vec::new();
    let mut pending = until(|| {
        let mut stream = Stream::connect(address, 100).expect("it begins");
        std::thread::sleep(Duration::from_millis(20));
        match stream.is_connected(99).expect("nobody refuses") {
            true => {
                queued.push(stream);
                None
            }
            false => Some(stream),
        }
    });
    assert_eq!(pending.is_connected(100), Err(Error::TimedOut));
    drop(listener);
}

#[test]
fn a_listener_accepts_connections_without_blocking() {
    let mut listener = Listener::bind(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).expect("free");
    assert_ne!(listener.address().port(), 0);
    assert!(listener.accept().expect("it listens").is_none());
    let mut client = Stream::connect(listener.address(), 100).expect("it begins");
    let (mut taken, from) = until(|| listener.accept().expect("it listens"));
    until(|| client.is_connected(0).expect("it is taken").then_some(()));
    assert_eq!(from.ip(), &Ipv4Addr::LOCALHOST);
    assert_eq!(taken.is_connected(1_000), Ok(true), "it stands");
    let mut room = [0; 4];
    assert_eq!(taken.receive(&mut room), Ok(0), "nothing is there");
    assert_eq!(client.send(b"word"), Ok(4));
    until(|| Some(taken.receive(&mut room).expect("open")).filter(|bytes| *bytes == 4));
    assert_eq!(&room, b"word");
    // The port is in use, and free again once the listener is closed.
    let again = Listener::bind(listener.address()).expect_err("two on one port");
    assert_eq!(again, Error::Failed(libc::EADDRINUSE));
    let address = listener.address();
    drop((listener, taken, client));
    Listener::bind(address).expect("it is free again");
}
