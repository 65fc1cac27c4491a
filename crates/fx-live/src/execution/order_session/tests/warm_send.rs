//! A message that warms the send path leaves nothing behind.

use super::*;

/// Number and bytes of an order are the same with warm-ups before it, and none leaves a byte.
#[test]
fn a_message_that_warms_has_no_number_and_no_byte() {
    let sent = |warm_ups: usize| {
        let mut rig = Rig::open();
        rig.log_on(1);
        rig.said();
        for _ in 0..warm_ups {
            rig.session.warm_send("D", |body| {
                body.bytes(11, b"warm");
            });
            rig.session.flush();
        }
        let body = |body: &mut Encoder<'_>| {
            body.bytes(11, b"sent");
        };
        let number = rig.session.send("D", rig.time, body).expect("it is up");
        rig.session.flush();
        let bytes = rig.wire.sent.borrow().clone();
        (number, rig.session.numbers(), bytes)
    };
    assert_eq!(sent(0), sent(3));
}
