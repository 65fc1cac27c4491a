//! Messages arrive complete and in order over every medium.

use crate::{client, settings};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use touchline_aeron::{
    Client, ClientSettings, CounterKind, Driver, DriverSettings, ExclusivePublication, Refused,
    Subscription, SystemCounter, Threading,
};
use touchline_testing::free_port;

const DEADLINE: Duration = Duration::from_secs(60);

/// Sends numbered messages until all have arrived.
pub fn send_all(
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

#[test]
fn messages_arrive_over_multicast() {
    let (client, _) = client("multicast");
    let channel = format!(
        "aeron:udp?endpoint=239.255.40.1:{}|interface=127.0.0.1",
        free_port()
    );
    let mut subscription = client.subscription(&channel, 340).expect("a subscription");
    let mut publication = client
        .exclusive_publication(&channel, 340)
        .expect("a publication");
    send_all(
        &[&client],
        &mut publication,
        &mut subscription,
        5_000,
        |_| 70,
    );
    assert!(client.system_counter(SystemCounter::BytesSent) > 5_000 * 70);
}

/// Names and sizes of the files of a folder, and of the folders in it.
fn files(folder: &Path) -> Vec<(PathBuf, u64)> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder of ours") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => files.extend(self::files(&path)),
            false => files.push((path.clone(), fs::metadata(&path).expect("a file").len())),
        }
    }
    files.sort();
    files
}

/// Hours of a busy stream: a position that 32 bits cannot hold, thousands of terms, and no more memory than at the start.
#[test]
fn a_stream_continues_past_2_gib_in_the_memory_that_it_had() {
    const BYTES: u64 = 1 << 31;
    let (client, folder) = client("long");
    let channel = format!("aeron:udp?endpoint=127.0.0.1:{}", free_port());
    let mut subscription = client.subscription(&channel, 7).expect("a subscription");
    let mut publication = client
        .exclusive_publication(&channel, 7)
        .expect("a publication");
    let longest = publication.message_bytes_max();
    let mut send = |messages| {
        send_all(
            &[&client],
            &mut publication,
            &mut subscription,
            messages,
            |_| longest,
        );
    };
    send(100);
    let before = files(&folder);
    // In parts: each has a deadline.
    (0..8).for_each(|_| send(BYTES / 8 / longest as u64));
    assert_eq!(files(&folder), before);
    assert!(publication.position() > BYTES as i64);
}

#[test]
fn messages_of_every_length_arrive_whole() {
    let (client, _) = client("lengths");
    let channel = format!("aeron:udp?endpoint=127.0.0.1:{}", free_port());
    let mut subscription = client.subscription(&channel, 7).expect("a subscription");
    let mut publication = client
        .exclusive_publication(&channel, 7)
        .expect("a publication");
    let longest = publication.message_bytes_max();
    assert_eq!(longest, 256 * 1024 / 8);
    assert_eq!(publication.payload_bytes_max(), 1408 - 32);
    // From one datagram to two dozen.
    let length = |number: u64| 8 + (number as usize * 977) % (longest - 8);
    send_all(&[&client], &mut publication, &mut subscription, 500, length);
    assert_eq!(
        publication.offer(&vec![0; longest + 1]),
        Err(Refused::TooLong)
    );
    assert_eq!(
        publication.try_claim(1408 - 31).err(),
        Some(Refused::TooLong)
    );
}

#[test]
fn messages_arrive_over_ipc_from_a_driver_with_a_thread() {
    let settings = DriverSettings {
        threading: Threading::Shared {
            sleep: Duration::from_micros(50),
        },
        ..settings("ipc")
    };
    let driver = Driver::start(&settings).expect("the driver starts");
    let connect =
        || Client::connect(&ClientSettings::at(driver.folder().to_owned())).expect("a client");
    let (sender, receiver) = (connect(), connect());
    let mut subscription = receiver
        .subscription("aeron:ipc", 340)
        .expect("a subscription");
    let mut publication = sender
        .exclusive_publication("aeron:ipc", 340)
        .expect("a publication");
    send_all(
        &[&sender, &receiver],
        &mut publication,
        &mut subscription,
        20_000,
        |_| 70,
    );
    let mut images = Vec::new();
    subscription.each_image(|image| {
        images.push((
            image.session_id(),
            image.source_address().to_owned(),
            image.position(),
        ));
    });
    let expected = (
        publication.session_id(),
        "aeron:ipc".to_owned(),
        publication.position(),
    );
    assert_eq!(images, [expected]);
}

#[test]
fn drivers_of_two_processes_reach_each_other_and_the_sender_is_named() {
    let (sender, _) = client("sender");
    let (receiver, _) = client("receiver");
    let channel = format!("aeron:udp?endpoint=127.0.0.1:{}", free_port());
    let mut subscription = receiver
        .subscription(&channel, 340)
        .expect("a subscription");
    let mut publication = sender
        .exclusive_publication(&channel, 340)
        .expect("a publication");
    send_all(
        &[&sender, &receiver],
        &mut publication,
        &mut subscription,
        5_000,
        |_| 70,
    );
    let mut addresses = Vec::new();
    subscription.each_image(|image| addresses.push(image.source_address().to_owned()));
    assert_eq!(addresses.len(), 1);
    assert!(addresses[0].starts_with("127.0.0.1:"), "{addresses:?}");
    let mut sent = None;
    sender.each_counter(|counter| {
        if counter.kind == CounterKind::SenderPosition && counter.stream_id() == Some(340) {
            assert_eq!(counter.session_id(), Some(publication.session_id()));
            sent = counter
                .channel()
                .map(|channel| (channel.to_owned(), counter.value));
        }
    });
    assert_eq!(sent, Some((channel, publication.position())));
}

#[test]
fn destinations_are_added_manually() {
    let (client, _) = client("destinations");
    let port = free_port();
    let to = format!("aeron:udp?endpoint=127.0.0.1:{port}");
    let mut subscription = client.subscription(&to, 9).expect("a subscription");
    let mut publication = client
        .exclusive_publication("aeron:udp?control-mode=manual", 9)
        .expect("a publication");
    publication.add_destination(&to).expect("a destination");
    send_all(
        &[&client],
        &mut publication,
        &mut subscription,
        1_000,
        |_| 70,
    );
}

#[test]
fn a_dropped_claim_sends_nothing() {
    let (client, _) = client("claim");
    let mut subscription = client.subscription("aeron:ipc", 1).expect("a subscription");
    let mut publication = client.publication("aeron:ipc", 1).expect("a publication");
    let begin = Instant::now();
    while !publication.is_connected() {
        assert!(begin.elapsed() < DEADLINE);
        client.do_work().expect("the client is open");
    }
    drop(publication.try_claim(8).expect("room"));
    let mut claim = publication.try_claim(8).expect("room");
    claim.copy_from_slice(b"committe");
    claim.commit();
    let mut messages = Vec::new();
    while messages.is_empty() {
        assert!(begin.elapsed() < DEADLINE);
        client.do_work().expect("the client is open");
        let polled = subscription.poll_fragments(10, |fragment| {
            assert_eq!(fragment.begins_and_ends(), (true, true));
            assert_eq!(fragment.session_id(), publication.session_id());
            assert_eq!(fragment.position(), publication.position());
            messages.push(fragment.bytes().to_vec());
        });
        polled.expect("the subscription is open");
    }
    assert_eq!(messages, [b"committe".to_vec()]);
}

#[test]
fn a_port_that_the_kernel_chose_is_reported() {
    let (client, _) = client("port");
    let subscription = client
        .subscription("aeron:udp?endpoint=127.0.0.1:0", 1)
        .expect("a subscription");
    let endpoint = subscription.endpoint().expect("it is bound");
    assert!(
        endpoint.starts_with("127.0.0.1:") && !endpoint.ends_with(":0"),
        "{endpoint}"
    );
}
