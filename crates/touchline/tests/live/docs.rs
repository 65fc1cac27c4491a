//! Runs the commands of the documents.
//!
//! Each `sh` block of README.md, CONTRIBUTING.md, docs/ and the other pages is run, with the built command in place of
//! `cargo run --release --` and `touchline`. The blocks of a page share a folder, which a page with a line
//! `<!-- continues: PAGE -->` shares with an earlier page of its directory. A comment directly above a block changes what
//! is done with it:
//!
//! - `<!-- run: together -->`: each line is a separate terminal; all run at the same time, then get Ctrl-C.
//! - `<!-- run: any status -->`: the exit status depends on the host.
//! - `<!-- not run: REASON -->`: only the arguments of the commands are checked.
//! - `<!-- journal: NAME -->`, `<!-- damaged journal: NAME -->`: the test writes a journal of orders to the directory NAME first.
//! - `<!-- file: NAME -->` above a block that is not `sh`: the test writes it to the file NAME in the folder of the
//!   page.
//!
//! Commands in other blocks are refused. Each `toml` block must be a valid file of a command, alone or behind an earlier
//! block of its page.
//!
//! In a network namespace of their own where allowed, since they use the multicast groups and ports of the documents.

mod journal;
mod markdown;
mod shell;
mod toml;

use crate::together;
use markdown::{Block, Mode};
use shell::Shell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Pages with commands: all Markdown of the repository except the changelog.
fn pages() -> Vec<PathBuf> {
    let mut pages = Vec::new();
    for place in ["", "docs", "competitors", "ops"] {
        collect(&root().join(place), place == "docs", &mut pages);
    }
    pages.retain(|page| !page.ends_with("CHANGELOG.md"));
    pages.sort();
    pages
}

fn collect(folder: &Path, deep: bool, pages: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder of the repository") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && deep {
            collect(&path, deep, pages);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
}

#[test]
fn the_commands_of_the_documents_succeed() {
    let _together = together();
    if shell::ran_in_a_network_of_its_own() {
        return;
    }
    let (mut run, mut checked) = (0, 0);
    let mut shells = BTreeMap::new();
    for page in pages() {
        let text = std::fs::read_to_string(&page).expect("a page");
        let name = page.strip_prefix(root()).expect("below the root");
        let blocks =
            markdown::blocks(&text).unwrap_or_else(|why| panic!("{}: {why}", name.display()));
        let started = Instant::now();
        let first = markdown::continued(&text).map(|first| page.with_file_name(first));
        let shell = match first {
            Some(first) => shells
                .get_mut(&first)
                .unwrap_or_else(|| panic!("{}: no earlier {}", name.display(), first.display())),
            None => shells
                .entry(page.clone())
                .or_insert_with(|| Shell::new(name)),
        };
        shell.turn_to(name);
        for block in &blocks {
            if let Some(journal) = &block.journal {
                shell.write_journal(journal);
            }
            match &block.mode {
                Mode::File(file) => shell.write(file, &block.text),
                Mode::NotRun => checked += shell.check(block),
                _ => {
                    shell.run(block);
                    run += 1;
                }
            }
        }
        if !blocks.is_empty() {
            println!(
                "{}: {} blocks, {:?}",
                name.display(),
                blocks.len(),
                started.elapsed()
            );
        }
    }
    println!("{run} blocks were run, the arguments of {checked} commands were checked");
    assert!(
        run >= 10,
        "the documents have more commands than {run} blocks"
    );
    assert!(checked >= 20, "and more that are not run than {checked}");
}

/// Commands in the text of a page, such as `bench event --market NAME`, have options that exist and values that these accept.
#[test]
fn the_commands_in_the_text_of_the_documents_parse() {
    let mut shell = Shell::new(Path::new("text"));
    let mut checked = 0;
    for page in pages() {
        let text = std::fs::read_to_string(&page).expect("a page");
        shell.turn_to(page.strip_prefix(root()).expect("below the root"));
        for (line, code) in markdown::spans(&text) {
            if let Some(command) = command_of(&code) {
                checked += shell.check(&Block::not_run(line, command));
            }
        }
    }
    println!("{checked} commands were checked");
    assert!(checked >= 100, "the text has {checked} commands");
}

/// Each section of the figures names the command that prints them.
#[test]
fn each_section_of_the_figures_names_its_command() {
    let page = root().join("docs/benchmarks/figures.md");
    let text = std::fs::read_to_string(page).expect("the figures");
    let sections: Vec<&str> = text.split("\n## ").skip(1).collect();
    assert!(sections.len() >= 10, "{} sections", sections.len());
    for section in sections {
        let spans = markdown::spans(section);
        let names =
            |(_, code): &(usize, String)| code.starts_with("cargo ") || command_of(code).is_some();
        let title = section.lines().next().unwrap_or_default();
        assert!(spans.iter().any(names), "{title}: no command");
    }
}

/// The command of a span of code, with values for placeholders; `None` for other code.
fn command_of(code: &str) -> Option<String> {
    let command = code.strip_prefix("touchline ").unwrap_or(code);
    let is_workshop = ["bench ", "load "].iter().any(|of| command.starts_with(of));
    let is_command = is_workshop || command != code && !command.starts_with('-');
    let value = |word| match word {
        "N" => "1",
        "NAME" if is_workshop => "mixed",
        "SHELL" => "bash",
        word => word,
    };
    let words: Vec<&str> = command.split_whitespace().map(value).collect();
    is_command.then(|| format!("touchline {}", words.join(" ")))
}

/// Tools of `cargo xtask` that the documents name exist.
#[test]
fn the_xtask_commands_of_the_documents_exist() {
    let usage = std::fs::read_to_string(root().join("xtask/src/main.rs")).expect("the chores");
    let mut named = 0;
    for page in pages() {
        let text = std::fs::read_to_string(&page).expect("a page");
        let blocks = markdown::blocks(&text).expect("blocks");
        for (_, line) in blocks.iter().flat_map(|block| block.commands()) {
            let Some(chore) = line.strip_prefix("cargo xtask ") else {
                continue;
            };
            let name = chore.split_whitespace().next().expect("a name");
            let heads = [format!("\n  {name} "), format!("\n  {name}\n")];
            let known = heads.iter().any(|head| usage.contains(head));
            assert!(known, "{}: cargo xtask {name}", page.display());
            named += 1;
        }
    }
    assert!(named >= 5, "the documents name {named} chores");
}

#[test]
fn a_failing_command_and_an_unknown_option_are_detected() {
    let fails = |text: &str| {
        let block = markdown::blocks(text).expect("blocks").remove(0);
        let shell = || {
            let mut shell = Shell::new(Path::new("broken.md"));
            match block.mode {
                Mode::NotRun => {
                    shell.check(&block);
                }
                _ => shell.run(&block),
            }
        };
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(shell)).is_err()
    };
    assert!(fails("```sh\nfalse\ntrue\n```\n"));
    assert!(fails("```sh\ncargo run --release -- stat nowhere\n```\n"));
    assert!(fails(
        "<!-- not run: long -->\n```sh\ntouchline demo --sekonds 3\n```\n"
    ));
    for line in [
        "touchline bench hash --orders many",
        "cargo run --profile dist --features aeron -- bench relay --carier aeron",
        "cargo run --profile dist --features aeron -- bench relay --carrier aeron --rounds 2 --sampels 1",
        "make it && touchline bench hash --ordres 1",
        "for n in 1 2; do touchline bench hash --orders $n --sampels 1 >out; done",
    ] {
        assert!(
            fails(&format!("<!-- not run: long -->\n```sh\n{line}\n```\n")),
            "{line}"
        );
    }
    assert!(!fails(
        "<!-- not run: long -->\n```sh\ntouchline demo --seconds 3 # x\n```\n"
    ));
    assert!(!fails("<!-- run: any status -->\n```sh\nfalse\n```\n"));
}
