//! `cargo xtask NAME`: dispatches to the tools in the library.

use anyhow::{Result, bail};
use std::env;
use std::path::Path;
use std::process::ExitCode;
use xtask::mutants::Choice;

const USAGE: &str = "\
usage: cargo xtask <chore> [arguments]

  tidy                           hold the repository against its own rules
  changed PATH...                whether one of them changed since the last commit that passed every check
  licences                       hold the licences of all dependencies against the list
  size [FOLDER]                  count lines, words, functions and circles of this checkout or another one
  dialect [CRATE]                list the phrases of house dialect in comments, and count them by crate
  codegen <templates.xml>...     write the message views that the schemas describe
  dist [--check | --wheel] [--profile NAME]
                                 make tarballs, Debian packages and images; with --check install and start each of them
  install-check                  try both ways of cargo install into a directory of their own
  aarch64                        compile all packages for aarch64, where its standard library and C compiler are installed
  mutants [WORD | --commit ID]   break the code on purpose; a test must notice each time: all mutants, those with the word
                                 in their names, or for a commit those of shared memory and a part of the others
  fuzz [TARGET] [--seconds N] [--asan] [--replay FILE]
                                 search for inputs that break a target of fuzz/
  sbe-oracle [--seed N] [--messages N] [--if-changed]
                                 our native messages against the codecs of the official SBE tool
  fix-interop [--seed N] [--if-changed]
                                 our FIX session against QuickFIX/J, as acceptor and as initiator
  aeron-interop [--if-changed]   the stream of a relay against Aeron's Java client, driver and the official SBE codecs
  memory-model [--long | --commit ID] [--if-changed]
                                 shared memory under loom, Miri and ThreadSanitizer; for a commit a part of Miri's seeds
  soak [--seeds N] [--seconds N] the long forms of what depends on chance: hours, before a release
  simulate [--seed N] [--seeds M] [--threads T]
                                 the trading engine, its journal, network, banks and desk in one process, by seeds: one, or
                                 M from N on
  instructions [--lines] [ARGS of bench event]
                                 count the instructions of the path under valgrind; with --lines the cache lines that one
                                 packet touches, of code and of data, by function
  pgo                            build the command guided by a profile and for newer processors, and compare
  picture OUT.svg [--lines FROM-TO] [--columns N] [--frames N --every MS --size COLUMNSxROWS] -- COMMAND...
                                 draw what a command prints on a terminal; with frames, a screen that moves
  plot OUT.svg RESULTS.jsonl     draw 'bench fx-compose --profile buses --json'
  public-api [--write]           hold the public items of the client against the committed list, or write it
  site                           build the documentation site with mdBook, which is installed below target/";

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let root = xtask::root();
    match arguments[..] {
        [] | ["--help" | "-h" | "help"] => {
            println!("{USAGE}");
            Ok(())
        }
        ["changed", ref paths @ ..] if !paths.is_empty() => {
            println!("{}", xtask::changed::answer(&root, paths)?);
            Ok(())
        }
        ["tidy"] => xtask::tidy::run(&root),
        ["dialect", ref of @ ..] if of.len() < 2 => {
            let repository = xtask::tidy::Repository::load(&root)?;
            xtask::tidy::dialect::print(&repository, of.first().copied());
            Ok(())
        }
        ["size"] => xtask::size::run(&root),
        ["size", folder] => xtask::size::run(Path::new(folder)),
        ["codegen", ref rest @ ..] => xtask::codegen::run(&root, rest),
        ["licences"] => xtask::licences::run(&root),
        ["install-check"] => xtask::install_check::run(&root),
        ["aarch64"] => xtask::aarch64::run(&root),
        ["dist", ref options @ ..] => {
            xtask::dist::run(&root, &xtask::dist::Options::parse(options)?)
        }
        ["memory-model", ref options @ ..] => {
            xtask::memory_model::run(&root, xtask::memory_model::Options::parse(options)?)
        }
        ["mutants"] => xtask::mutants::run(&root, Choice::Word("")),
        ["mutants", "--commit", id] => xtask::mutants::run(&root, Choice::Commit(id)),
        ["mutants", word] if !word.starts_with('-') => {
            xtask::mutants::run(&root, Choice::Word(word))
        }
        ["instructions", ref arguments @ ..] => xtask::instructions::run(&root, arguments),
        ["fuzz", ref options @ ..] => {
            xtask::fuzz::run(&root, &xtask::fuzz::Options::parse(options)?)
        }
        ["sbe-oracle", ref options @ ..] => {
            xtask::sbe_oracle::run(&root, xtask::sbe_oracle::Options::parse(options)?)
        }
        ["fix-interop", ref options @ ..] => {
            xtask::fix_interop::run(&root, xtask::fix_interop::Options::parse(options)?)
        }
        ["aeron-interop", ref options @ ..] => xtask::aeron_interop::run(&root, options),
        ["site"] => xtask::site::run(&root),
        ["public-api"] => xtask::public_api::run(&root, false),
        ["public-api", "--write"] => xtask::public_api::run(&root, true),
        ["soak", ref options @ ..] => {
            xtask::soak::run(&root, &xtask::soak::Options::parse(options)?)
        }
        ["simulate", ref options @ ..] => {
            xtask::simulate::run(&root, xtask::simulate::Options::parse(options)?)
        }
        ["picture", ref options @ ..] => {
            xtask::picture::run(&xtask::picture::Options::parse(options)?)
        }
        ["pgo"] => xtask::pgo::run(&root),
        ["plot", output, input] => xtask::plot::run(output.as_ref(), input.as_ref()),
        _ => bail!(
            "cannot run 'cargo xtask {}'\n\n{USAGE}",
            arguments.join(" ")
        ),
    }
}
