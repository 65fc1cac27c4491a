//! `cargo xtask codegen`: generates the Rust decoders from message schemas.
//!
//! ```text
//! templates.xml, one or several versions ──► read ──► merge ──► rust ──► rustfmt ──► crates/wire/src/mdp3/generated
//!                                            └ schema: the values that all of them speak of
//! ```
//!
//! A FIX dictionary becomes tables in the same way ([`fix`]), by the reader that the feeds use at run time.
//!
//! The generated files are committed, so a build does not need the schemas. `--check` compares them with the schemas.

pub mod fix;
pub mod merge;
pub mod names;
pub mod read;
pub mod rust;
pub mod schema;
mod types;
mod xml;

use crate::command;
use anyhow::{Context, Result, bail, ensure};
use schema::Schema;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Usage.
pub const USAGE: &str = "\
usage: cargo xtask codegen <templates.xml>... [--out DIR] [--check]
       cargo xtask codegen --fix <dictionary.xml> [--check]

  <templates.xml>   a message schema (SBE 1.0); several files are versions of one schema and are merged
  --out DIR         where the Rust goes; all .rs files there are replaced [crates/wire/src/mdp3/generated]
  --fix             a FIX dictionary in QuickFIX's form becomes crates/wire/src/fix/generated/fix44.rs
  --check           writes nothing; fails with the names of the files that differ";

/// Runs the command with these arguments.
///
/// # Errors
/// Wrong arguments; a schema that cannot be read, merged or written as Rust; with `--check` any difference.
pub fn run(root: &Path, arguments: &[&str]) -> Result<()> {
    match *arguments {
        ["--fix", dictionary] => return fix::run(root, Path::new(dictionary), false),
        ["--fix", dictionary, "--check"] => return fix::run(root, Path::new(dictionary), true),
        _ => {}
    }
    let mut out = root.join("crates/wire/src/mdp3/generated");
    let (mut check, mut schemas) = (false, Vec::new());
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        match *argument {
            "--check" => check = true,
            "--out" => {
                out = arguments
                    .next()
                    .map(PathBuf::from)
                    .with_context(|| format!("--out needs a folder\n\n{USAGE}"))?
            }
            option if option.starts_with('-') => bail!("there is no option {option}\n\n{USAGE}"),
            path => schemas.push(PathBuf::from(path)),
        }
    }
    ensure!(!schemas.is_empty(), "no schema was given\n\n{USAGE}");
    let files = formatted(root, &rust::files(&load(&schemas)?)?)?;
    if check {
        let differing = differing(&out, &files)?;
        ensure!(
            differing.is_empty(),
            "these files differ from the schemas: {}",
            differing.join(", ")
        );
        println!("{}: {} files match the schemas", out.display(), files.len());
    } else {
        write(&out, &files)?;
        println!("{}: {} files written", out.display(), files.len());
    }
    Ok(())
}

/// Reads and merges versions of one schema.
///
/// # Errors
/// Names the file, the place in it and the mistake.
pub fn load(paths: &[PathBuf]) -> Result<Schema> {
    let read = |path: &PathBuf| {
        read::from_file(path).with_context(|| format!("in schema {}", path.display()))
    };
    merge::merge(paths.iter().map(read).collect::<Result<_>>()?)
}

/// Formats the files with rustfmt and the settings of the repository.
///
/// # Errors
/// rustfmt is missing, or refuses the files.
pub fn formatted(root: &Path, files: &[rust::File]) -> Result<Vec<rust::File>> {
    // Below the repository, so that rustfmt finds its settings; a separate folder for each run.
    static RUN: AtomicUsize = AtomicUsize::new(0);
    let (process, run) = (std::process::id(), RUN.fetch_add(1, Ordering::Relaxed));
    let scratch = root.join(format!("target/codegen-{process}-{run}"));
    write(&scratch, files)?;
    // rustfmt formats the modules of `mod.rs`, too, so one run is enough.
    let mut rustfmt = Command::new("rustfmt");
    rustfmt
        .args(["--edition", "2024"])
        .arg(scratch.join("mod.rs"));
    let left = scratch.display();
    let failed = format!("rustfmt refused the generated files, which are left in {left}");
    command::run(&mut rustfmt, &failed)
        .context("rustfmt is a part: rustup component add rustfmt")?;
    let read = |file: &rust::File| -> Result<rust::File> {
        Ok(rust::File {
            name: file.name.clone(),
            text: fs::read_to_string(scratch.join(&file.name))?,
        })
    };
    let formatted = files.iter().map(read).collect::<Result<_>>()?;
    fs::remove_dir_all(&scratch)?;
    Ok(formatted)
}

/// Names of files in `folder` that differ from `files`, are missing, or are not in `files`.
///
/// # Errors
/// The folder cannot be listed.
pub fn differing(folder: &Path, files: &[rust::File]) -> Result<Vec<String>> {
    let differs = |file: &&rust::File| {
        fs::read_to_string(folder.join(&file.name)).ok().as_ref() != Some(&file.text)
    };
    let mut names: Vec<String> = files
        .iter()
        .filter(differs)
        .map(|file| file.name.clone())
        .collect();
    names.extend(
        sources(folder)?
            .into_iter()
            .filter(|name| files.iter().all(|file| file.name != *name)),
    );
    Ok(names)
}

fn write(folder: &Path, files: &[rust::File]) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let old: Vec<PathBuf> = sources(folder)?
        .iter()
        .map(|name| folder.join(name))
        .collect();
    for path in &old {
        let generated = fs::read_to_string(path).is_ok_and(|text| text.starts_with(rust::MARK));
        ensure!(
            generated,
            "{} was not generated and would be lost; name another folder",
            path.display()
        );
    }
    old.iter().try_for_each(fs::remove_file)?;
    for file in files {
        let path = folder.join(&file.name);
        fs::write(&path, &file.text).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}

/// Names of the Rust files in `folder`.
fn sources(folder: &Path) -> Result<Vec<String>> {
    let entries =
        fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))?;
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names: Vec<String> = names.collect::<Result<_>>()?;
    names.retain(|name| name.ends_with(".rs"));
    names.sort();
    Ok(names)
}
