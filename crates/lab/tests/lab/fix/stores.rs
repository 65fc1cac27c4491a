//! A session whose store fails.

use super::{Host, settings};
use std::cell::Cell;
use std::io::Write;
use std::net::TcpStream;
use std::rc::Rc;
use std::time::Duration;
use touchline_lab::fix::Connection;
use touchline_lab::fix::scenario::{Heard, filled};
use touchline_session::access_control::Rules;
use touchline_session::fix::{Memory, Store, StoreError};

/// Store that keeps every message until it must fail.
struct Failing {
    memory: Memory,
    fails: Rc<Cell<bool>>,
}

const FULL: StoreError = StoreError::System(28);

impl Failing {
    fn is_sound(&self) -> Result<(), StoreError> {
        match self.fails.get() {
            true => Err(FULL),
            false => Ok(()),
        }
    }
}

impl Store for Failing {
    fn next_out(&self) -> u64 {
        self.memory.next_out()
    }

    fn next_in(&self) -> u64 {
        self.memory.next_in()
    }

    fn add(&mut self, message: &[u8]) -> Result<(), StoreError> {
        self.is_sound()?;
        self.memory.add(message)
    }

    fn expect(&mut self, next_in: u64) -> Result<(), StoreError> {
        self.is_sound()?;
        self.memory.expect(next_in)
    }

    fn read(&mut self, number: u64, room: &mut [u8]) -> Result<usize, StoreError> {
        self.memory.read(number, room)
    }

    fn reset(&mut self) -> Result<(), StoreError> {
        self.is_sound()?;
        self.memory.reset()
    }
}

/// The store fails with the last message of a counterparty that has disconnected: both are detected in one turn, and
/// the
/// end of the connection does not hide what went wrong.
#[test]
fn a_store_failure_persists_after_a_reconnect() {
    let fails = Rc::new(Cell::new(false));
    let store = Failing {
        memory: Memory::default(),
        fails: Rc::clone(&fails),
    };
    let connection = Connection::with(settings("TW44"), Box::new(store));
    let mut host = Host::of(vec![connection], Rules::default());
    let mut stream = host.connect();
    let wall_ns = host.pacer.wall_ns();
    let say = |stream: &mut TcpStream, text: &str| {
        let message = text.replace('|', "\x01");
        let sent = stream.write_all(&filled(message.as_bytes(), wall_ns));
        sent.expect("it listens");
    };
    let logon = "8=FIX.4.4|35=A|34=1|49=TW44|52=<TIME>|56=ISLD|98=0|108=30|";
    say(&mut stream, logon);
    let heard = host.hear(&mut stream, &mut Vec::new(), Duration::from_secs(20));
    assert!(matches!(heard, Heard::Message(_)), "{heard:?}");
    fails.set(true);
    let test = "8=FIX.4.4|35=1|34=2|49=TW44|52=<TIME>|56=ISLD|112=still there|";
    say(&mut stream, test);
    drop(stream);
    assert_eq!(host.acceptor.connections()[0].store_failed(), None);
    while host.acceptor.connections()[0].is_taken() {
        host.work();
    }
    assert_eq!(host.acceptor.connections()[0].store_failed(), Some(FULL));
}
