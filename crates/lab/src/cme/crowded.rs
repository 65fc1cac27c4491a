//! A channel with many instruments and full order books, for benchmarks.
//!
//! Vendors publish the traits of the channels that they measure with: instruments, bytes of a packet, operations of a
//! message, levels and orders of a book. [`Traits`] are these; how often an instrument changes is not published, and
//! here every packet is of an instrument drawn at random, which uses the caches as badly as possible.
//!
//! Unlike a session of [`generate`](super::generate), a round ends with the books that it began with, so that it can be
//! repeated without end, and no state is kept for each packet: a book of a thousand orders costs nothing to check.

mod book;

use super::encode::incremental::{self, Body};
use super::encode::{Version, packet};
use crate::picture::Side;
use crate::random::Random;
use book::{Book, LEVELS_MAX, Open, Order, Price, best, beyond};
use std::mem;

/// Traits of a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Traits {
    /// Instruments.
    pub instruments: usize,
    /// Mean bytes of a packet.
    pub packet_bytes: usize,
    /// Published levels a side, at most 10.
    pub levels: usize,
    /// Mean number of orders of an instrument.
    pub orders_mean: usize,
    /// The most orders of an instrument.
    pub orders_max: usize,
}

/// Channel 360, as OnixS describes it: equity options.
pub const CHANNEL_360: Traits = Traits {
    instruments: 4_069,
    packet_bytes: 429,
    levels: 10,
    orders_mean: 794,
    orders_max: 1_569,
};

/// Channel 384, as OnixS describes it.
pub const CHANNEL_384: Traits = Traits {
    instruments: 1_905,
    packet_bytes: 178,
    levels: 7,
    orders_mean: 270,
    orders_max: 690,
};

/// A million orders in 2,000 books.
pub const MILLION_ORDERS: Traits = Traits {
    instruments: 2_000,
    packet_bytes: 383,
    levels: 10,
    orders_mean: 500,
    orders_max: 1_000,
};

/// Packets of the channel's incremental feed.
#[derive(Clone, Debug)]
pub struct Crowded {
    /// Packets that fill the books, from number 1 on.
    pub opening: Vec<Vec<u8>>,
    /// The packets behind them, after which the books are again as the opening left them.
    pub round: Vec<Vec<u8>>,
    /// The books that both leave.
    pub books: Vec<ExpectedBook>,
}

/// Content of a book.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpectedBook {
    /// SecurityID.
    pub security_id: i32,
    /// Bids and offers, best first: price in 1e-9, contracts, orders.
    pub levels: [Vec<(i64, i64, u32)>; 2],
    /// All its orders.
    pub orders: usize,
}

/// Prices behind the published ones at which a book of ten levels has orders.
const HIDDEN_PRICES: usize = 30;
/// Share of changes that make a new best price. Half of them end it, with two operations in their message: the end of a
/// level shows the one behind it.
const NEW_BEST_SHARE: f64 = 0.01;
/// Changes of an instrument that are open at once, at most.
const OPEN_MAX: usize = 4;
/// The most bytes of a packet of the opening, and orders or levels of a message.
const OPENING_BYTES_MAX: usize = 1_400;
const ENTRIES_OF_A_MESSAGE: usize = 20;
/// Time between two packets.
const PAUSE_NS: u64 = 20_000;
const START_NS: u64 = 1_767_571_200_000_000_000;
/// Message flags: last quote of its event, and end of the event.
const LAST: u8 = 0x84;

/// State of the generator.
struct Channel {
    traits: Traits,
    books: Vec<Book>,
    random: Random,
    last_order: u64,
    sequence: u32,
    packets: Vec<Vec<u8>>,
    /// Messages of the open packet.
    messages: Vec<Vec<u8>>,
    /// Bytes that all packets of the round should have, minus those that they have.
    due_bytes: i64,
}

/// Generates a channel; its round has about as many packets as `packets`.
pub fn generate(traits: Traits, packets: usize, seed: u64) -> Crowded {
    assert!(
        (1..=LEVELS_MAX).contains(&traits.levels),
        "the venue publishes 1 to {LEVELS_MAX} levels"
    );
    let mut channel = Channel::new(traits, seed);
    let opening = channel.opening();
    let books: Vec<_> = channel.expected().collect();
    let round = channel.round(packets);
    assert!(
        channel.expected().eq(books.iter().cloned()),
        "a round takes back each of its changes"
    );
    Crowded {
        opening,
        round,
        books,
    }
}

impl Channel {
    fn new(traits: Traits, seed: u64) -> Channel {
        let mut channel = Channel {
            traits,
            books: Vec::new(),
            random: Random::from_seed(seed),
            last_order: 7_000_000_000_000,
            sequence: 0,
            packets: Vec::new(),
            messages: Vec::new(),
            due_bytes: 0,
        };
        for index in 0..traits.instruments {
            let book = channel.full_book(index);
            channel.books.push(book);
        }
        channel
    }

    /// A book whose number of orders has the mean and the maximum of the channel.
    fn full_book(&mut self, index: usize) -> Book {
        let Traits {
            levels,
            orders_mean,
            orders_max,
            ..
        } = self.traits;
        // The mean of u^k is 1 / (k + 1), for u in [0, 1).
        let power = orders_max as f64 / orders_mean as f64 - 1.0;
        let share = self.random.below(1 << 32) as f64 / (1_u64 << 32) as f64;
        let orders = match index {
            0 => orders_max,
            _ => (orders_max as f64 * share.powf(power)).round() as usize,
        };
        let hidden = match levels {
            LEVELS_MAX => HIDDEN_PRICES,
            _ => 0,
        };
        let mut sides = [Side::Bid, Side::Ask].map(|side| {
            let price = |behind| Price {
                price: beyond(side, best(side), behind as i64),
                quantity: 0,
                orders: Vec::new(),
            };
            (0..levels + hidden).map(price).collect::<Vec<_>>()
        });
        // A published level has two orders at least, so that one of them may go.
        let least = (0..2).flat_map(|side| (0..levels).map(move |level| (side, level)));
        let least: Vec<_> = least.clone().chain(least).collect();
        for place in 0..orders.max(least.len()) {
            let (side, level) = match least.get(place) {
                Some(place) => *place,
                None => {
                    let hides = hidden > 0 && self.random.chance(0.5);
                    let level = match hides {
                        true => levels + self.random.index(hidden),
                        false => self.random.index(levels),
                    };
                    (self.random.index(2), level)
                }
            };
            let order = self.order();
            let price: &mut Price = &mut sides[side][level];
            price.quantity += order.quantity;
            price.orders.push(order);
        }
        sides
            .iter_mut()
            .for_each(|side| side.retain(|price| !price.orders.is_empty()));
        Book::new(1_000 + 7 * index as i32, sides)
    }

    fn order(&mut self) -> Order {
        self.last_order += 1 + self.random.below(9);
        Order {
            id: self.last_order,
            quantity: self.random.between(1, 100),
        }
    }

    /// Packets that publish all books.
    fn opening(&mut self) -> Vec<Vec<u8>> {
        let mut books = mem::take(&mut self.books);
        for book in &mut books {
            for side in [Side::Bid, Side::Ask] {
                let levels = book.opening_levels(side, self.traits.levels);
                self.put_opening(levels);
                let orders: Vec<_> = book.opening_orders(side).collect();
                for orders in orders.chunks(ENTRIES_OF_A_MESSAGE) {
                    self.put_opening(Body::Orders(orders.to_vec()));
                }
            }
            self.flush();
        }
        self.books = books;
        mem::take(&mut self.packets)
    }

    fn put_opening(&mut self, body: Body) {
        let message = self.encode(&body);
        let open: usize = self.messages.iter().map(Vec::len).sum();
        if open + message.len() > OPENING_BYTES_MAX {
            self.flush();
        }
        self.messages.push(message);
    }

    /// Packets that change the books, and at last take back the changes that are still open.
    fn round(&mut self, packets: usize) -> Vec<Vec<u8>> {
        while self.packets.len() < packets {
            let index = self.random.index(self.books.len());
            self.packet(|channel| Some(channel.change(index)));
        }
        let mut index = 0;
        while index < self.books.len() {
            self.packet(|channel| {
                let left = channel.books[index..].iter();
                index += left.take_while(|book| book.open.is_empty()).count();
                (index < channel.books.len()).then(|| channel.end_one(index))
            });
        }
        mem::take(&mut self.packets)
    }

    /// A packet with as many messages as are due, or until there are no more.
    fn packet(&mut self, mut next: impl FnMut(&mut Self) -> Option<Body>) {
        let mean = self.traits.packet_bytes as i64;
        self.due_bytes += self.random.between(mean / 2, mean * 3 / 2) - 12;
        while self.messages.is_empty() || self.due_bytes > 0 {
            let Some(body) = next(self) else { break };
            let message = self.encode(&body);
            self.due_bytes -= message.len() as i64;
            self.messages.push(message);
        }
        self.flush();
    }

    /// A change of an instrument, or the end of one.
    fn change(&mut self, index: usize) -> Body {
        let open = self.books[index].open.len();
        if open >= OPEN_MAX || open > 0 && self.random.chance(0.5) {
            return self.end_one(index);
        }
        let mut book = mem::replace(&mut self.books[index], Book::EMPTY);
        let body = self.begin(&mut book);
        self.books[index] = book;
        body
    }

    /// Takes back one of the open changes of an instrument that has some.
    fn end_one(&mut self, index: usize) -> Body {
        let book = &mut self.books[index];
        let place = self.random.index(book.open.len());
        let change = book.open.swap_remove(place);
        book.take_back(change, self.traits.levels)
    }

    /// A change that will be taken back.
    fn begin(&mut self, book: &mut Book) -> Body {
        let side = [Side::Bid, Side::Ask][self.random.index(2)];
        let order = self.order();
        if self.random.chance(NEW_BEST_SHARE) && book.is_at_rest(side) {
            let price = beyond(side, best(side), -1);
            book.open.push(Open::Came(side, price, order.id));
            return book.new_best(side, price, order);
        }
        // A new best price has one order until its end.
        let first = usize::from(!book.is_at_rest(side));
        let place = first + self.random.index(book.sides[side as usize].len() - first);
        let price = &book.sides[side as usize][place];
        let picked = price.orders[self.random.index(price.orders.len())];
        let is_open = |change: &Open| matches!(change, Open::Came(_, _, id) | Open::Changed(_, _, Order { id, .. }) if *id == picked.id);
        if self.random.chance(0.5) || book.open.iter().any(is_open) {
            book.open.push(Open::Came(side, price.price, order.id));
            return book.came(side, place, order, self.traits.levels);
        }
        book.open.push(Open::Changed(side, price.price, picked));
        let changed = Order {
            quantity: picked.quantity + order.quantity,
            ..picked
        };
        book.changed(side, place, changed, self.traits.levels)
    }

    fn encode(&self, body: &Body) -> Vec<u8> {
        incremental::encode(Version::V9, false, body, self.now_ns(), 0)
    }

    fn now_ns(&self) -> u64 {
        START_NS + u64::from(self.sequence) * PAUSE_NS
    }

    /// Sends the open packet as one event.
    fn flush(&mut self) {
        if let Some(last) = self.messages.last_mut() {
            // MatchEventIndicator lies behind the size, the header of SBE and TransactTime.
            last[2 + 8 + 8] = LAST;
            self.sequence += 1;
            let now_ns = self.now_ns();
            self.packets
                .push(packet(self.sequence, now_ns, &self.messages));
            self.messages.clear();
        }
    }

    fn expected(&self) -> impl Iterator<Item = ExpectedBook> {
        self.books
            .iter()
            .map(|book| book.expected(self.traits.levels))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries of the first group of each message.
    fn operations(packet: &[u8]) -> Vec<u8> {
        let u16_at = |at: usize| usize::from(u16::from_le_bytes([packet[at], packet[at + 1]]));
        let (mut operations, mut start) = (Vec::new(), 12);
        while start < packet.len() {
            operations.push(packet[start + 10 + u16_at(start + 2) + 2]);
            start += u16_at(start);
        }
        operations
    }

    #[test]
    fn a_channel_has_its_traits() {
        for traits in [CHANNEL_360, CHANNEL_384, MILLION_ORDERS] {
            // Fewer instruments are enough for the means.
            let traits = Traits {
                instruments: 400,
                ..traits
            };
            let crowded = generate(traits, 4_000, 1);
            let orders: Vec<_> = crowded.books.iter().map(|book| book.orders).collect();
            let mean = orders.iter().sum::<usize>() / orders.len();
            assert!(
                mean.abs_diff(traits.orders_mean) < traits.orders_mean / 10,
                "{traits:?}: {mean}"
            );
            assert_eq!(orders.iter().max(), Some(&traits.orders_max));
            let mut levels = crowded.books.iter().flat_map(|book| &book.levels);
            assert!(levels.all(|side| side.len() == traits.levels));
            let bytes: usize = crowded.round.iter().map(Vec::len).sum();
            let bytes = bytes / crowded.round.len();
            assert!(
                bytes.abs_diff(traits.packet_bytes) < traits.packet_bytes / 20,
                "{traits:?}: {bytes}"
            );
            let of_each: Vec<u8> = crowded
                .round
                .iter()
                .flat_map(|packet| operations(packet))
                .collect();
            let single = of_each.iter().filter(|count| **count == 1).count();
            assert!(
                single as f64 >= 0.99 * of_each.len() as f64,
                "{traits:?}: {single}"
            );
            assert!(single < of_each.len() || traits.levels < LEVELS_MAX);
        }
    }
}
