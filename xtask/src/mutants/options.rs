//! Which mutants to try.

use super::{Mutant, always};
use crate::changed;
use anyhow::{Result, bail};

/// Of the mutants that are not always tried, each commit tries one of so many parts.
const PARTS: usize = 4;

/// Which mutants to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Options {
    /// All of them.
    All,
    /// Those with this word in their names.
    Named(String),
    /// Those that are always tried, and this part of the others, from 0.
    Part(usize),
}

impl Options {
    /// Reads `--all`, `--commit ID` or `FILTER`.
    ///
    /// # Errors
    /// Names what was not understood.
    pub fn parse(arguments: &[&str]) -> Result<Options> {
        match *arguments {
            ["--all"] => Ok(Options::All),
            ["--commit", id] => Ok(Options::Part(changed::part_of(id, PARTS)?)),
            [filter] if !filter.starts_with('-') => Ok(Options::Named(filter.to_owned())),
            _ => bail!(
                "'{}' is not understood; mutants takes --all, --commit ID, or a word of their names",
                arguments.join(" ")
            ),
        }
    }

    /// Of these, those that are wanted.
    pub fn choose<'a>(&self, all: impl Iterator<Item = &'a Mutant>) -> Vec<&'a Mutant> {
        match self {
            Options::All => all.collect(),
            Options::Named(word) => all
                .filter(|mutant| mutant.name.contains(word.as_str()))
                .collect(),
            Options::Part(part) => {
                let (mut chosen, others): (Vec<_>, Vec<_>) =
                    all.partition(|mutant| always::has(mutant));
                chosen.extend(others.into_iter().skip(*part).step_by(PARTS));
                chosen
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_are_everything_and_have_in_common_what_is_always_tried() {
        let always = super::super::all()
            .filter(|mutant| always::has(mutant))
            .count();
        let mut tried: Vec<&str> = Vec::new();
        for part in 0..PARTS {
            let chosen = Options::Part(part).choose(super::super::all());
            assert!(chosen[..always].iter().all(|mutant| always::has(mutant)));
            tried.extend(chosen[always..].iter().map(|mutant| mutant.name));
        }
        tried.sort_unstable();
        tried.dedup();
        assert_eq!(tried.len() + always, super::super::all().count());
    }

    #[test]
    fn a_choice_is_read_and_nothing_else() {
        assert_eq!(Options::parse(&["--all"]).unwrap(), Options::All);
        let named = Options::parse(&["feed"]).unwrap();
        let all = super::super::all().count();
        let chosen = named.choose(super::super::all());
        assert!(chosen.iter().all(|mutant| mutant.name.contains("feed")));
        assert!((1..all).contains(&chosen.len()));
        let id = "0000000e9ff76c16f9e04a0d4d4d0ff0ba02fb0c";
        let part = Options::parse(&["--commit", id]).unwrap();
        assert_eq!(part, Options::Part(14 % PARTS));
        for wrong in ["", "HEAD", "123", "0000000g"] {
            let error = Options::parse(&["--commit", wrong]).unwrap_err();
            assert!(error.to_string().contains("is not the id"), "{wrong}");
        }
        for wrong in [&[][..], &["feed", "bus"], &["--commit"], &["--share"]] {
            assert!(Options::parse(wrong).is_err(), "{wrong:?}");
        }
    }
}
