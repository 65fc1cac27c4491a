//! `touchline fx preset`: guards of the usual pairs, as text for a configuration.

use crate::output::{Failure, say};
use clap::Args;
use touchline_fx::preset::{BANK, PRESETS, Preset, RISK};

/// Print guards for the usual pairs, for the configuration of `fx run`.
///
/// A live run has no defaults for its guards: collar, crossed prices, off-market banks, sizes, ages of quotes and the kill switch. The
/// values printed here are about half a percent of the price for the collar and a quarter for a bank that is off the market; none means
/// off. Change them to what the desk decides.
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub struct Arguments {
    /// Pairs, such as EUR/USD; all that have a preset if absent
    pairs: Vec<String>,
}

const AFTER_HELP: &str = "\
Examples:
  touchline fx preset
  touchline fx preset EUR/USD USD/JPY >> run.toml

The guards are described in docs/fx/trade.md. `touchline doctor --config run.toml` lists those whose
values mean off.

Exit status:
  0  printed
  2  bad arguments: a pair without a preset";

/// Prints the sections.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    let mut text = format!("{RISK}\n");
    if arguments.pairs.is_empty() {
        text.extend(PRESETS.iter().map(|preset| preset.toml() + "\n"));
    }
    for symbol in &arguments.pairs {
        let preset = Preset::of(symbol).ok_or_else(|| {
            let known: Vec<&str> = PRESETS.iter().map(|preset| preset.symbol).collect();
            Failure::usage(format!(
                "{symbol} has no preset; there are presets of {}; for another pair take half a percent of its price as collar_ticks",
                known.join(", ")
            ))
        })?;
        text.push_str(&preset.toml());
        text.push('\n');
    }
    text.push_str("# The guards of each bank, beside its other keys.\n");
    text.push_str(BANK);
    say(&text)
}
