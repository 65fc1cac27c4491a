//! Sender of a feed benchmark: the incremental feed of a generated market, to multicast groups, at
//! a given rate.

use super::conditions::RunQueue;
use super::ipc::{Failed, pin};
use super::market::Market;
use super::receive::now_ns;
use crate::capture::{Feed, Line};
use crate::cme::config;
use crate::cme::header::set_sending_time;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::str::FromStr;
use std::time::{Duration, Instant};
use touchline_net::udp::{Sender, SenderSettings, Sent};

/// Parameters of the sender.
#[derive(Clone, Debug)]
pub struct Sending {
    /// Name or address of the interface.
    pub interface: String,
    /// Processor to run on.
    pub cpu: usize,
    /// Other processes share the processor: yield it while waiting.
    pub shares_cpu: bool,
    /// Network of groups: see [`group`].
    pub network: u8,
    /// The market, of which line A is sent.
    pub market: Market,
    /// Seed of the market.
    pub seed: u64,
    /// Number of packets.
    pub packets: u64,
    /// Interval between packets; zero sends as fast as the kernel accepts packets.
    pub every: Duration,
}

/// Result of sending.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SentReport {
    /// Packets that the kernel accepted.
    pub packets: u64,
    /// Times that a queue of the kernel was full; the packet was retried until it was accepted.
    pub full: u64,
    /// Packets a second.
    pub per_s: f64,
    /// Time that the sender waited for its processor, if the kernel counts it.
    pub run_queue: Option<RunQueue>,
}

/// Packets sent without a pause before the processor is yielded to a process that shares it.
const SENT_IN_A_ROW: u64 = 16;

/// Destination group of the packets: that of the generated channel, in a network of groups (the second byte of their
/// addresses) of this run, because other simulators may run on this host.
pub fn group(network: u8) -> SocketAddrV4 {
    let usual = config::group(Feed::Incremental, Line::A);
    let [first, _, third, fourth] = usual.ip().octets();
    SocketAddrV4::new(Ipv4Addr::new(first, network, third, fourth), usual.port())
}

/// Configuration of the channel with its groups in that network.
pub fn config_xml(network: u8) -> String {
    let second = |address: SocketAddrV4| {
        format!(
            "<ip>{}.{}.",
            address.ip().octets()[0],
            address.ip().octets()[1]
        )
    };
    let usual = config::group(Feed::Incremental, Line::A);
    config::config_xml().replace(&second(usual), &second(group(network)))
}

/// Sends the rounds after the first, which the receiving side has already. Each packet says when it is sent. Calls
/// `ready` when the preparation is done.
pub fn send(sending: &Sending, ready: impl FnOnce()) -> Result<SentReport, Failed> {
    let sender = Sender::open(&SenderSettings {
        interface: Some(sending.interface.clone()),
        ..SenderSettings::default()
    })?;
    let to = group(sending.network);
    let mut stretch = sending.market.rounds(sending.seed, &[Line::A]);
    stretch.next_round();
    pin(sending.cpu)?;
    ready();
    let (mut packets, mut full, mut packet) = (0, 0, Vec::new());
    let start = Instant::now();
    let run_queue = RunQueue::watch();
    while packets < sending.packets {
        for (_, _, bytes, _) in stretch.packets() {
            if packets == sending.packets {
                break;
            }
            wait_until(start + sending.every.mul_f64(packets as f64), sending);
            packet.clear();
            packet.extend_from_slice(bytes);
            set_sending_time(&mut packet, now_ns());
            while sender.send(to, &packet)? == Sent::Full {
                full += 1;
                std::thread::yield_now();
            }
            packets += 1;
            if sending.shares_cpu && packets % SENT_IN_A_ROW == 0 {
                std::thread::yield_now();
            }
        }
        stretch.next_round();
    }
    Ok(SentReport {
        packets,
        full,
        per_s: packets as f64 / start.elapsed().as_secs_f64(),
        run_queue: run_queue(),
    })
}

/// Waits until `due`: long waits sleep and yield the processor, short ones are exact.
fn wait_until(due: Instant, sending: &Sending) {
    const SLEEPS_FROM: Duration = Duration::from_millis(1);
    loop {
        let left = due.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        if sending.every >= SLEEPS_FROM {
            std::thread::sleep(left);
        } else if sending.shares_cpu {
            std::thread::yield_now();
        } else {
            std::hint::spin_loop();
        }
    }
}

impl std::fmt::Display for SentReport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {} {}", self.packets, self.full, self.per_s)?;
        self.run_queue
            .map_or(Ok(()), |run_queue| write!(f, " {run_queue}"))
    }
}

impl FromStr for SentReport {
    type Err = Failed;

    /// Parses the output of [`Display`](std::fmt::Display).
    fn from_str(text: &str) -> Result<SentReport, Failed> {
        let wrong = || Failed(format!("the sending process printed {text:?}"));
        let mut words = text.splitn(4, ' ');
        let mut next = || words.next().ok_or_else(wrong);
        Ok(SentReport {
            packets: next()?.parse().map_err(|_| wrong())?,
            full: next()?.parse().map_err(|_| wrong())?,
            per_s: next()?.parse().map_err(|_| wrong())?,
            run_queue: words.next().map(str::parse).transpose()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_sessions_have_consecutive_packet_numbers() {
        let mut stretch = Market::Mixed.rounds(1, &[Line::A]);
        let sequence = |bytes: &[u8]| u32::from_le_bytes(bytes[..4].try_into().expect("a head"));
        let mut last = None;
        for _ in 0..2 {
            for (_, _, bytes, _) in stretch.packets() {
                let this = sequence(bytes);
                assert!(
                    last.is_none_or(|last: u32| last + 1 == this),
                    "{last:?}, {this}"
                );
                last = Some(this);
            }
            stretch.next_round();
        }
        assert!(last > Some(2_000));
    }

    #[test]
    fn each_run_has_separate_multicast_groups_in_its_configuration() {
        let (xml, usual) = (config_xml(77), config::config_xml());
        assert!(
            xml.contains(&format!("<ip>{}</ip>", group(77).ip())),
            "{xml}"
        );
        assert_eq!(
            xml.matches("<ip>239.77.").count(),
            usual.matches("<ip>").count()
        );
    }

    #[test]
    fn a_report_is_read_as_it_was_written() {
        let report = SentReport {
            packets: 7,
            full: 1,
            per_s: 2.5,
            run_queue: None,
        };
        let run_queue = Some(RunQueue {
            waited_ns: 9,
            seconds: 0.5,
        });
        for report in [
            report,
            SentReport {
                run_queue,
                ..report
            },
        ] {
            assert_eq!(report.to_string().parse::<SentReport>().ok(), Some(report));
        }
        assert!("7 1".parse::<SentReport>().is_err());
    }
}
