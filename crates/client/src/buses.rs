//! Several buses in one loop.

use crate::{Book, Bus, Definition, Error, Event, Idle, Instrument, Stopper, Top, Trade};
use touchline_transport::Idler;

/// Several buses, read on one thread: round robin, at most 64 events of one bus in a row. The order between buses is
/// not defined; merging by time would have to wait for the slower bus.
#[derive(Debug)]
pub struct Buses {
    buses: Vec<Bus>,
    /// Index of the current bus, and the events left of its turn.
    turn: usize,
    left: u32,
    idler: Idler,
    stopper: Stopper,
}

/// Maximum number of events of one bus in a row.
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

    /// Idle strategy while no bus has messages. Default: [`Idle::BackOff`].
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

    /// The next event of any bus, and the bus; waits for it. A bus that its own [`Stopper`] has stopped is left out, as in a forked
    /// child of its reader. `None` once a stopper has ended the loop or each bus has stopped, and if there are no buses.
    #[allow(
        clippy::should_implement_trait,
        reason = "an iterator would borrow the buses, and programs read their kept values between two events"
    )]
    pub fn next(&mut self) -> Option<(&Bus, Event)> {
        loop {
            if self.stopper.is_stopped() || self.buses.iter().all(Bus::is_stopped) {
                return None;
            }
            if let Some((bus, event)) = self.round() {
                self.idler.idle(1);
                return Some((&self.buses[bus], event));
            }
        }
    }

    /// The next event of any bus, and the bus, if there is one.
    pub fn poll(&mut self) -> Option<(&Bus, Event)> {
        for _ in 0..self.buses.len() {
            if let Some((bus, event)) = self.turn().0 {
                return Some((&self.buses[bus], event));
            }
        }
        None
    }

    /// Polls each bus in turn until one has an event; idles if none had messages.
    fn round(&mut self) -> Option<(usize, Event)> {
        let mut work = 0;
        for _ in 0..self.buses.len() {
            if self.buses[self.turn].is_stopped() {
                self.end_turn();
                continue;
            }
            let (given, is_busy) = self.turn();
            if given.is_some() {
                return given;
            }
            work += usize::from(is_busy);
        }
        self.idler.idle(work);
        None
    }

    /// An event of the current bus, and whether it had messages.
    fn turn(&mut self) -> (Option<(usize, Event)>, bool) {
        let turn = self.turn;
        let (event, is_busy) = self.buses[turn].try_next();
        self.left -= 1;
        if event.is_none() || self.left == 0 {
            self.end_turn();
        }
        (event.map(|event| (turn, event)), is_busy)
    }

    fn end_turn(&mut self) {
        self.turn = (self.turn + 1) % self.buses.len();
        self.left = IN_A_ROW;
    }

    /// Stopper that ends the loop, for another thread or a signal.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// The bus of a handle.
    ///
    /// # Errors
    /// [`Error::OtherBus`]: the handle is of none of these buses.
    pub fn bus(&self, instrument: Instrument) -> Result<&Bus, Error> {
        let found = self.buses.iter().find(|bus| bus.has(instrument));
        found.ok_or_else(|| {
            let names: Vec<_> = self.buses.iter().map(Bus::name).collect();
            Error::OtherBus {
                bus: names.join(", "),
            }
        })
    }

    /// Price book of an instrument; the handle identifies the bus.
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

    /// Definition of an instrument.
    ///
    /// # Errors
    /// [`Error::OtherBus`].
    pub fn definition(&self, instrument: Instrument) -> Result<&Definition, Error> {
        self.bus(instrument)?.definition(instrument)
    }
}
