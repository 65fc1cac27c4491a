//! `cargo xtask fix-interop`: our FIX session against QuickFIX/J over TCP.
//!
//! ```text
//! Interop.java, QuickFIX/J ──► orders, definitions, emails ──► touchline sim fix-acceptor, fix-initiator
//!          holds each echo against what it sent          ◄──  the same body
//! ```
//!
//! Both sides validate every message with their own dictionary of FIX 4.4. Each side is once the acceptor and once the
//! initiator; each requests resends, rejects, logs out, and is killed in the middle. At the end an echo is changed
//! before it is compared, and the comparison must fail. Then QuickFIX/J is a back office of a trading engine.
//!
//! Needs a JDK and Maven, and reports which is missing. All files are below the target folder.

mod back_office;
mod engine;
mod ours;

use crate::changed;
use crate::java;
use anyhow::{Context, Result, bail, ensure};
use engine::{Ending, Engine};
use ours::{Ours, Role};
use std::path::Path;

/// Compared paths.
pub const JUDGED: &[&str] = &[
    "crates/fx-live/src/execution/back_office",
    "crates/fx-live/src/execution/back_office.rs",
    "crates/fx-desk/src/ledger",
    "crates/fx-desk/src/ledger.rs",
    "crates/fx-events/src/lines",
    "crates/fx-events/src/lines.rs",
    "crates/session/src",
    "crates/lab/src/fix",
    "crates/net/src/stream",
    "crates/net/src/stream.rs",
    "crates/touchline/src/fx/report",
    "crates/touchline/src/fx/report.rs",
    "crates/touchline/src/sim/fix.rs",
    "crates/wire/src/fix",
    "xtask/src/fix_interop.rs",
    "xtask/src/fix_interop",
];

/// Options.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    seed: u64,
    if_changed: bool,
}

impl Options {
    /// Parses the arguments.
    ///
    /// # Errors
    /// An unknown option, or one without its number.
    pub fn parse(arguments: &[&str]) -> Result<Options> {
        let mut options = Options {
            seed: 1,
            if_changed: false,
        };
        let mut arguments = arguments.iter();
        while let Some(argument) = arguments.next() {
            match *argument {
                "--seed" => {
                    let number = arguments.next().and_then(|number| number.parse().ok());
                    options.seed = number.context("--seed needs a number")?;
                }
                changed::OPTION => options.if_changed = true,
                other => {
                    bail!("there is no option {other}; there are --seed N and --if-changed")
                }
            }
        }
        Ok(options)
    }
}

/// Start of the sequence numbers at each Logon.
const KEPT: &[&str] = &["--keep-numbers"];
const RESET: &[&str] = &[];

/// Runs all cases. Without a JDK or Maven it prints that and returns.
///
/// # Errors
/// The first difference, with the last messages; a tool that fails.
pub fn run(root: &Path, options: Options) -> Result<()> {
    if let Some(missing) = java::missing() {
        println!(
            "fix-interop: skipped, there is no {missing} here; it needs a JDK (17 or later) and Maven"
        );
        return Ok(());
    }
    if options.if_changed
        && let Some(base) = changed::unchanged_since(root, JUDGED)
    {
        println!("fix-interop: left out, no compared file changed since {base}");
        return Ok(());
    }
    let engine = Engine::prepare(root)?;
    let program = ours::build(root)?;
    let run = Run {
        engine,
        program: &program,
        seed: options.seed,
    };
    println!("fix-interop: seed {}", options.seed);
    for role in [Role::Acceptor, Role::Initiator] {
        run.agrees(role, KEPT, &["all"])?;
        run.agrees(role, RESET, &["reset"])?;
        run.agrees(role, KEPT, &["my-death", "my-life"])?;
    }
    run.agrees(Role::Initiator, RESET, &["their-death"])?;
    run.notices()?;
    back_office::run(&run.engine, run.program, run.seed)
}

struct Run<'a> {
    engine: Engine,
    program: &'a Path,
    seed: u64,
}

impl Run<'_> {
    /// Parts of the Java program, one process each, with one store and one process of ours.
    fn agrees(&self, role: Role, options: &'static [&'static str], parts: &[&str]) -> Result<()> {
        let name = format!("{}, {}", role.name(), parts[0]);
        let folder = self
            .engine
            .empty_folder(&format!("{}-{}", role.name(), parts[0]))?;
        let mut ours = Ours::start(self.program, role, options)?;
        for part in parts {
            let ending = self.engine.run(
                &mut ours,
                self.seed,
                &folder,
                part,
                &format!("fix-interop: {name}: "),
            )?;
            let is_expected = match ending.how {
                Ending::Done => *part != "my-death",
                Ending::Killed => *part == "my-death",
                Ending::Disagrees => false,
            };
            ensure!(
                is_expected,
                "{name}: QuickFIX/J disagrees (seed {}, files in {}):\n{}",
                self.seed,
                folder.display(),
                ending.said
            );
        }
        ours.end().with_context(|| name)
    }

    /// A changed echo must be detected.
    fn notices(&self) -> Result<()> {
        let folder = self.engine.empty_folder("altered")?;
        let mut ours = Ours::start(self.program, Role::Acceptor, RESET)?;
        let ending = self
            .engine
            .run(&mut ours, self.seed, &folder, "altered", "")?;
        ensure!(
            ending.how == Ending::Disagrees && ending.said.contains("was echoed differently"),
            "an echo was changed and the comparison did not detect it\n{}",
            ending.said
        );
        println!("fix-interop: a changed echo is detected");
        ours.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_numbers() {
        assert_eq!(Options::parse(&[]).unwrap().seed, 1);
        assert_eq!(Options::parse(&["--seed", "7"]).unwrap().seed, 7);
        assert!(Options::parse(&["--if-changed"]).unwrap().if_changed);
        assert!(Options::parse(&["--seed"]).is_err());
        assert!(Options::parse(&["--seed", "x"]).is_err());
        assert!(Options::parse(&["--seeds", "7"]).is_err());
    }
}
