//! Quotes by way of a bus: each bank's messages are read by a gateway of its own, and composed from the gateway's
//! updates. The composites equal those of one core that reads all messages, and those of a replay of the composer's
//! recording.

use crate::random::{banks::Banks, seeds};
use crate::recorded;
use touchline_fx::config::Config;
use touchline_fx::input::{Input, Session};
use touchline_fx::quotes::{BusQuotes, Quoted};
use touchline_fx::sessions::{LineReader, Replay};
use touchline_fx::{BankStream, Engine, Setup};
use touchline_fx_events::Batch;
use touchline_fx_events::lines::Files;
use touchline_fx_live::compose::LineWriter;

/// A gateway for each bank, and the composer.
struct World {
    setup: Setup,
    gateways: Vec<BankStream>,
    engine: Engine,
    batch: Batch,
    files: Files,
    recorded: String,
    writer: LineWriter,
}

/// The configuration without settings that only orders need, so that both cores write the same composites.
fn config_of(text: &str) -> Config {
    toml_of(text)
}

fn toml_of(text: &str) -> Config {
    toml::from_str(text).expect("a configuration")
}

impl World {
    fn new(text: &str) -> World {
        let gateway = |bank: usize| {
            let mut config = config_of(text);
            config.banks = vec![config.banks.swap_remove(bank)];
            // The composer applies its limits to updates of a gateway.
            let bank = &mut config.banks[0];
            (bank.min_qty, bank.ttl_ms) = (0, 0);
            BankStream::new(Setup::new(config).expect("a gateway"))
        };
        let setup = Setup::new(config_of(text)).expect("a composer");
        World {
            gateways: (0..setup.banks.len()).map(gateway).collect(),
            engine: Engine::new(setup.clone()),
            setup,
            batch: Batch::default(),
            files: Files::default(),
            recorded: String::new(),
            writer: LineWriter::default(),
        }
    }

    fn input(&mut self, at_ns: u64, bank: usize, session: Session<'_>) {
        let input = Input::Pricing(bank, session);
        self.writer
            .write(&self.setup, at_ns, &input, &mut self.recorded);
        self.batch.clear();
        self.engine.handle(at_ns, &input, &mut self.batch);
        self.files.write(&self.setup.labels, &self.batch);
    }

    fn wake(&mut self, at_ns: u64) {
        self.batch.clear();
        self.engine.handle_timeout(at_ns, &mut self.batch);
        self.files.write(&self.setup.labels, &self.batch);
    }

    /// Ends the session as a recorder does: a replay runs the timers that were due after the last input.
    fn finish(&mut self, at_ns: u64) {
        self.wake(at_ns);
        self.recorded += &format!("{at_ns} - {{\"op\":\"end\"}}\n");
    }

    fn pricing(&mut self, at_ns: u64, bank: usize, session: &Session<'_>) {
        match session {
            Session::Up => {
                self.gateways[bank].up(at_ns);
                self.drop_logs(bank);
                self.input(at_ns, bank, Session::Up);
            }
            Session::Down => {
                self.gateways[bank].down(at_ns);
                self.drop_logs(bank);
                self.input(at_ns, bank, Session::Down);
            }
            Session::Message(bytes) => self.message(at_ns, bank, bytes),
            _ => unreachable!("sessions are of messages"),
        }
    }

    fn drop_logs(&mut self, bank: usize) {
        for pair in 0..self.setup.pairs.len() {
            let _ = self.gateways[bank].take_changes(pair);
        }
    }

    fn message(&mut self, at_ns: u64, bank: usize, bytes: &[u8]) {
        let malformed = self.gateways[bank].counters().malformed;
        self.gateways[bank].message(at_ns, bytes);
        if self.gateways[bank].counters().malformed > malformed {
            // The gateway publishes nothing. Time passes all the same: the composer's timers are due.
            self.wake(at_ns);
            return;
        }
        let mut any = false;
        for pair in 0..self.setup.pairs.len() {
            let Some(changes) = self.gateways[bank].take_changes(pair) else {
                continue;
            };
            any = true;
            let changes = changes.to_vec();
            let is_unquoted = !self.gateways[bank].is_quoted(pair);
            let quotes = BusQuotes {
                pair,
                receive_ns: at_ns,
                bank_ns: [0; 2],
                is_unquoted,
                quoted: Quoted::Changes(&changes),
            };
            self.input(at_ns, bank, Session::Quotes(quotes));
        }
        if !any {
            self.input(at_ns, bank, Session::Heard);
        }
    }
}

/// Runs a session through a world; the composites of one core, of the world, and of its recording, each the last of an instant.
fn run(config: &str, lines: impl Iterator<Item = String>) -> [String; 3] {
    let setup = Setup::parse(config).expect("a configuration");
    let (mut world, mut alone) = (World::new(config), Engine::new(setup.clone()));
    let (mut batch, mut files) = (Batch::default(), Files::default());
    let mut reader = LineReader::default();
    let mut last_ns = 0;
    for line in lines {
        let read = reader.read(&setup, &line);
        let Some((at_ns, input)) = read.unwrap_or_else(|error| panic!("{line}: {error}")) else {
            continue;
        };
        let Input::Pricing(bank, session) = input else {
            continue;
        };
        last_ns = at_ns;
        batch.clear();
        alone.handle(at_ns, &input, &mut batch);
        files.write(&setup.labels, &batch);
        world.pricing(at_ns, bank, &session);
    }
    world.finish(last_ns);
    let mut replay = Replay::new(setup);
    for line in world.recorded.lines() {
        let read = replay.line(line);
        read.unwrap_or_else(|error| panic!("{line}: {error}"));
    }
    let replayed = replay.finish().0.composite;
    [files.composite, world.files.composite, replayed]
}

/// The last line of each pair and instant: a message of two pairs is two on a bus.
fn settled(text: &str) -> Vec<&str> {
    let of = |line: &str| {
        let mut parts = line.splitn(3, ',');
        let time = parts.next().unwrap_or_default().to_owned();
        (time, parts.next().unwrap_or_default().to_owned())
    };
    let lines: Vec<&str> = text.lines().collect();
    let is_last = |(at, line): &(usize, &str)| {
        lines
            .get(at + 1..)
            .is_none_or(|rest| rest.iter().take(8).all(|next| of(next) != of(line)))
    };
    let all = lines.iter().copied().enumerate();
    all.filter(is_last).map(|(_, line)| line).collect()
}

#[test]
fn composites_by_way_of_buses_are_those_of_the_messages() {
    let mut lines_compared = 0;
    for seed in seeds() {
        println!("seed {seed}");
        let mut banks = Banks::new(seed);
        let config = banks.config().to_owned();
        let session = (0..500).flat_map(|_| banks.next()).collect::<Vec<_>>();
        let [alone, composed, replayed] = run(&config, session.into_iter());
        assert_eq!(
            composed, replayed,
            "the recording gives the same bytes: seed {seed}"
        );
        lines_compared += composed.lines().count();
        assert_eq!(settled(&alone), settled(&composed), "seed {seed}");
    }
    assert!(
        lines_compared > 20 * seeds().len(),
        "composites change: {lines_compared}"
    );
}

/// The recorded sessions, their pricing half.
#[test]
fn recorded_sessions_by_way_of_buses() {
    for folder in recorded::sessions() {
        let config = recorded::read(&folder, "config.toml");
        let session = recorded::read(&folder, "session.txt");
        let [alone, composed, replayed] = run(&config, session.lines().map(str::to_owned));
        assert_eq!(composed, replayed, "{}", folder.display());
        assert_eq!(settled(&alone), settled(&composed), "{}", folder.display());
    }
}
