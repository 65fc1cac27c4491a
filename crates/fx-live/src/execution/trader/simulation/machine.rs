//! The host of the engine: its clock, its journal, and the process, which dies at any call that leaves it.

use super::watch::{Watch, short};
use crate::execution::edge::Output;
use std::cell::RefCell;
use std::rc::Rc;
use touchline_fx_desk::records::kind;
use touchline_fx_events::encoding::{Decoder, Entry};
use touchline_journal::{Appended, Record, Refused, SimulatedJournal, State};
use touchline_lab::random::Random;

/// Time by the wall clock when the simulation begins.
pub const BEGIN_NS: u64 = 1_767_610_800_000_000_000;

/// Calls to a step of the journal's thread.
pub const PACE: u64 = 8;

/// Fate of a process in a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Call {
    /// The process lives on.
    Lives,
    /// The process dies in the call, which may be done or not.
    Dies,
    /// The process died before: the call is not made.
    IsDead,
}

/// The host.
pub struct Machine {
    pub journal: SimulatedJournal,
    /// Monotonic time.
    pub now_ns: u64,
    /// The wall clock was set by this much in all, nanoseconds.
    pub set_ns: i64,
    pub watch: Watch,
    pub random: Random,
    /// The journal's thread works once in N calls: a slow disk lacks more of the end.
    pub pace: u64,
    /// Calls until the process dies.
    calls: Option<u64>,
    decoder: Decoder,
}

impl Machine {
    pub fn new(journal: SimulatedJournal, watch: Watch, random: Random) -> Machine {
        Machine {
            journal,
            now_ns: 1_000_000,
            set_ns: 0,
            watch,
            random,
            pace: PACE,
            calls: None,
            decoder: Decoder::joined(b""),
        }
    }

    /// Time by the wall clock.
    pub fn wall_ns(&self) -> u64 {
        self.now_ns.wrapping_add_signed(self.wall_offset_ns())
    }

    /// The wall clock less the monotonic one, nanoseconds.
    pub fn wall_offset_ns(&self) -> i64 {
        BEGIN_NS as i64 + self.set_ns
    }

    /// Sets the wall clock.
    pub fn set_wall(&mut self, set_ns: i64) {
        self.set_ns = set_ns;
        self.watch.wall_set(self.now_ns, set_ns);
    }

    /// The process dies in that call from here on; `None`: in none.
    pub fn arm(&mut self, calls: Option<u64>) {
        self.calls = calls;
    }

    /// A call leaves the process.
    pub fn call(&mut self) -> Call {
        if self.is_dead() {
            return Call::IsDead;
        }
        match &mut self.calls {
            None => Call::Lives,
            Some(calls) => {
                *calls -= 1;
                if *calls > 0 { Call::Lives } else { Call::Dies }
            }
        }
    }

    /// Adds the message of a bank to the trace.
    fn note(&mut self, record: &Record<'_>, call: Call) {
        if record.kind != kind::BATCH || !self.watch.traces() {
            return;
        }
        let (now_ns, watch) = (self.now_ns, &mut self.watch);
        // A mutant may leave out entries that later ones name.
        let _ = self.decoder.read(record.body, |_, _, entry, _| {
            if let Entry::Received { bank, bytes } = entry {
                watch.note(now_ns, || {
                    format!("of bank {bank}: {} ({call:?})", short(bytes))
                });
            }
        });
    }

    pub fn is_dead(&self) -> bool {
        self.calls == Some(0) || self.journal.is_dead()
    }
}

/// Output of the engine.
pub struct SimulatedHost(pub Rc<RefCell<Machine>>);

impl Output for SimulatedHost {
    fn append(&mut self, record: &Record<'_>) -> Result<Appended, Refused> {
        let machine = &mut *self.0.borrow_mut();
        // The journal thread works beside the engine.
        if machine.random.below(machine.pace) == 0 && !machine.is_dead() {
            let wall_ns = machine.wall_ns();
            machine.journal.step(wall_ns);
        }
        let call = machine.call();
        machine.note(record, call);
        match call {
            Call::IsDead => Err(Refused::Closed),
            Call::Dies if machine.random.below(2) == 0 => Err(Refused::Closed),
            Call::Dies | Call::Lives => {
                let appended = machine.journal.append(record);
                if appended.is_err() {
                    machine.watch.refused_ns.get_or_insert(machine.now_ns);
                }
                appended
            }
        }
    }

    fn wait_until_safe(&mut self, record: &Appended, _wait_ns: u64) -> bool {
        let machine = &mut *self.0.borrow_mut();
        let is_slow = machine.random.below(400) == 0;
        for _ in 0..3 {
            if machine.is_dead() || is_slow || machine.journal.is_safe(record) {
                break;
            }
            let wall_ns = machine.wall_ns();
            machine.journal.step(wall_ns);
        }
        machine.call() == Call::Lives && !is_slow && machine.journal.is_safe(record)
    }

    fn state(&self) -> (State, u64) {
        self.0.borrow().journal.state()
    }

    fn alarm(&self) -> u64 {
        0
    }

    fn give_up(&mut self) {
        let machine = &mut *self.0.borrow_mut();
        if !machine.is_dead() {
            machine.journal.give_up();
        }
    }

    fn failure_recorded(&mut self) {
        let machine = &mut *self.0.borrow_mut();
        if machine.call() == Call::Lives {
            machine.journal.failure_recorded();
        }
    }

    fn begin_run(&mut self, _run: &[u8]) {}

    fn publish(&mut self, part: &[u8]) {
        let machine = &mut *self.0.borrow_mut();
        if machine.call() != Call::IsDead {
            machine.watch.published(part);
        }
    }

    /// A round takes no time: the process is stopped between rounds.
    fn since_ns(&self, _mono_ns: u64) -> u64 {
        0
    }
}
