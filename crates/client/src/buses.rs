//! Several buses in one loop.

use crate::{Book, Bus, Definition, Error, Event, Idle, Instrument, Stopper, Top, Trade};
use touchline_transport::Idler;

/// Several buses, read in one thread: round robin, at most 64 events of one at a time. The order between buses is not
/// defined; merging them by time would mean to wait for the slower one.
#[derive(Debug)]
pub struct Buses {
    buses: Vec<Bus>,
    /// The bus whose turn it is, and events that it may still give.
    turn: usize,
    left: u32,
    idler: Idler,
    stopper: Stopper,
}

/// Events of one bus in a row.
const IN_A_ROW: u32 = 64;

impl Default for Buses {
    fn default() -> Buses {
        Buses::new()
    }
}

impl Buses {
    /// No bus yet.
    pub fn new() -> Buses {
        Buses {
            buses: Vec::new(),
            turn: 0,
            left: IN_A_ROW,
            idler: Idle::BackOff.idler(),
            stopper: Stopper::new(),
        }
    }

    /// What to do while no bus has anything. Default: [`Idle::BackOff`].
    #[must_use]
    pub fn idle(mut self, idle: Idle) -> Buses {
        self.idler = idle.idler();
        self
    }

    /// Adds a bus.
    pub fn add(&mut self, bus: Bus) {
        self.buses.push(bus);
    }

    /// The buses, in the order in which they were added.
    pub fn all(&self) -> &[Bus] {
        &self.buses
    }

    /// The next event of any bus, and the bus: waits for it. `None` once a [`Stopper`] has ended the loop, and of no
    /// buses at all.
    #[allow(
        clippy::should_implement_trait,
        reason = "what is kept is read between two events, which an iterator that borrows the buses would not let"
    )]
    pub fn next(&mut self) -> Option<(&Bus, Event)> {
        loop {
            if self.stopper.is_stopped() || self.buses.is_empty() {
                return None;
            }
            if let Some((bus, event)) = self.round() {
                self.idler.idle(1);
                return Some((&self.buses[bus], event));
            }
        }
    }

    /// The next event of any bus, and the bus, if one is there.
    pub fn poll(&mut self) -> Option<(&Bus, Event)> {
        for _ in 0..self.buses.len() {
            if let Some((bus, event)) = self.turn().0 {
                return Some((&self.buses[bus], event));
            }
        }
        None
    }

    /// Each bus gets its turn, until one gives an event; rests if none had anything.
    fn round(&mut self) -> Option<(usize, Event)> {
        let mut work = 0;
        for _ in 0..self.buses.len() {
            let (given, is_busy) = self.turn();
            if given.is_some() {
                return given;
            }
            work += usize::from(is_busy);
        }
        self.idler.idle(work);
        None
    }

    /// An event of the bus whose turn it is, and whether it had anything to read.
    fn turn(&mut self) -> (Option<(usize, Event)>, bool) {
        let turn = self.turn;
        let (event, is_busy) = self.buses[turn].try_next();
        self.left -= 1;
        if event.is_none() || self.left == 0 {
            self.turn = (turn + 1) % self.buses.len();
            self.left = IN_A_ROW;
        }
        (event.map(|event| (turn, event)), is_busy)
    }

    /// What ends the loop, from another thread or a signal.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// The bus of a handle.
    ///
    /// # Errors
    /// [`Error::OtherBus`]: it is of none of these.
    pub fn bus(&self, instrument: Instrument) -> Result<&Bus, Error> {
        let found = self.buses.iter().find(|bus| bus.has(instrument));
        found.ok_or_else(|| {
            let names: Vec<_> = self.buses.iter().map(Bus::name).collect();
            Error::OtherBus {
                bus: names.join(", "),
            }
        })
    }

    /// The price book of an instrument; the handle knows its bus.
    ///
    /// # Errors
    /// [`Error::OtherBus`].
    pub fn book(&self, instrument: Instrument) -> Result<Book<'_>, Error> {
        self.bus(instrument)?.book(instrument)
    }

    /// Best bid and ask of an instrument.
    ///
    /// # Errors
    /// [`Error::OtherBus`].
    pub fn top(&self, instrument: Instrument) -> Result<Top, Error> {
        self.bus(instrument)?.top(instrument)
    }

    /// The last trade of an instrument.
    ///
    /// # Errors
    /// [`Error::OtherBus`].
    pub fn last_trade(&self, instrument: Instrument) -> Result<Option<Trade>, Error> {
        self.bus(instrument)?.last_trade(instrument)
    }

    /// What the venue states of an instrument.
    ///
    /// # Errors
    /// [`Error::OtherBus`].
    pub fn definition(&self, instrument: Instrument) -> Result<&Definition, Error> {
        self.bus(instrument)?.definition(instrument)
    }
}
