//! A warm standby: applies each new record of the active engine's journal to a core of its own, and becomes the active
//! engine when a person commands it.
//!
//! A promotion takes the locks and the end of the journal as a start does, and has the same state. A promotion is faster
//! because the standby has applied almost every record before. A standby holds no lock of the engine and writes no file of
//! the engine, so killing the standby is safe.

use crate::execution::active::{Active, other};
use crate::execution::config::{Access, ClientConfig, CommandKind, Config, ConfigError};
use crate::execution::copied::Copied;
use crate::execution::counters::StandbyCounters;
use crate::execution::desk::{Known, Received, Ring};
use crate::execution::error::Error;
use crate::execution::recovery::{Reading, RecoveryError};
use crate::execution::trader::{RING_REFUSED, Trader};
use touchline_fx_days::Rolls;
use touchline_fx_desk::DropCopy;
use touchline_fx_desk::standby_bus;
use touchline_fx_events::command::Command;
use touchline_fx_events::event::Answer;
use touchline_journal::Follow;
use touchline_transport::boot_ns;
use touchline_transport::bus::Root;
use touchline_transport::clock::wall_ns;
use touchline_transport::shm::ProcessStats;

/// Most records in a round.
const ROUND_MAX: usize = 1_024;
/// Bytes of the ring for answers.
const RING_BYTES: u64 = 1 << 20;
/// Longest wait for the order sessions before a promotion is answered.
const SESSIONS_NS: u64 = 5_000_000_000;
/// Interval at which the counters are written, nanoseconds.
const SHOW_NS: u64 = 100_000_000;

/// A standby.
pub struct Standby {
    config: Config,
    follow: Follow,
    reading: Option<Reading>,
    answers: Option<DropCopy>,
    rings: Vec<Ring>,
    commands: Vec<Received>,
    stats: ProcessStats,
    /// When the counters are written next.
    show_ns: u64,
}

/// Result of a round of a standby.
pub enum Step {
    /// Records and commands of the round.
    Standby(usize),
    /// The standby has become the active engine.
    Promoted(Box<Trader>, Box<Promotion>),
}

/// A promotion that is answered when the order sessions are up.
pub struct Promotion {
    answers: DropCopy,
    client: ClientConfig,
    request: u64,
    began_ns: u64,
    /// Time until the engine had its locks, its journal and its state.
    active_ns: u64,
    /// Records that were applied in the promotion.
    records: u64,
}

impl Standby {
    /// A standby of the engine with this configuration; the journal need not exist yet.
    ///
    /// # Errors
    /// Another standby runs; the configuration, or a file that it names, cannot be used; a stated spot date is not that of the calendars.
    pub fn open(config: &Config) -> Result<Standby, Error> {
        let setup = config.setup().map_err(ConfigError::from)?;
        config.access()?;
        config
            .rolls_at_start(wall_ns())
            .map_err(ConfigError::from)?;
        let (root, bus) = (config.root(), standby_bus(&config.run.bus));
        let answers = DropCopy::open(&config.shared_root()?, &bus, RING_BYTES)?;
        let rings = config.clients.iter();
        // Commands sent before this start were for an earlier standby.
        let began_ns = boot_ns();
        Ok(Standby {
            follow: Follow::new(&config.run.journal),
            reading: Some(Reading::new(&setup)),
            answers: Some(answers),
            rings: rings
                .map(|client| Ring::new(client, &root, &bus, Known::default(), began_ns))
                .collect(),
            commands: Vec::new(),
            stats: counters_file(&root, &bus)?,
            show_ns: 0,
            config: config.clone(),
        })
    }

    /// A round: new records, then commands.
    ///
    /// # Errors
    /// The journal is damaged or does not fit the configuration; a promotion failed after it had the locks.
    pub fn work(&mut self) -> Result<Step, Error> {
        let mut count = self.apply(u64::MAX)?;
        let now_ns = boot_ns();
        if now_ns >= self.show_ns {
            self.show_ns = now_ns + SHOW_NS;
            self.show_counters();
        }
        for place in 0..self.rings.len() {
            if self.rings[place].join(now_ns).is_some() {
                self.refuse_ring(place);
            }
            self.rings[place].poll(&mut self.commands);
            for command in std::mem::take(&mut self.commands) {
                count += 1;
                if let Some((trader, promotion)) = self.command(place, command)? {
                    return Ok(Step::Promoted(Box::new(trader), Box::new(promotion)));
                }
            }
        }
        Ok(Step::Standby(count))
    }

    /// Line for `state`: the records that the standby has applied, and the active engine.
    pub fn state(&self) -> String {
        let recovered = self.reading.as_ref().map(Reading::recovered);
        let (records, orders) = recovered.map_or((0, 0), |all| (all.records, all.orders));
        let unknown = recovered.map_or(0, |all| all.engine.trading().orders().unknown());
        let active = match other(&self.config) {
            Some(Error::Active { holder, state, .. }) => format!("active is {holder}{state}"),
            _ => "no engine is active, it may be promoted".to_owned(),
        };
        format!(
            "standby at epoch {}, position {} of the journal, {records} records applied, {orders} orders of which {unknown} \
             without outcome; {active}",
            self.follow.epoch(),
            self.follow.position(),
        )
    }

    /// Copy status of the journal up to the applied position, if the journal is a copy.
    pub fn copied(&self) -> Option<Copied> {
        Copied::read(&self.config.run.journal, self.follow.position())
    }

    /// Ends the standby in order, also after its promotion: its counters go. Those of a standby that is dropped stay, and say that it
    /// has failed.
    pub fn finish(self) {
        self.stats.finish();
    }

    /// Writes the counters for their readers.
    fn show_counters(&mut self) {
        let Some(recovered) = self.reading.as_ref().map(Reading::recovered) else {
            return;
        };
        let copied = self.copied();
        let copied = copied.as_ref();
        let age_ns = copied.and_then(|copied| copied.age_ns(wall_ns()));
        let counters = StandbyCounters {
            fx_standby_epoch: self.follow.epoch(),
            fx_standby_position: self.follow.position(),
            fx_standby_copied: u64::from(copied.is_some()),
            fx_standby_missing: copied.map_or(0, Copied::missing),
            fx_standby_source_age_ns: age_ns.unwrap_or(0),
            fx_standby_records: recovered.records,
            fx_standby_orders: recovered.orders,
            fx_standby_orders_unknown: recovered.engine.trading().orders().unknown() as u64,
        };
        self.stats.counters_file().show(counters.counts());
    }

    /// Applies new records below a sequence.
    fn apply(&mut self, below: u64) -> Result<usize, Error> {
        let Some(reading) = &mut self.reading else {
            return Ok(0);
        };
        let mut failed: Option<RecoveryError> = None;
        let count = self.follow.poll(below, ROUND_MAX, |entry| {
            if failed.is_none() {
                failed = reading.entry(entry).err();
            }
        })?;
        match failed {
            Some(error) => Err(error.into()),
            None => Ok(count),
        }
    }

    fn command(
        &mut self,
        place: usize,
        received: Received,
    ) -> Result<Option<(Trader, Promotion)>, Error> {
        let ring = &mut self.rings[place];
        let client = ring.client.clone();
        let admitted = ring.admit(&received, boot_ns());
        let may_promote = client.may.contains(&CommandKind::Promote);
        let refusal = match (admitted, &received.command) {
            (Err(unadmitted), _) => Some(unadmitted.why.reason().to_owned()),
            (_, Err(unread)) => Some(format!("{}: {}", unread.why.reason(), unread.why)),
            (_, Ok(Command::Promote)) if may_promote => return self.promote(client, received),
            (_, Ok(Command::Standby)) if may_promote => None,
            (_, Ok(Command::Promote | Command::Standby)) => Some("not_allowed".to_owned()),
            _ => Some(
                "this is a standby: it takes no orders before `touchline fx promote`".to_owned(),
            ),
        };
        let mut state = self.state();
        if let Some(copied) = self.copied() {
            state.push_str(&format!("\n{copied}"));
        }
        self.answer(&client, received.request, &state, refusal.as_deref());
        Ok(None)
    }

    /// Becomes the active engine, unless another engine is active.
    fn promote(
        &mut self,
        client: ClientConfig,
        command: Received,
    ) -> Result<Option<(Trader, Promotion)>, Error> {
        let began_ns = boot_ns();
        // Certificates and calendars may have been renewed since the start. An unreadable one ends the promotion here, before the locks.
        let access = self.config.access().map_err(Error::from);
        let ready = access.and_then(|access| {
            // mutant: execution: a standby is not promoted behind the day of its start
            let rolls = self.config.rolls().map_err(ConfigError::from)?;
            if let Some(reading) = &self.reading {
                reading.check_sessions(&self.config)?;
            }
            Ok(((access, rolls), Active::take(&self.config)?))
        });
        let (files, active) = match ready {
            Ok(ready) => ready,
            Err(error) => {
                self.answer(&client, command.request, "", Some(&error.to_string()));
                return Ok(None);
            }
        };
        match self.take_over(files, active, &client, &command) {
            Ok((trader, records)) => {
                let answers = self.answers.take().expect("a standby is promoted once");
                let promotion = Promotion {
                    answers,
                    client,
                    request: command.request,
                    began_ns,
                    active_ns: boot_ns() - began_ns,
                    records,
                };
                Ok(Some((trader, promotion)))
            }
            Err(error) => {
                let text = format!("{error}; this standby ends");
                self.answer(&client, command.request, "", Some(&text));
                Err(error)
            }
        }
    }

    /// Applies the rest of the journal, which the lock protects from other writers, and starts the engine from its state.
    fn take_over(
        &mut self,
        files: (Vec<Access>, Option<Rolls>),
        active: Active,
        client: &ClientConfig,
        command: &Received,
    ) -> Result<(Trader, u64), Error> {
        let written = active.journal.report().next_sequence;
        let before = self.follow.next_sequence();
        while self.apply(written)? > 0 {}
        let read = self.follow.next_sequence();
        if read != written {
            let journal = self.config.run.journal.display().to_string();
            return Err(Error::NotRead {
                journal,
                read,
                written,
            });
        }
        let reading = self.reading.take();
        let recovered = reading.expect("a standby is promoted once").finish();
        let mut trader = Trader::start_from(&self.config, files, active, recovered)?;
        trader.note_command(client, command, "promoted");
        Ok((trader, read - before))
    }

    /// The files of a client's ring cannot be used.
    fn refuse_ring(&mut self, place: usize) {
        let client = self.rings[place].client.clone();
        self.answer(&client, 0, "", Some(RING_REFUSED));
    }

    fn answer(&mut self, client: &ClientConfig, request: u64, answer: &str, refusal: Option<&str>) {
        let answer = if refusal.is_some() { "refused" } else { answer };
        let answer = Answer {
            client: &client.name,
            request,
            answer,
            reason: refusal,
            cause: None,
        };
        if let Some(answers) = &mut self.answers {
            answers.answer(wall_ns(), &answer);
        }
    }
}

impl Promotion {
    /// Returns the answer, for the log, when all order sessions are up or five seconds have passed.
    pub fn poll(&mut self, trader: &Trader) -> Option<String> {
        let (up, all) = trader.sessions();
        let took_ns = boot_ns() - self.began_ns;
        if up < all && took_ns < SESSIONS_NS {
            return None;
        }
        let ms = |ns: u64| ns as f64 / 1e6;
        let mut text = format!(
            "promoted: epoch {}, active after {:.1} ms with {} records left to apply, {up} of {all} order sessions logged on \
             after {:.1} ms, {} orders without outcome",
            trader.start().epoch,
            ms(self.active_ns),
            self.records,
            ms(took_ns),
            trader.engine().trading().orders().unknown(),
        );
        if let Some(copied) = Copied::of_start(trader.start()) {
            text.push_str(&format!("\n{copied}"));
        }
        let answer = Answer {
            client: &self.client.name,
            request: self.request,
            answer: &text,
            reason: None,
            cause: None,
        };
        self.answers.answer(wall_ns(), &answer);
        Some(text)
    }
}

/// The counters file, under the name of the standby's bus.
fn counters_file(root: &Root, bus: &str) -> Result<ProcessStats, Error> {
    // The histogram is left out: the length of a tick has no use.
    Ok(ProcessStats::create(
        root,
        bus,
        1.0,
        StandbyCounters::TABLE,
        [],
    )?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::execution::config::tests::text;
    use touchline_testing::Folder;

    /// A stated spot date is compared at the start of a standby. A promotion on a later day does not refuse it.
    #[test]
    fn a_standby_is_promoted_behind_the_day_of_its_stated_spot_date() {
        let folder = Folder::new("standby");
        let stated = "spot_date = \"20260107\"\n";
        let config = |pair: &str| {
            let desk = "[[clients]]\nname = \"desk\"\nmay = [\"promote\"]\n[calendars]\n";
            let text = text().replace(stated, pair) + desk;
            let mut config = Config::parse(&text).expect("a configuration");
            config.starts_at(&folder);
            config.run.directory = Some(folder.join("buses"));
            config
        };
        let refused = Standby::open(&config(stated)).err();
        let refused = refused.expect("the date of another day").to_string();
        let said = "20260107 is not the spot date of the calendars";
        assert!(refused.contains(said), "{refused}");
        let mut standby = Standby::open(&config("")).expect("a standby");
        // As a standby that was started on that day.
        standby.config = config(stated);
        let client = standby.config.clients[0].clone();
        let command = Received {
            request: 1,
            command: Ok(Command::Promote),
        };
        let promoted = standby.promote(client, command).expect("a promotion");
        let (trader, _) = promoted.expect("no refusal");
        let spot_date = trader.engine().setup().pairs[0].spot_date;
        assert!(spot_date > 20_260_107, "{spot_date}");
    }
}
