//! Lost datagrams are retransmitted: Aeron's own interceptors drop them, by a seed.
//!
//! The interceptors take their settings from the environment of the process, so each case runs in a process of its own: this
//! program, with one test.

use crate::client;
use crate::streams::send_all;
use std::process::Command;
use touchline_aeron::SystemCounter;
use touchline_testing::free_port;

const RATE: &str = "TOUCHLINE_TEST_LOSS";

/// No effect unless a case has set the environment.
#[test]
fn a_case_of_loss() {
    let Ok(channel) = std::env::var(RATE) else {
        return;
    };
    let (sender, _) = client("loss-sender");
    let (receiver, _) = client("loss-receiver");
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
        3_000,
        |_| 1_000,
    );
    let naks = receiver.system_counter(SystemCounter::NaksSent);
    let retransmits = sender.system_counter(SystemCounter::Retransmits);
    assert!(
        naks > 0 && retransmits > 0,
        "nothing was lost: {naks} NAKs, {retransmits} retransmits"
    );
}

fn survives(channel: &str, rate: &str) {
    let status = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "loss::a_case_of_loss", "--nocapture"])
        .env(RATE, channel)
        .env("AERON_UDP_CHANNEL_INCOMING_INTERCEPTORS", "loss")
        .env(
            "AERON_UDP_CHANNEL_TRANSPORT_BINDINGS_LOSS_ARGS",
            format!("rate={rate}|seed=7|recv-msg-mask=0xF"),
        )
        .output()
        .expect("it runs");
    let said = String::from_utf8_lossy(&output_of(&status)).into_owned();
    assert!(status.status.success(), "{said}");
    assert!(said.contains("1 passed"), "{said}");
}

fn output_of(output: &std::process::Output) -> Vec<u8> {
    [output.stdout.as_slice(), output.stderr.as_slice()].concat()
}

#[test]
fn every_message_arrives_in_order_though_datagrams_are_lost() {
    let port = free_port();
    survives(&format!("aeron:udp?endpoint=127.0.0.1:{port}"), "0.05");
    let port = free_port();
    survives(
        &format!("aeron:udp?endpoint=239.255.40.3:{port}|interface=127.0.0.1"),
        "0.05",
    );
}
