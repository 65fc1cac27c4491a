//! A store that keeps numbers and no messages: messages are not sent again, and a sent message must not wait in the
//! store.

use touchline_lab::fix::scenario::filled;
use touchline_session::fix::{Role, Session, Settings, Store, StoreError};
use touchline_types::ReceiveTime;
use touchline_wire::fix::tag;

const BEGIN_NS: u64 = 1_767_571_200_000_000_000;

struct NumbersOnly(u64, u64);

impl Store for NumbersOnly {
    fn next_out(&self) -> u64 {
        self.0
    }

    fn next_in(&self) -> u64 {
        self.1
    }

    fn add(&mut self, _message: &[u8]) -> Result<(), StoreError> {
        self.0 += 1;
        Ok(())
    }

    fn expect(&mut self, next_in: u64) -> Result<(), StoreError> {
        self.1 = next_in;
        Ok(())
    }

    fn read(&mut self, _number: u64, _room: &mut [u8]) -> Result<usize, StoreError> {
        Ok(0)
    }

    fn reset(&mut self) -> Result<(), StoreError> {
        (self.0, self.1) = (1, 1);
        Ok(())
    }

    fn keeps_messages(&self) -> bool {
        false
    }
}

/// Numbers were skipped after a crash: the counterparty requests all of them, and a message sent meanwhile arrives, as
/// does our own request for the messages that we missed.
#[test]
fn a_message_behind_a_long_request_is_sent() {
    let now = ReceiveTime::at(BEGIN_NS);
    let mut us = Session::new(
        Settings::new(Role::Initiator, "US", "THEM"),
        NumbersOnly(10_001, 5),
    );
    let say = |us: &mut Session<NumbersOnly>, kind: &str, number: u32, body: &str| {
        let text = format!("8=FIX.4.4|35={kind}|34={number}|49=THEM|56=US|52=<TIME>|{body}");
        let bytes = text.replace('|', "\x01").into_bytes();
        us.handle(&filled(&bytes, BEGIN_NS), now);
        while us.poll().is_some() {}
    };
    us.connected(now);
    us.transmitted(usize::MAX);
    say(&mut us, "A", 7, "98=0|108=30|");
    say(&mut us, "2", 8, "7=1|16=0|");
    let number = us.send(b"D", now, |body| {
        body.bytes(tag::CL_ORD_ID, b"new");
    });
    let text = String::from_utf8_lossy(us.poll_transmit()).replace('\x01', "|");
    let fill = text
        .find("|36=10003|")
        .expect("one gap fill for all that was sent");
    let order = text.find("|11=new|").expect("the order");
    assert!(
        fill < order && text.matches("|35=4|").count() == 1,
        "{text}"
    );
    assert!(
        text.contains("|34=10002|") && text.contains("|7=5|16=0|"),
        "{text}"
    );
    assert_eq!(number, Ok(10_003));
}
