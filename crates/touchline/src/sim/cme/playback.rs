//! Playback of captures on the network.

use super::arguments::Arguments;
use super::summary::{self, Totals};
use super::test_transport::TestTransport;
use crate::interrupt::Interrupt;
use crate::output::{Failure, say};
use crate::sim::logged::logged;
use crate::sim::orders::{Orders, answer};
use touchline_lab::fault::command::Command;
use touchline_lab::fault::stream::Fault;
use touchline_lab::pacing::Pacer;
use touchline_net::{Packet, PacketSource, PcapSource, Received};
use touchline_tape::raw::packets;

/// A running playback.
struct Playback<'a> {
    arguments: &'a Arguments,
    interrupt: &'a Interrupt,
    transport: TestTransport,
    orders: Orders,
    pacer: Pacer,
    /// Capture time that corresponds to `pass_ns` of the schedule: that of the first packet.
    first_ns: Option<u64>,
    pass_ns: u64,
    last_due_ns: u64,
    totals: Totals,
    is_stopped: bool,
}

/// Pause between two passes.
const PAUSE_NS: u64 = 1_000_000_000;

/// Sends captures until they end or the simulator is stopped.
pub fn run(
    arguments: &Arguments,
    transport: TestTransport,
    orders: Orders,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    if let Some(refused) = arguments
        .fault
        .iter()
        .find_map(|fault| refusal(arguments, fault))
    {
        return Err(Failure::usage(refused));
    }
    let mut source = packets(&arguments.play).map_err(Failure::run)?;
    if let Some(folder) = &arguments.write {
        if arguments.config_xml.is_none() {
            return Err(Failure::usage(
                "--write with --play needs the channel; give --config-xml FILE --channel N",
            ));
        }
        transport
            .addresses
            .write(arguments, folder, transport.host(), None)?;
    }
    let up = format!(
        "sending {} at speed {}, interface {}\n",
        files(arguments),
        arguments.speed,
        arguments.interface
    );
    logged(arguments.log, "cme", &up, |_| {
        let mut playback = Playback::new(arguments, transport, orders, interrupt);
        loop {
            playback.pass(&mut source)?;
            if playback.is_stopped || !arguments.again {
                return playback.end();
            }
            source = packets(&arguments.play).map_err(Failure::run)?;
        }
    })
}

impl<'a> Playback<'a> {
    fn new(
        arguments: &'a Arguments,
        transport: TestTransport,
        orders: Orders,
        interrupt: &'a Interrupt,
    ) -> Playback<'a> {
        Playback {
            arguments,
            interrupt,
            transport,
            orders,
            pacer: Pacer::start(),
            first_ns: None,
            pass_ns: 0,
            last_due_ns: 0,
            totals: Totals::default(),
            is_stopped: false,
        }
    }

    /// Sends the captures once.
    fn pass(&mut self, source: &mut PcapSource<'_>) -> Result<(), Failure> {
        self.first_ns = None;
        loop {
            match source.receive().map_err(Failure::run)? {
                Received::Packet(packet) => self.packet(&packet)?,
                Received::Nothing | Received::Refused => {}
                Received::End => break,
            }
            if self.is_stopped {
                return Ok(());
            }
        }
        self.totals.passes += 1;
        if self.first_ns.is_none() {
            return Err(Failure::run(format!(
                "{}: no packet to a multicast group{}; give captures of a channel, or --config-xml and --channel",
                files(self.arguments),
                source.skipped()
            )));
        }
        self.pass_ns = self.last_due_ns + PAUSE_NS;
        Ok(())
    }

    /// Sends a packet when it is due.
    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), Failure> {
        let lane = self.transport.addresses.route(packet.destination);
        let lane = lane.filter(|_| self.arguments.config_xml.is_some());
        if lane.is_none() && !packet.destination.ip().is_multicast() {
            self.totals.left_out += 1;
            return Ok(());
        }
        let first_ns = *self.first_ns.get_or_insert(packet.receive_ns);
        let since_ns = packet.receive_ns.saturating_sub(first_ns) as f64 / self.arguments.speed;
        let due_ns = self.pass_ns + since_ns as u64;
        self.last_due_ns = due_ns;
        let now_ns = self.wait(due_ns);
        if self.is_stopped {
            return Ok(());
        }
        self.pacer.note(due_ns, now_ns);
        self.totals.packets += 1;
        match lane {
            Some((line, feed)) => self.transport.send_on(line, feed, packet.payload, now_ns),
            None => self.transport.send_to(packet.destination, packet.payload)?,
        }
        self.transport.check()
    }

    /// Waits until a time, doing other due work; returns the time.
    fn wait(&mut self, due_ns: u64) -> u64 {
        loop {
            while let Some(command) = self.orders.next() {
                self.obey(&command);
            }
            let now_ns = self.pacer.elapsed_ns();
            if self.interrupt.is_asked() || self.pacer.is_over(self.arguments.seconds) {
                self.is_stopped = true;
            }
            self.transport.release(now_ns);
            if self.is_stopped || due_ns <= now_ns {
                return now_ns;
            }
            self.pacer
                .sleep_until(due_ns.min(self.transport.due_ns().unwrap_or(u64::MAX)));
        }
    }

    fn obey(&mut self, command: &Command) {
        let now_ns = self.pacer.elapsed_ns();
        if let Some(refused) = refusal(self.arguments, command) {
            answer(&format!("refused: {refused}"));
            return;
        }
        match command {
            Command::Fault(setting) => self.transport.set(setting, now_ns),
            Command::Clear => self.transport.clear(now_ns),
            _ => self.is_stopped = true,
        }
        answer("ok");
    }

    fn end(mut self) -> Result<(), Failure> {
        let elapsed_ns = self.pacer.elapsed_ns();
        self.transport.clear(elapsed_ns);
        self.transport.check()?;
        let mut page = String::new();
        if self.arguments.config_xml.is_some() {
            page += &summary::lanes(&self.transport);
        }
        page += &summary::playback(&self.totals, elapsed_ns);
        page += &summary::lateness(&self.pacer);
        say(&page)
    }
}

/// Why captures do not support a command, if they do not.
fn refusal(arguments: &Arguments, command: &Command) -> Option<&'static str> {
    match command {
        Command::Reset
        | Command::ExpectedBooks
        | Command::Rate(_)
        | Command::Replay(_)
        | Command::Inject(_)
        | Command::Clock(_)
        | Command::Restart(_) => {
            Some("not possible with captures; leave out --play for a generated market")
        }
        Command::Fault(setting) if matches!(setting.fault, Fault::Both { .. }) => Some(
            "not possible with captures, which have each line separately; use `drop` or `burst` on a line",
        ),
        Command::Fault(_) if arguments.config_xml.is_none() => {
            Some("faults need the lines of the channel; give --config-xml FILE --channel N")
        }
        Command::Fault(_) | Command::Clear | Command::Quit => None,
    }
}

fn files(arguments: &Arguments) -> String {
    let names = arguments.play.iter().map(|path| path.display().to_string());
    names.collect::<Vec<_>>().join(", ")
}
