//! A run of the core: made from what was recovered, begun, its rounds of order sessions, and the logouts.

use super::Totals;
use super::carry::Core;
use crate::config::{Config, SyncMode};
use crate::edge::{Link, Output};
use crate::order_session::{OrderSession, Said};
use crate::records::{self, Record, Run};
use crate::recovery::Recovered;
use std::collections::VecDeque;
use touchline_fx::Batch;
use touchline_fx::input::{Desk, Input};
use touchline_journal::Refused;
use touchline_types::{Id, ReceiveTime};

impl<O: Output, L: Link> Core<O, L> {
    /// The core of a run that continues what was recovered; `links` has one link for each bank.
    pub fn new(
        config: &Config,
        out: O,
        links: impl IntoIterator<Item = L>,
        recovered: Recovered,
        epoch: u64,
    ) -> Core<O, L> {
        let sessions = config.banks.iter().zip(&recovered.numbers).zip(links);
        let sessions = sessions.map(|((bank, numbers), link)| {
            let session = config.session(bank).expect("the configuration was checked");
            OrderSession::new(session, *numbers, link)
        });
        let sessions = sessions.collect();
        let (mut engine, next_line) = (recovered.engine, recovered.next_line);
        let prefix = format!("{}e{epoch}", config.prefix);
        engine.set_prefix(Id::lossy(prefix.as_bytes()));
        Core {
            engine,
            batch: Batch::default(),
            out,
            is_disk: config.run.sync == SyncMode::Disk,
            sync_wait_ns: config.run.sync_wait_ms * 1_000_000,
            is_journal_dead: false,
            alarm: 0,
            sessions,
            incidents: VecDeque::new(),
            totals: Totals::default(),
            command: None,
            accepted: None,
            untold: recovered.untold,
            next_line,
            refusal: None,
            body: Vec::with_capacity(64 << 10),
            lines: Vec::with_capacity(64 << 10),
            line: String::with_capacity(4 << 10),
        }
    }

    /// Writes the start of the run, tells what the run before could not, then ends what it left.
    ///
    /// # Errors
    /// The journal cannot be written.
    pub fn begin(&mut self, config: &Config, epoch: u64, time: ReceiveTime) -> Result<(), Refused> {
        let stream = touchline_journal::records::Stream {
            content: records::CONTENT,
            schema: 0,
            version: records::VERSION,
            name: "fx".to_owned(),
        };
        let now_ns = time.wall_ns;
        let kind = touchline_journal::format::kind::STREAM;
        self.append_raw(kind, now_ns, &stream.encode())?;
        let prefix = self.engine.setup().prefix;
        let run = Run {
            epoch,
            prefix: prefix.as_str(),
            date: &config.date,
            banks: config.banks.iter().map(|bank| bank.name.as_str()).collect(),
            pairs: config
                .pairs
                .iter()
                .map(|pair| pair.symbol.as_str())
                .collect(),
        };
        self.append(now_ns, &Record::Run(run))?;
        for bank in 0..self.sessions.len() {
            let (next_out, next_in) = self.sessions[bank].numbers();
            let numbers = Record::Numbers {
                bank: bank as u16,
                next_out,
                next_in,
            };
            self.append(now_ns, &numbers)?;
        }
        for batch in std::mem::take(&mut self.untold) {
            self.tell(&batch, now_ns);
        }
        self.handle(time, &Input::Desk(Desk::Restart));
        Ok(())
    }

    /// A time of the engine, which never goes back.
    pub fn time(&self, mono_ns: u64, wall_ns: u64) -> ReceiveTime {
        ReceiveTime {
            wall_ns: wall_ns.max(self.engine.now_ns().unwrap_or(0)),
            mono_ns,
        }
    }

    /// A round of the order sessions, by the clock `wall_ns`. Returns the number of things that they said.
    pub fn order_sessions(&mut self, mono_ns: u64, mut wall_ns: impl FnMut() -> u64) -> usize {
        let mut count = 0;
        for bank in 0..self.sessions.len() {
            let time = self.time(mono_ns, wall_ns());
            self.sessions[bank].read(time);
            loop {
                let said = self.sessions[bank].poll(time);
                if said == Said::Nothing {
                    break;
                }
                count += 1;
                let time = self.time(mono_ns, wall_ns());
                self.said(bank, said, time);
            }
            self.sessions[bank].tick(time);
            self.flush(bank, time);
        }
        count
    }

    /// Sends the logouts, and makes no order any more.
    pub fn log_out(&mut self, time: ReceiveTime) {
        self.engine.hold(true);
        for bank in 0..self.sessions.len() {
            self.sessions[bank].log_out(time);
            self.flush(bank, time);
        }
    }

    /// Whether no order session has a connection.
    pub fn is_disconnected(&self) -> bool {
        self.sessions.iter().all(OrderSession::is_disconnected)
    }
}
