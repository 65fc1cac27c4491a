//! Run of the simulated Deribit, from start to stop.

use super::arguments::Arguments;
use super::{access, summary};
use crate::interrupt::Interrupt;
use crate::output::{Failure, Output, say};
use crate::sim::clients::Clients;
use crate::sim::expected_log::ExpectedLog;
use crate::sim::logged::logged;
use crate::sim::orders::{Orders, answer};
use std::path::PathBuf;
use touchline_lab::deribit::fault::Faults;
use touchline_lab::deribit::market::{Market, Settings};
use touchline_lab::deribit::{Command, Exchange, Recording, Source, Venue, expected_books};
use touchline_lab::pacing::{IdleSleep, Pacer};
use touchline_session::access_control::ThrottleLimits;

/// Longest sleep while bytes wait: a slow connection gets one in each millisecond.
const SENDING_NS: u64 = 200_000;
/// Time without faults before the stop, for outstanding messages to arrive.
const HEALING_NS: u64 = 500_000_000;
/// Maximum wait for clients to log out.
const FAREWELL_NS: u64 = 3_000_000_000;
/// Maximum size of a recording.
const PLAY_BYTES_MAX: u64 = 1 << 30;

struct Running<'a> {
    arguments: &'a Arguments,
    exchange: Exchange,
    pacer: Pacer,
    idle: IdleSleep,
    log: Option<ExpectedLog>,
    books: Option<PathBuf>,
}

/// Runs the simulator until it is stopped.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let interrupt = Interrupt::catch()?;
    let mut orders = Orders::listen(arguments.commands, arguments.until_eof)?;
    let mut running = Running::open(arguments)?;
    logged(arguments.log, "deribit", &running.describe(), |log| {
        let mut is_over = false;
        let mut clients = Clients::default();
        while !is_over {
            while let Some(command) = orders.next() {
                is_over |= running.obey(command)?;
            }
            is_over |= interrupt.is_asked() || running.pacer.is_over(arguments.seconds);
            running.turn()?;
            clients.log(running.clients(), log);
        }
        running.close()
    })
}

impl<'a> Running<'a> {
    fn open(arguments: &'a Arguments) -> Result<Running<'a>, Failure> {
        let addresses = arguments.access_control.addresses(arguments.listen)?;
        let source = source(arguments)?;
        let credentials = access::credentials(arguments)?.only_from(addresses);
        if let Some(path) = &arguments.truth_books {
            // Creates no file; an existing one stays.
            drop(Output::open(path)?);
        }
        let log = arguments.truth_log.as_deref().map(ExpectedLog::create);
        let log = log.transpose()?;
        let pacer = Pacer::start();
        let faults = Faults::new(arguments.seed, arguments.fault.clone());
        let rate = arguments.events_per_second;
        let mut venue = Venue::open(source, credentials, faults, rate, pacer.elapsed_ns());
        if log.is_some() {
            venue.keep_states();
        }
        let listening = Exchange::listen(arguments.listen, venue, ThrottleLimits::default());
        let exchange = listening.map_err(|error| {
            Failure::run(format!(
                "cannot listen on {} ({error}); give an address of this host with a free port, or port 0",
                arguments.listen
            ))
        })?;
        if let Some(folder) = &arguments.write {
            access::write(folder, exchange.address(), &exchange.venue().credentials)?;
        }
        Ok(Running {
            arguments,
            exchange,
            pacer,
            idle: IdleSleep::default(),
            log,
            books: arguments.truth_books.clone(),
        })
    }

    fn describe(&self) -> String {
        let address = self.exchange.address();
        match &self.exchange.venue().source {
            Source::Market(market) => format!(
                "listening on {address}: {} instruments of seed {}\n",
                market.instruments().len(),
                self.arguments.seed
            ),
            Source::Recording(recording) => format!(
                "listening on {address}: a recording of {} instruments\n",
                recording.symbols().len()
            ),
        }
    }

    fn clients(&self) -> Clients {
        let (served, totals) = (self.exchange.served(), self.exchange.totals());
        Clients {
            connections: served.connections,
            logons: totals.logons,
            refused: served.turned_away + totals.logons_refused,
        }
    }

    /// Does due work, or sleeps until some is due.
    fn turn(&mut self) -> Result<(), Failure> {
        let is_busy = self.exchange.work(self.pacer.time());
        if let Some(log) = &mut self.log {
            let mut states = self.exchange.take_states();
            if !states.is_empty() {
                log.write(&mut states)?;
            }
        }
        if !self.exchange.is_connected() {
            // The events have no receiver: all that are due after a sleep are taken together.
            self.idle.turn_unconnected(is_busy);
            return Ok(());
        }
        let due_ns = self.exchange.venue().due_ns();
        let due_in_ns = match self.exchange.is_sending() {
            true => SENDING_NS,
            false => due_ns.saturating_sub(self.pacer.elapsed_ns()),
        };
        self.idle.turn(is_busy, due_in_ns);
        Ok(())
    }

    /// Executes a command; true if it is the last one.
    fn obey(&mut self, command: Command) -> Result<bool, Failure> {
        let now_ns = self.pacer.elapsed_ns();
        let venue = self.exchange.venue_mut();
        match command {
            Command::Fault(setting) => venue.faults.add(setting),
            Command::Clear => venue.faults.clear(),
            Command::Rate(events) => venue.set_rate(events, now_ns),
            Command::ExpectedBooks => {
                if !self.write_books()? {
                    answer(
                        "refused: no file for the expected books; start with --truth-books FILE",
                    );
                    return Ok(false);
                }
            }
            Command::Quit => {}
        }
        answer("ok");
        Ok(command == Command::Quit)
    }

    /// Writes the current books; false if no file is requested.
    fn write_books(&self) -> Result<bool, Failure> {
        let (Some(path), Source::Market(market)) = (&self.books, &self.exchange.venue().source)
        else {
            return Ok(false);
        };
        let mut output = Output::open(path)?;
        output.text(&expected_books::books_jsonl(market))?;
        output.finish()?;
        Ok(true)
    }

    /// Stops: first the faults, so that later messages reveal missing ones, then the events.
    fn close(mut self) -> Result<(), Failure> {
        self.exchange.venue_mut().faults.clear();
        self.turns(HEALING_NS, |_| false)?;
        self.exchange.venue_mut().close();
        self.turns(HEALING_NS, |_| false)?;
        self.write_books()?;
        let text = summary::text(&self.exchange, &self.pacer);
        self.exchange.log_out(self.pacer.time());
        self.turns(FAREWELL_NS, |exchange| exchange.clients().next().is_none())?;
        say(&text)
    }

    fn turns(&mut self, ns: u64, is_over: impl Fn(&Exchange) -> bool) -> Result<(), Failure> {
        let until_ns = self.pacer.elapsed_ns() + ns;
        while self.pacer.elapsed_ns() < until_ns && !is_over(&self.exchange) {
            self.turn()?;
        }
        Ok(())
    }
}

fn source(arguments: &Arguments) -> Result<Source, Failure> {
    let Some(file) = &arguments.play else {
        return Ok(Source::Market(Market::open(&Settings {
            seed: arguments.seed,
            instruments: arguments.instruments as usize,
            levels: arguments.levels as usize,
        })));
    };
    let refuse = |why: &str| {
        Failure::usage(format!(
            "{}: {why}; give a file of FIX messages as received",
            file.display()
        ))
    };
    let bytes = touchline_net::input::read(file, PLAY_BYTES_MAX);
    let bytes = bytes.map_err(|error| refuse(&error.to_string()))?;
    let recording = Recording::read(bytes).map_err(|error| refuse(&error.to_string()))?;
    Ok(Source::Recording(recording))
}
