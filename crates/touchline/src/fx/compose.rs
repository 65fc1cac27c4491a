//! `touchline fx compose`: banks' buses in, one composite bus out.

use crate::interrupt::Interrupt;
use crate::mistakes;
use crate::output::{Failure, say};
use clap::Args;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use touchline_compose::{Composer, Config, Error, Recorder};
use touchline_transport::{BackOff, Idle, Idler};

/// Compose the quotes of banks' buses into one price of each pair, on a bus of its own.
///
/// Each bank has a gateway of kind fx-bank, which publishes its quotes on a bus. The composite's bus has a book of each pair, the
/// banks at the best bid and ask, and what each configured size costs. A pair without a live bank is stale.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Configuration file (TOML)
    #[arg(long, value_name = "FILE")]
    config: PathBuf,
    /// Directory of the buses; overrides the configuration. Default: /dev/shm/touchline-UID
    #[arg(long, value_name = "DIR", env = "TOUCHLINE_DIR")]
    dir: Option<PathBuf>,
    /// Write the inputs as a session file into this directory, with the composites as they are published
    #[arg(long, value_name = "DIR")]
    record: Option<PathBuf>,
    /// Stop after N seconds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    seconds: Option<u64>,
    /// Stop when standard input is closed, for a process that starts this as a child
    #[arg(long)]
    until_eof: bool,
}

const AFTER_HELP: &str = "\
Examples:
  touchline sim bank --config banks.toml --write fx &
  touchline gateway --config fx/lp01.toml &  touchline gateway --config fx/lp02.toml &
  touchline fx compose --config fx/compose.toml
  touchline fx compose --config fx/compose.toml --record session
  touchline fx replay session --out replayed

Watch it with `touchline top BUS`, `book BUS SYMBOL --watch`, `tail BUS` and `stat BUS`. The
settings are in docs/fx.md. A recording has config.toml, session.txt and composite.live.jsonl;
a replay of it writes the same composites.

Exit status:
  0  stopped by SIGTERM, Ctrl-C, --seconds or --until-eof
  1  the run failed: the bus is in use or was damaged, the recording cannot be written
  2  bad arguments or configuration";

/// Composes until it is stopped.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let path = &arguments.config;
    let text = super::read_config(path)?;
    let mut config = Config::parse(&text).map_err(|error| {
        mistakes::failure_of_lines(path, &text, &error, |text| Config::parse(text).map(drop))
    })?;
    if let Some(dir) = &arguments.dir {
        config.directory = Some(dir.clone());
    }
    let interrupt = Interrupt::catch()?;
    if arguments.until_eof {
        interrupt.at_end_of_input();
    }
    let recorder = arguments
        .record
        .as_ref()
        .map(|folder| Recorder::create(folder, &config.core()));
    let recorder = recorder.transpose().map_err(Error::from).map_err(failed)?;
    let mut composer = Composer::open(&config, recorder).map_err(failed)?;
    say(&format!(
        "composing {} pairs of {} banks on bus {} (touchline {}, profile {})\n",
        config.pairs.len(),
        config.banks.len(),
        config.bus,
        crate::version::LONG,
        crate::version::PROFILE,
    ))?;
    let mut idler = Idler::new(match config.spin {
        true => Idle::BusySpin,
        false => Idle::BackOff(BackOff {
            sleep_max: Duration::from_micros(200),
            ..BackOff::default()
        }),
    });
    let (start, end) = (Instant::now(), arguments.seconds.map(Duration::from_secs));
    let mut rounds = 0_u32;
    loop {
        idler.idle(composer.work().map_err(failed)?.messages);
        // A clock and a flag, not in each round.
        rounds = rounds.wrapping_add(1);
        if rounds.is_multiple_of(64)
            && let Some(notice) = composer.take_notice()
        {
            eprintln!("touchline: {notice}");
        }
        let is_over = interrupt.is_asked()
            || rounds.is_multiple_of(64) && end.is_some_and(|end| start.elapsed() >= end);
        if is_over {
            break;
        }
    }
    composer.finish().map_err(failed)?;
    let counters = composer.counters();
    say(&format!(
        "{} updates of banks, {} composites published, {} times a bank was lost\n",
        counters.bank_updates, counters.composites_published, counters.banks_lost,
    ))
}

fn failed(error: Error) -> Failure {
    match error {
        Error::Config(error) => Failure::usage(error),
        other => Failure::run(other),
    }
}
