//! The targets under libFuzzer, one program for all; `cargo xtask fuzz` builds and drives it.
//!
//! The environment selects the work: `TOUCHLINE_FUZZ=list` prints the names of the targets, `seeds:NAME:FOLDER` writes
//! the seeds of one, `run:NAME` lets libFuzzer run it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::{env, fs, process, sync::OnceLock};
use touchline_fuzz::{TARGETS, Target};

static TARGET: OnceLock<&Target> = OnceLock::new();

fuzz_target!(init: choose(), |bytes: &[u8]| {
    if let Some(target) = TARGET.get() {
        (target.run)(bytes);
    }
});

fn choose() {
    let order = env::var("TOUCHLINE_FUZZ").unwrap_or_default();
    match order.split(':').collect::<Vec<_>>()[..] {
        ["list"] => {
            for target in TARGETS {
                println!("{}\t{}", target.name, target.about);
            }
            process::exit(0);
        }
        ["seeds", name, folder] => write_seeds(named(name), folder),
        ["run", name] => drop(TARGET.set(named(name))),
        _ => fail("TOUCHLINE_FUZZ says nothing to do; start this program with cargo xtask fuzz"),
    }
}

fn named(name: &str) -> &'static Target {
    touchline_fuzz::target(name)
        .unwrap_or_else(|| fail(&format!("no fuzz target is called '{name}'")))
}

fn write_seeds(target: &Target, folder: &str) -> ! {
    for (number, seed) in (target.seeds)().iter().enumerate() {
        if let Err(error) = fs::write(format!("{folder}/seed-{number:04}"), seed) {
            fail(&format!("cannot write a seed into {folder}: {error}"));
        }
    }
    process::exit(0)
}

fn fail(what: &str) -> ! {
    eprintln!("{what}");
    process::exit(2)
}
