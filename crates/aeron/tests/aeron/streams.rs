//! Messages arrive complete and in order, whatever they travel over.

use crate::{client, free_port};
use std::time::{Duration, Instant};
use touchline_aeron::{Client, ExclusivePublication, Refused, Subscription};

const DEADLINE: Duration = Duration::from_secs(60);

/// Sends numbered messages from one to the other until all have arrived.
fn send_all(
    clients: &[&Client],
    publication: &mut ExclusivePublication,
    subscription: &mut Subscription,
    messages: u64,
    bytes: impl Fn(u64) -> usize,
) {
    let begin = Instant::now();
    let (mut sent, mut received) = (0, 0);
    let mut message = vec![0; 64 * 1024];
    while received < messages {
        assert!(
            begin.elapsed() < DEADLINE,
            "{received} of {messages} arrived, {sent} were sent"
        );
        for client in clients {
            client.do_work().expect("the client is open");
        }
        while sent < messages {
            let length = bytes(sent);
            message[..8].copy_from_slice(&sent.to_le_bytes());
            message[length - 8..length].copy_from_slice(&sent.to_le_bytes());
            match publication.offer(&message[..length]) {
                Ok(_) => sent += 1,
                Err(refused) if refused.is_passing() => break,
                Err(refused) => panic!("{refused}"),
            }
        }
        let polled = subscription.poll(64, |fragment| {
            let message = fragment.bytes();
            assert_eq!(message.len(), bytes(received));
            let (first, last) = (message.first_chunk(), message.last_chunk());
            let numbers = [first, last].map(|chunk| u64::from_le_bytes(*chunk.expect("8 bytes")));
            assert_eq!(numbers, [received; 2]);
            received += 1;
        });
        polled.expect("the subscription is open");
    }
}

#[test]
fn messages_arrive_over_udp() {
    let (client, folder) = client("udp");
    let channel = format!("aeron:udp?endpoint=127.0.0.1:{}", free_port());
    let mut subscription = client.subscription(&channel, 340).expect("a subscription");
    let mut publication = client
        .exclusive_publication(&channel, 340)
        .expect("a publication");
    assert_eq!(publication.try_claim(1).err(), Some(Refused::NotConnected));
    send_all(
        &[&client],
        &mut publication,
        &mut subscription,
        20_000,
        |_| 70,
    );
    assert!(folder.join("cnc.dat").exists());
    drop((publication, subscription, client));
    assert!(!folder.exists(), "the folder of the driver ends with it");
}
