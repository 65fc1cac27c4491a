//! `touchline load`: how much each transport carries, how regularly and at what cost.

use crate::output::Failure;
use std::time::Duration;
use touchline_load::clock::Timebase;
use touchline_load::part::{self, Wait};
use touchline_load::schedule::Profile;
use touchline_load::step::{self, Limits, Settings, Subject};
use touchline_load::subject::Kind;
use touchline_load::{Failed, row::Row};

/// Raise the rate of each transport until it no longer keeps up.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Subjects to measure; all without one.
    #[arg(value_name = "SUBJECT")]
    subjects: Vec<String>,
    /// A process of a step, with its role.
    #[arg(long, value_name = "ROLE", hide = true, exclusive = true)]
    role: Option<String>,
    /// Messages a second, instead of a ramp.
    #[arg(long, value_name = "RATE")]
    rate: Option<u64>,
}

/// Runs the command.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    if let Some(role) = &arguments.role {
        // The process that started this one says why.
        return part::play(role).map_err(|_| Failure::Logged(1));
    }
    let settings = Settings {
        profile: Profile::Steady,
        readers: 1,
        slow_us: None,
        warmup_s: 0.5,
        measured_s: 2.0,
        cpus: [0, 1],
        wait: Wait::Spin,
        interface: "lo".to_owned(),
        limits: Limits::default(),
        clock: Timebase::new(),
    };
    let program = std::env::current_exe().map_err(Failure::run)?;
    for (name, kind) in Kind::ALL {
        if arguments.subjects.is_empty() || arguments.subjects.iter().any(|wanted| wanted == name) {
            let subject = Subject::own(name, *kind, program.clone(), &["load", "--role"]);
            let row = step::run(&subject, arguments.rate.unwrap_or(10_000), 1, &settings)
                .map_err(failure)?;
            print(&row);
        }
    }
    let _ = Duration::ZERO;
    Ok(())
}

fn print(row: &Row) {
    println!("{}", serde_json::to_string(row).unwrap_or_default());
}

fn failure(Failed(why): Failed) -> Failure {
    Failure::run(why)
}
