//! Cycles beside the incremental feed: definitions, price snapshots, order snapshots.

use super::encode::{definition, snapshot};
use super::publisher::{Published, Publisher};
use crate::capture::Feed;
use crate::random::Random;
use std::collections::VecDeque;

/// One snapshot cycle. Its packets count from 1.
#[derive(Clone, Debug)]
pub struct SnapshotCycle {
    feed: Feed,
    sequence: u32,
    /// Instruments not sent yet, each in its state at the start of the cycle.
    rest: VecDeque<Captured>,
    /// TotNumReports: instruments with any activity at the start of the cycle.
    reports: u32,
    /// Encoded messages not sent yet.
    messages: VecDeque<Vec<u8>>,
}

/// State of an instrument at a packet.
#[derive(Clone, Debug)]
struct Captured {
    index: usize,
    last_packet: u32,
    published: Published,
}

impl SnapshotCycle {
    /// Starts a cycle with the published state; call it at a packet boundary.
    pub fn begin(feed: Feed, publisher: &Publisher) -> Self {
        assert!(publisher.at_boundary(), "a snapshot is of whole packets");
        let active =
            (0..publisher.instruments.len()).filter(|&i| publisher.published[i].rpt_seq > 0);
        let rest: VecDeque<Captured> = active
            .map(|index| Captured::now(index, publisher))
            .collect();
        let reports = rest.len() as u32;
        Self {
            feed,
            sequence: 0,
            rest,
            reports,
            messages: VecDeque::new(),
        }
    }

    /// Sends the next packet at `wanted_ns`. False if the cycle is complete.
    ///
    /// An instrument is sent in its state at the start of the cycle or, with the same probability, in its current
    /// state: LastMsgSeqNumProcessed differs within a cycle.
    pub fn send_packet(
        &mut self,
        publisher: &mut Publisher,
        wanted_ns: u64,
        random: &mut Random,
    ) -> bool {
        let mut packet = Vec::new();
        let mut bytes = 0;
        let messages_max = random.between(1, 6) as usize;
        while packet.len() < messages_max {
            if self.messages.is_empty() {
                let Some(mut captured) = self.rest.pop_front() else {
                    break;
                };
                if publisher.at_boundary() && random.chance(0.5) {
                    captured = Captured::now(captured.index, publisher);
                }
                self.encode(&captured, publisher);
            }
            let next = self.messages.front().map_or(0, Vec::len);
            if bytes + next > 1_400 {
                break;
            }
            bytes += next;
            packet.extend(self.messages.pop_front());
        }
        if packet.is_empty() {
            return false;
        }
        self.sequence += 1;
        publisher.send(self.feed, self.sequence, wanted_ns, &packet);
        true
    }

    /// Messages of one instrument. Both feeds have its prices; the order feed also has its orders, in parts.
    fn encode(&mut self, captured: &Captured, publisher: &Publisher) {
        let instrument = &publisher.instruments[captured.index];
        let published = &captured.published;
        let head = snapshot::Head {
            security_id: instrument.security_id,
            last_packet: captured.last_packet,
            reports: self.reports,
            transact_time: published.transact_time,
        };
        let version = publisher.version;
        let prices = snapshot::prices(
            version,
            instrument.wide,
            head,
            published.rpt_seq,
            &published.ladders,
        );
        self.messages.push_back(prices);
        if self.feed == Feed::OrderSnapshot {
            let orders: Vec<_> = published.orders.values().copied().collect();
            // The same for an instrument in every cycle: parts from two cycles with the same packet number must
            // combine.
            let size = 2 + instrument.security_id as usize % 30;
            let chunks: Vec<_> = if orders.is_empty() {
                vec![&orders[..]]
            } else {
                orders.chunks(size).collect()
            };
            for (chunk, number) in chunks.iter().zip(1..) {
                let place = (number, chunks.len() as u32);
                self.messages
                    .push_back(snapshot::order_chunk(version, head, place, chunk));
            }
        }
    }
}

impl Captured {
    fn now(index: usize, publisher: &Publisher) -> Self {
        Self {
            index,
            last_packet: publisher.sequence,
            published: publisher.published[index].clone(),
        }
    }
}

/// Definitions in one packet of their cycle.
const DEFINITIONS_PER_PACKET: usize = 4;

/// Number of packets of one cycle of the definitions of `defined` instruments.
pub fn definition_packets(defined: usize) -> usize {
    defined.div_ceil(DEFINITIONS_PER_PACKET)
}

/// Sends one packet of the cycle of the first `defined` instruments; `number` counts from 0.
pub fn send_definition_packet(publisher: &mut Publisher, defined: usize, number: usize) {
    let first = number * DEFINITIONS_PER_PACKET;
    let last = (first + DEFINITIONS_PER_PACKET).min(defined);
    let encode = |instrument| definition::encode(publisher.version, instrument, defined as u32, 0);
    let messages: Vec<Vec<u8>> = publisher.instruments[first..last]
        .iter()
        .map(encode)
        .collect();
    let sequence = number as u32 + 1;
    publisher.send(Feed::Definitions, sequence, publisher.now_ns, &messages);
}

/// Sends a complete cycle of the definitions of the first `defined` instruments, a millisecond
/// apart.
pub fn send_definitions(publisher: &mut Publisher, defined: usize) {
    for number in 0..definition_packets(defined) {
        send_definition_packet(publisher, defined, number);
        publisher.now_ns += 1_000_000;
    }
}
