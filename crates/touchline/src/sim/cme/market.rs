//! A generated market on the network.

use super::arguments::Arguments;
use super::expected_books::ExpectedBooks;
use super::test_transport::TestTransport;
use super::{injected, summary};
use crate::interrupt::Interrupt;
use crate::output::{Failure, say};
use crate::sim::logged::logged;
use crate::sim::orders::{Orders, answer};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use touchline_lab::capture::Feed;
use touchline_lab::cme::Options;
use touchline_lab::cme::encode::Version;
use touchline_lab::cme::live::{Live, Moment};
use touchline_lab::cme::replay_server::{Behaviour, ReplayServer};
use touchline_lab::fault::command::Command;
use touchline_lab::pacing::Pacer;

/// Simulated exchange with its outputs.
struct Market<'a> {
    arguments: &'a Arguments,
    live: Live,
    transport: TestTransport,
    replay: Option<ReplayServer>,
    expected_books: ExpectedBooks,
    pacer: Pacer,
    /// Time at which the shutdown started.
    closed_ns: Option<u64>,
}

/// Packets kept for TCP replay: minutes of a busy channel.
const REPLAY_PACKETS_MAX: usize = 50_000;

/// Runs a market until it is stopped.
pub fn run(
    arguments: &Arguments,
    transport: TestTransport,
    mut orders: Orders,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let mut market = Market::open(arguments, transport)?;
    logged(arguments.log, "cme", &market.describe(), |_| {
        market.begin();
        while !market.live.is_over() {
            while let Some(command) = orders.next() {
                market.obey(command)?;
            }
            if market.closed_ns.is_none() && (interrupt.is_asked() || market.is_over_time()) {
                market.close()?;
            }
            market.turn()?;
        }
        market.end()
    })
}

impl<'a> Market<'a> {
    fn open(arguments: &'a Arguments, transport: TestTransport) -> Result<Market<'a>, Failure> {
        let version = match arguments.schema_version.as_str() {
            "9" => Version::V9,
            _ => Version::V13,
        };
        let options = Options {
            version,
            instruments: arguments.instruments as usize,
            course: arguments.course,
            ..Options::default()
        };
        let replay = replay(arguments, &transport, version)?;
        let expected_books = ExpectedBooks::open(arguments)?;
        if let Some(folder) = &arguments.write {
            let address = replay.as_ref().and_then(address);
            transport
                .addresses
                .write(arguments, folder, transport.host(), address)?;
        }
        let mut live = Live::new(&options, arguments.events_per_second, arguments.seed);
        expected_books.keep_states(&mut live);
        Ok(Market {
            arguments,
            live,
            transport,
            replay,
            expected_books,
            pacer: Pacer::start(),
            closed_ns: None,
        })
    }

    /// Applies the faults of the start.
    fn begin(&mut self) {
        let now = self.now();
        // Forged sending times are relative to the clock as set.
        for command in &self.arguments.fault {
            if let Command::Clock(by_ns) = command {
                self.live.step_clock(*by_ns, now);
            }
        }
        for command in &self.arguments.fault {
            if let Command::Inject(injection) = command {
                self.transport.inject(injection, self.live.venue_ns(now));
            }
        }
    }

    fn describe(&self) -> String {
        let addresses = &self.transport.addresses;
        let replay = match self.replay.as_ref() {
            Some(replay) => format!(", TCP replay on {}", replay.address()),
            None => String::new(),
        };
        format!(
            "sending channel {} on {}, interface {}{replay}\n",
            addresses.channel,
            addresses.describe(),
            self.arguments.interface,
        )
    }

    fn now(&self) -> Moment {
        Moment {
            elapsed_ns: self.pacer.elapsed_ns(),
            wall_ns: self.pacer.wall_ns(),
        }
    }

    fn is_over_time(&self) -> bool {
        let events = self.arguments.events;
        self.pacer.is_over(self.arguments.seconds)
            || events.is_some_and(|events| self.live.events() >= events)
    }

    /// Does due work, or waits briefly.
    fn turn(&mut self) -> Result<(), Failure> {
        let now = self.now();
        self.transport.release(now.elapsed_ns);
        let due_ns = self.live.due_ns();
        if due_ns <= now.elapsed_ns {
            self.pacer.note(due_ns, now.elapsed_ns);
            self.live.step(now);
            return self.send(now.elapsed_ns);
        }
        let held_ns = self.transport.due_ns().unwrap_or(u64::MAX);
        self.pacer.sleep_until(due_ns.min(held_ns));
        Ok(())
    }

    /// Sends the packets that are due.
    fn send(&mut self, now_ns: u64) -> Result<(), Failure> {
        // Before the packets: if the simulator is killed, the log has the state of each sent
        // packet.
        self.expected_books.write_states(&mut self.live)?;
        for packet in self.live.packets().drain(..) {
            if let Some(replay) = self
                .replay
                .as_ref()
                .filter(|_| packet.feed == Feed::Incremental)
            {
                replay.keep(packet.sequence, &packet.payload);
            }
            self.transport
                .send(packet.feed, &packet.payload, packet.spared, now_ns);
        }
        self.transport.check()
    }

    fn obey(&mut self, command: Command) -> Result<(), Failure> {
        if self.closed_ns.is_some() {
            answer("refused: the simulator is stopping; start another one");
            return Ok(());
        }
        let now = self.now();
        match command {
            Command::Fault(setting) => {
                self.transport.set(&setting, now.elapsed_ns);
                answer("ok");
            }
            Command::Inject(injection) => {
                let packets = self.transport.inject(&injection, self.live.venue_ns(now));
                self.transport.check()?;
                answer(&injected::describe(injection.packets, &packets));
            }
            Command::Clock(by_ns) => {
                self.live.step_clock(by_ns, now);
                self.send(now.elapsed_ns)?;
                answer(&format!("ok: {}", self.clock()));
            }
            Command::Restart(off_ns) => self.restart(off_ns, now)?,
            Command::Replay(behaviour) => match &self.replay {
                Some(replay) => {
                    replay.behave(behaviour);
                    answer("ok");
                }
                None => {
                    answer("refused: no TCP replay server; start with --replay-listen 127.0.0.1:0")
                }
            },
            Command::Clear => {
                self.clear(now.elapsed_ns);
                answer("ok");
            }
            Command::Rate(events_per_second) => {
                self.live.set_rate(events_per_second, now);
                self.send(now.elapsed_ns)?;
                answer("ok");
            }
            Command::Reset => {
                self.live.reset_channel(now);
                self.send(now.elapsed_ns)?;
                answer("ok");
            }
            Command::ExpectedBooks => self.write_expected(now.elapsed_ns)?,
            Command::Quit => {
                answer("ok");
                self.close()?;
            }
        }
        Ok(())
    }

    /// Restarts the exchange with the same instruments, as after a restart of this process.
    fn restart(&mut self, off_ns: i64, now: Moment) -> Result<(), Failure> {
        let last = self.live.sequence();
        self.live.restart(off_ns, now);
        self.send(now.elapsed_ns)?;
        self.transport.session_over();
        let clock = self.clock();
        answer(&format!("ok: packet {last} was the last one; {clock}"));
        Ok(())
    }

    fn clock(&self) -> String {
        let off_s = self.live.clock_off_ns() as f64 / 1e9;
        format!("the exchange's clock is {off_s} s off this host's")
    }

    fn write_expected(&mut self, now_ns: u64) -> Result<(), Failure> {
        if !self.expected_books.has_files() {
            answer(
                "refused: no file for the expected books; start with --truth-books FILE or --truth-orders FILE",
            );
            return Ok(());
        }
        let expected_books = self.live.expected();
        self.send(now_ns)?;
        self.expected_books.write(&expected_books)?;
        answer(&format!(
            "ok: expected books after packet {}",
            self.live.sequence()
        ));
        Ok(())
    }

    fn clear(&mut self, now_ns: u64) {
        self.transport.clear(now_ns);
        if let Some(replay) = &self.replay {
            replay.behave(Behaviour::Ok);
        }
    }

    /// Stops events and faults; the following cycles let gateways recover.
    fn close(&mut self) -> Result<(), Failure> {
        let now = self.now();
        self.closed_ns = Some(now.elapsed_ns);
        self.clear(now.elapsed_ns);
        self.live.close(now);
        self.send(now.elapsed_ns)
    }

    fn end(mut self) -> Result<(), Failure> {
        let elapsed_ns = self.pacer.elapsed_ns();
        let open_ns = self.closed_ns.unwrap_or(elapsed_ns);
        let expected_books = self.live.expected();
        self.send(elapsed_ns)?;
        self.expected_books.write(&expected_books)?;
        let mut page = summary::lanes(&self.transport);
        page += &summary::market(&self.live, open_ns);
        page += &summary::replay(self.replay.as_ref());
        page += &summary::lateness(&self.pacer);
        say(&page)
    }
}

fn replay(
    arguments: &Arguments,
    transport: &TestTransport,
    version: Version,
) -> Result<Option<ReplayServer>, Failure> {
    let Some(listen) = arguments.replay_listen else {
        let wanted = arguments
            .fault
            .iter()
            .any(|command| matches!(command, Command::Replay(_)));
        return match wanted {
            true => Err(Failure::usage(
                "the fault `replay` needs a TCP replay server; give --replay-listen 127.0.0.1:0",
            )),
            false => Ok(None),
        };
    };
    let started = ReplayServer::start(
        listen.into(),
        transport.addresses.channel,
        version,
        REPLAY_PACKETS_MAX,
    );
    let server = started.map_err(|error| {
        Failure::run(format!(
            "TCP replay cannot listen on {listen} ({error}); give an address of this host with a free port, or port 0"
        ))
    })?;
    for command in &arguments.fault {
        if let Command::Replay(behaviour) = command {
            server.behave(*behaviour);
        }
    }
    Ok(Some(server))
}

fn address(server: &ReplayServer) -> Option<SocketAddrV4> {
    match server.address() {
        // A wildcard address is reached at an address of this host.
        SocketAddr::V4(address) if address.ip().is_unspecified() => {
            Some(SocketAddrV4::new(Ipv4Addr::LOCALHOST, address.port()))
        }
        SocketAddr::V4(address) => Some(address),
        SocketAddr::V6(_) => None,
    }
}
