//! Man pages and shell completions, generated from the definition of the arguments.
//!
//! `cargo xtask dist` runs this test with `TOUCHLINE_PAGES`, the output directory. Without it the files go to a temporary
//! directory. Only packages contain man pages; `touchline completions` prints the completions, too.

use crate::{Arguments, version};
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use std::path::{Path, PathBuf};

/// Name of the program in packages.
const PROGRAM: &str = match cfg!(feature = "lab") {
    true => "touchline-lab",
    false => "touchline",
};

/// One file for each command and for each shell.
fn write(folder: &Path) {
    std::fs::create_dir_all(folder).expect("a folder for the pages");
    // A release has one version, whichever build makes its pages.
    let command = Arguments::command().name(PROGRAM);
    let command = command.version(version::VERSION);
    clap_mangen::generate_to(command, folder).expect("room for the man pages");
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        let mut command = Arguments::command();
        clap_complete::generate_to(shell, &mut command, PROGRAM, folder)
            .expect("room for the completions");
    }
}

/// Each visible command below `command`, with the name of its man page.
fn visible(command: &Command, page: &str, found: &mut Vec<(String, Command)>) {
    found.push((page.to_owned(), command.clone()));
    let below = command.get_subcommands();
    for sub in below.filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
        visible(sub, &format!("{page}-{}", sub.get_name()), found);
    }
}

/// Packages contain the files that this test leaves in `TOUCHLINE_PAGES`.
#[test]
fn each_command_has_a_man_page_and_completions() {
    let asked = std::env::var_os("TOUCHLINE_PAGES").map(PathBuf::from);
    let own = touchline_testing::Folder::new("pages");
    let folder = asked.unwrap_or_else(|| own.to_path_buf());
    write(&folder);
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect(name);

    let mut commands = Vec::new();
    visible(&Arguments::command(), PROGRAM, &mut commands);
    assert!(commands.len() > 12, "{} commands", commands.len());
    let (bash, zsh, fish) = (
        read(&format!("{PROGRAM}.bash")),
        read(&format!("_{PROGRAM}")),
        read(&format!("{PROGRAM}.fish")),
    );
    for (page, command) in &commands {
        let text = read(&format!("{page}.1"));
        assert!(text.contains(&format!(".TH {page} 1")), "{page}: {text}");
        for argument in command.get_arguments().filter(|one| !one.is_hide_set()) {
            let Some(long) = argument.get_long() else {
                continue;
            };
            let escaped = format!("\\-\\-{}", long.replace('-', "\\-"));
            assert!(text.contains(&escaped), "{page} says nothing of --{long}");
            assert!(bash.contains(&format!("--{long}")), "bash: {page} --{long}");
            assert!(zsh.contains(&format!("--{long}")), "zsh: {page} --{long}");
            assert!(
                fish.contains(&format!("-l {long}")),
                "fish: {page} --{long}"
            );
        }
    }
}
