//! `cargo xtask NAME`: chooses the chore; the work is in the library beside it.

#![forbid(unsafe_code)]

use anyhow::{Result, bail};
use std::env;

const USAGE: &str = "\
usage: cargo xtask <chore> [arguments]

  tidy                           hold the repository against its own rules";

fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (chore, _rest) = arguments
        .split_first()
        .map_or(("", &[][..]), |(c, r)| (c.as_str(), r));
    match chore {
        "tidy" => xtask::tidy::run(&xtask::root()),
        _ => bail!("no such chore: '{chore}'\n\n{USAGE}"),
    }
}
