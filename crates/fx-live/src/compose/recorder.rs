//! A session file of a live run: `config.toml`, `session.txt`, and the composites as they were published.

mod lines;

pub use lines::LineWriter;

use std::fs::{File, create_dir_all};
use std::io::{self, BufWriter, Write};
use std::path::Path;
use touchline_fx::Setup;
use touchline_fx::config as fx;
use touchline_fx::input::Input;
use touchline_fx_events::Batch;
use touchline_fx_events::lines::Files;

/// Writes the inputs of a core, and its published composites.
#[derive(Debug)]
pub struct Recorder {
    session: BufWriter<File>,
    composite: BufWriter<File>,
    writer: LineWriter,
    line: String,
    files: Files,
}

impl Recorder {
    /// Starts a recording in a folder, which is created if necessary; an earlier recording in it is replaced.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn create(folder: &Path, config: &fx::Config) -> io::Result<Recorder> {
        create_dir_all(folder)?;
        let create = |name: &str| File::create(folder.join(name)).map(BufWriter::new);
        let mut text = create("config.toml")?;
        text.write_all(config_text(config).as_bytes())?;
        text.flush()?;
        Ok(Recorder {
            session: create("session.txt")?,
            composite: create("composite.live.jsonl")?,
            writer: LineWriter::default(),
            line: String::new(),
            files: Files::default(),
        })
    }

    /// An input, before the core processes it.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn input(&mut self, setup: &Setup, at_ns: u64, input: &Input<'_>) -> io::Result<()> {
        self.line.clear();
        self.writer.write(setup, at_ns, input, &mut self.line);
        self.session.write_all(self.line.as_bytes())
    }

    /// Published output of the core.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn published(&mut self, setup: &Setup, batch: &Batch) -> io::Result<()> {
        self.files.composite.clear();
        self.files.write(&setup.labels, batch);
        self.composite.write_all(self.files.composite.as_bytes())
    }

    /// The end: a final heartbeat advances a replay to the time of the last composite, and files are complete.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn finish(&mut self, at_ns: u64) -> io::Result<()> {
        // Timers of the live run after the last input are due before this.
        writeln!(self.session, "{at_ns} - {{\"op\":\"end\"}}")?;
        self.flush()
    }

    /// Flushes all files.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        self.session.flush()?;
        self.composite.flush()
    }
}

/// Configuration of the core as TOML, limited to settings that affect prices.
fn config_text(config: &fx::Config) -> String {
    use std::fmt::Write;
    let mut out = String::new();
    let fx::Config {
        date,
        prefix,
        account,
        conflate_ms,
        ..
    } = config;
    // Writing into a string cannot fail.
    let _ = writeln!(
        out,
        "date = {date:?}\nprefix = {prefix:?}\naccount = {account:?}\nconflate_ms = {conflate_ms}"
    );
    for pair in &config.pairs {
        let fx::PairConfig {
            symbol,
            precision,
            lot,
            spot_date,
            sizes,
            ..
        } = pair;
        let _ = writeln!(
            out,
            "\n[[pairs]]\nsymbol = {symbol:?}\nprecision = {precision}\nlot = {lot}\nspot_date = {spot_date:?}\nsizes = {sizes:?}"
        );
    }
    for bank in &config.banks {
        let kind = match bank.kind {
            fx::StreamKind::Sweep => "sweep",
            fx::StreamKind::Full => "full",
        };
        let fx::BankConfig {
            name,
            pairs,
            min_qty,
            max_qty,
            stale_ms,
            silence_ms,
            ttl_ms,
            ..
        } = bank;
        let _ = writeln!(
            out,
            "\n[[banks]]\nname = {name:?}\npairs = {pairs:?}\nkind = \"{kind}\"\nmin_qty = {min_qty}\nmax_qty = {max_qty}\n\
             stale_ms = {stale_ms}\nsilence_ms = {silence_ms}\nttl_ms = {ttl_ms}"
        );
    }
    out
}
