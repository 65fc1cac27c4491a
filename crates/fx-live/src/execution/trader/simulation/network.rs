//! A network that delays, stalls and cuts connections, and loses bytes in transit.

use super::machine::{Call, Machine};
use crate::execution::edge::{Link, Lost};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::rc::Rc;
use touchline_lab::bank::Desk;
use touchline_lab::random::Random;
use touchline_types::ReceiveTime;

const NEVER: u64 = u64::MAX;
const MS: u64 = 1_000_000;

/// Bytes on their way in one direction.
#[derive(Default)]
struct Pipe {
    chunks: VecDeque<(u64, Vec<u8>)>,
    last_ns: u64,
}

impl Pipe {
    fn put(&mut self, at_ns: u64, bytes: &[u8]) {
        self.last_ns = at_ns.max(self.last_ns);
        self.chunks.push_back((self.last_ns, bytes.to_vec()));
    }

    /// Takes as many of the bytes that have arrived as fit.
    fn take(&mut self, now_ns: u64, room: &mut [u8]) -> usize {
        let mut count = 0;
        while let Some((at_ns, bytes)) = self.chunks.front_mut()
            && *at_ns <= now_ns
            && count < room.len()
        {
            let taken = bytes.len().min(room.len() - count);
            room[count..count + taken].copy_from_slice(&bytes[..taken]);
            count += taken;
            bytes.drain(..taken);
            if bytes.is_empty() {
                self.chunks.pop_front();
            }
        }
        count
    }

    /// Loses everything behind a random byte.
    fn lose(&mut self, random: &mut Random) {
        let keep = random.index(self.chunks.len() + 1);
        self.chunks.truncate(keep);
        if let Some((_, bytes)) = self.chunks.back_mut()
            && random.chance(0.5)
        {
            bytes.truncate(random.index(bytes.len() + 1));
        }
    }

    fn due_ns(&self) -> u64 {
        self.chunks.front().map_or(NEVER, |(at_ns, _)| *at_ns)
    }
}

/// A connection. Each side detects its end at its own time.
struct Connection {
    made_ns: u64,
    up: Pipe,
    down: Pipe,
    /// Bytes sent from now on do not arrive.
    is_cut: bool,
    engine_lost_ns: u64,
    bank_lost_ns: u64,
}

/// The network between the engine and one bank.
pub struct Line {
    random: Random,
    connections: Vec<Connection>,
    engine: Option<usize>,
    bank: Option<usize>,
    /// Index of the first connection that the bank does not know.
    unseen: usize,
    /// Nothing arrives before this time.
    stalled_until_ns: u64,
    pub cuts: u64,
    /// Bytes that the bank sent, for a trace.
    pub said: Option<Vec<u8>>,
}

impl Line {
    pub fn new(random: Random, traces: bool) -> Line {
        Line {
            random,
            connections: Vec::new(),
            engine: None,
            bank: None,
            unseen: 0,
            stalled_until_ns: 0,
            cuts: 0,
            said: traces.then(Vec::new),
        }
    }

    fn arrival_ns(&mut self, now_ns: u64) -> u64 {
        let latency_ns = 50_000 + self.random.below(700_000);
        (now_ns + latency_ns).max(self.stalled_until_ns)
    }

    /// Stops all arrivals for a while.
    pub fn stall(&mut self, until_ns: u64) {
        self.stalled_until_ns = until_ns;
        for connection in &mut self.connections {
            for pipe in [&mut connection.up, &mut connection.down] {
                for (at_ns, _) in &mut pipe.chunks {
                    *at_ns = until_ns.max(*at_ns);
                }
                pipe.last_ns = until_ns.max(pipe.last_ns);
            }
        }
    }

    /// Cuts the connection; a side may notice late, or only by missing heartbeats.
    pub fn cut(&mut self, now_ns: u64) {
        let Some(at) = self.engine.or(self.bank) else {
            return;
        };
        self.cuts += 1;
        let random = &mut self.random;
        let mut notices = |lost_ns: u64| match random.below(5) {
            0 => lost_ns,
            1 => lost_ns.min(now_ns),
            _ => lost_ns.min(now_ns + random.below(200 * MS)),
        };
        let connection = &mut self.connections[at];
        connection.is_cut = true;
        connection.engine_lost_ns = notices(connection.engine_lost_ns);
        connection.bank_lost_ns = notices(connection.bank_lost_ns);
        connection.up.lose(random);
        connection.down.lose(random);
    }

    /// Ends the engine's process: the bank receives the sent bytes, unless the host died as well.
    pub fn engine_died(&mut self, now_ns: u64, with_host: bool) {
        let Some(at) = self.engine.take() else {
            return;
        };
        let end_ns = self.arrival_ns(now_ns);
        let connection = &mut self.connections[at];
        if with_host {
            connection.up.lose(&mut self.random);
        }
        if !connection.is_cut {
            let end_ns = end_ns.max(connection.up.last_ns);
            connection.bank_lost_ns = connection.bank_lost_ns.min(end_ns);
        }
    }

    /// Whether messages of an earlier run may still arrive at the bank.
    pub fn has_older(&self) -> bool {
        let of_bank = self.bank.is_some() && self.bank != self.engine;
        let mut unseen =
            (self.unseen..self.connections.len()).filter(|at| Some(*at) != self.engine);
        of_bank || unseen.any(|at| !self.connections[at].up.chunks.is_empty())
    }

    /// When something arrives next.
    pub fn due_ns(&self) -> u64 {
        let mut due_ns = NEVER;
        if let Some(at) = self.engine {
            let connection = &self.connections[at];
            due_ns = due_ns
                .min(connection.down.due_ns())
                .min(connection.engine_lost_ns);
        }
        if let Some(at) = self.bank {
            let connection = &self.connections[at];
            due_ns = due_ns
                .min(connection.up.due_ns())
                .min(connection.bank_lost_ns);
        }
        let unseen = self.connections[self.unseen..].iter();
        due_ns.min(unseen.map(|one| one.up.due_ns()).min().unwrap_or(NEVER))
    }

    /// Passes arrived bytes to the bank.
    pub fn serve(&mut self, desk: &mut Desk, at: ReceiveTime) {
        while let Some(connection) = self.connections.get(self.unseen) {
            let place = self.unseen;
            let is_lost = connection.up.chunks.is_empty() && self.engine != Some(place);
            if connection.up.due_ns() > at.mono_ns && !is_lost {
                break;
            }
            self.unseen += 1;
            if is_lost {
                continue;
            }
            if desk.connected("TL", at) {
                self.bank = Some(place);
            } else {
                let end_ns = self.arrival_ns(at.mono_ns);
                let connection = &mut self.connections[place];
                connection.is_cut = true;
                connection.engine_lost_ns = connection.engine_lost_ns.min(end_ns);
            }
        }
        let Some(place) = self.bank else { return };
        let connection = &mut self.connections[place];
        loop {
            let room = desk.room();
            match connection.up.take(at.mono_ns, room) {
                0 => break,
                bytes => desk.filled(bytes, at),
            }
        }
        if connection.bank_lost_ns <= at.mono_ns {
            desk.cut();
        }
    }

    /// Sends the bank's messages.
    pub fn answer(&mut self, desk: &mut Desk, at: ReceiveTime) {
        let Some(place) = self.bank else { return };
        let arrival_ns = self.arrival_ns(at.mono_ns);
        let connection = &mut self.connections[place];
        if !desk.is_over() && !desk.transmit().is_empty() {
            let bytes = desk.transmit();
            let count = bytes.len();
            if let Some(said) = &mut self.said {
                said.extend_from_slice(bytes);
            }
            if !connection.is_cut {
                connection.down.put(arrival_ns, bytes);
            }
            desk.transmitted(count);
        }
        if desk.is_over() {
            let end_ns = arrival_ns.max(connection.down.last_ns);
            connection.engine_lost_ns = connection.engine_lost_ns.min(end_ns);
            self.bank = None;
            desk.disconnected(at);
        }
    }
}

/// The engine's end of a line.
pub struct Wire {
    pub bank: usize,
    pub line: Rc<RefCell<Line>>,
    pub machine: Rc<RefCell<Machine>>,
}

impl Wire {
    fn now_ns(&self) -> u64 {
        self.machine.borrow().now_ns
    }
}

impl Link for Wire {
    fn connect(&mut self, _until_ns: u64) -> Result<(), Lost> {
        if self.machine.borrow_mut().call() != Call::Lives {
            return Err(Lost::CLOSED);
        }
        let now_ns = self.now_ns();
        self.machine.borrow_mut().watch.connected(self.bank);
        let mut line = self.line.borrow_mut();
        let made_ns = line.arrival_ns(now_ns);
        let is_refused = line.random.chance(0.05);
        line.engine = Some(line.connections.len());
        line.connections.push(Connection {
            made_ns,
            up: Pipe::default(),
            down: Pipe::default(),
            is_cut: is_refused,
            engine_lost_ns: if is_refused { made_ns } else { NEVER },
            bank_lost_ns: NEVER,
        });
        Ok(())
    }

    fn is_connected(&mut self, now_ns: u64) -> Result<bool, Lost> {
        let line = self.line.borrow();
        let connection = &line.connections[line.engine.ok_or(Lost::CLOSED)?];
        match connection.engine_lost_ns <= now_ns {
            true => Err(Lost::CLOSED),
            false => Ok(connection.made_ns <= now_ns),
        }
    }

    fn receive(&mut self, room: &mut [u8]) -> Result<usize, Lost> {
        let now_ns = self.now_ns();
        let mut line = self.line.borrow_mut();
        let at = line.engine.ok_or(Lost::CLOSED)?;
        let connection = &mut line.connections[at];
        match connection.down.take(now_ns, room) {
            0 if connection.engine_lost_ns <= now_ns => Err(Lost::CLOSED),
            bytes => Ok(bytes),
        }
    }

    fn send(&mut self, bytes: &[u8]) -> Result<usize, Lost> {
        let now_ns = self.now_ns();
        let call = self.machine.borrow_mut().call();
        let mut line = self.line.borrow_mut();
        let at = line.engine.ok_or(Lost::CLOSED)?;
        if call == Call::IsDead || line.connections[at].engine_lost_ns <= now_ns {
            return Err(Lost::CLOSED);
        }
        // The kernel may take a part, and the process may die in the middle of the call.
        let count = match line.random.below(16) {
            _ if call == Call::Dies => line.random.index(bytes.len() + 1),
            0 => line.random.index(bytes.len() + 1),
            _ => bytes.len(),
        };
        let arrival_ns = line.arrival_ns(now_ns);
        let connection = &mut line.connections[at];
        if !connection.is_cut && count > 0 {
            connection.up.put(arrival_ns, &bytes[..count]);
        }
        self.machine
            .borrow_mut()
            .watch
            .sent(self.bank, now_ns, &bytes[..count]);
        Ok(count)
    }

    fn has_unread(&self) -> bool {
        false
    }

    fn has_unsent(&self) -> bool {
        false
    }

    fn close(&mut self) {
        let now_ns = self.now_ns();
        if self.machine.borrow().is_dead() {
            return;
        }
        self.line.borrow_mut().engine_died(now_ns, false);
    }
}
