//! `cargo xtask picture`: terminal output of a command, as a picture for the documents.
//!
//! ```text
//! command ──► script(1), a terminal ──────────► screen: rows of painted text ──► drawing: SVG
//!         ──► tmux, looked at N times: frames ──►
//! ```
//!
//! The pictures of the documents are real output. A change of a screen draws them again.

mod drawing;
mod film;
mod screen;

use anyhow::{Context, Result, bail};
use std::fs;
use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Command to draw, and output file.
#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    /// The SVG file.
    output: PathBuf,
    /// Which lines of the output, from 1; the others are left out, visibly.
    lines: RangeInclusive<usize>,
    /// Longer lines are cut, visibly.
    columns: usize,
    /// How often to look at a screen that changes; with one frame the output is drawn when the command has ended.
    frames: usize,
    /// Milliseconds from one frame to the next.
    every_ms: u64,
    /// Columns and rows of the terminal of such a screen.
    size: (usize, usize),
    /// Program and arguments.
    command: Vec<String>,
}

impl Options {
    /// Reads `OUT.svg [--lines FROM-TO] [--columns N] [--frames N --every MS --size COLUMNSxROWS] -- COMMAND...`.
    ///
    /// # Errors
    /// Says which argument is missing or wrong.
    pub fn parse(arguments: &[&str]) -> Result<Self> {
        let split = arguments.iter().position(|argument| *argument == "--");
        let (ours, command) = arguments.split_at(split.context("no command: put it behind --")?);
        let command: Vec<String> = command[1..].iter().map(|word| word.to_string()).collect();
        if command.is_empty() {
            bail!("no command: put it behind --");
        }
        let (output, mut rest) = ours.split_first().context("no file to draw to")?;
        let mut options = Self {
            output: PathBuf::from(output),
            lines: 1..=usize::MAX,
            columns: 100,
            frames: 1,
            every_ms: 700,
            size: (120, 40),
            command,
        };
        while let [name, value, more @ ..] = rest {
            match *name {
                "--lines" => options.lines = lines(value)?,
                "--columns" => options.columns = value.parse().context("--columns N")?,
                "--frames" => options.frames = frames(value)?,
                "--every" => options.every_ms = value.parse().context("--every MS")?,
                "--size" => options.size = size(value)?,
                other => bail!("unknown option '{other}'"),
            }
            rest = more;
        }
        if options.frames > 1 {
            options.columns = options.size.0;
        }
        match rest {
            [] => Ok(options),
            [left, ..] => bail!("'{left}' has no value"),
        }
    }
}

/// Runs the command and draws its output.
///
/// # Errors
/// The command fails, its output cannot be drawn, or the file cannot be written.
pub fn run(options: &Options) -> Result<()> {
    let frames = match options.frames {
        1 => vec![screen::rows(&print_on_terminal(&options.command)?)?],
        _ => film::frames(options)?,
    };
    let excerpt = |rows| screen::excerpt(rows, &options.lines, options.columns);
    let film = drawing::Film {
        frames: frames.into_iter().map(excerpt).collect(),
        frame_ms: options.every_ms,
    };
    let drawing = drawing::svg(&prompt(&options.command), &film);
    fs::write(&options.output, drawing)
        .with_context(|| format!("cannot write {}", options.output.display()))?;
    println!(
        "drew {} frames to {}",
        film.frames.len(),
        options.output.display()
    );
    Ok(())
}

/// Standard output of the command as a terminal gets it; standard error is not part of a picture.
fn print_on_terminal(command: &[String]) -> Result<String> {
    let line: Vec<String> = command.iter().map(|word| shell_word(word)).collect();
    let output = Command::new("script")
        .args(["--quiet", "--return", "--command"])
        .arg(format!("{} 2>/dev/null", line.join(" ")))
        .arg("/dev/null")
        .env("TERM", "xterm-256color")
        .env_remove("NO_COLOR")
        .stdin(Stdio::null())
        .output()
        .context("cannot start 'script', which lends a terminal; it is part of util-linux")?;
    if !output.status.success() {
        bail!(
            "{} ended with {}; run it alone to see why",
            line.join(" "),
            output.status
        );
    }
    String::from_utf8(output.stdout).context("the command printed something that is no text")
}

/// The command as a reader would type it: the program without its folder.
fn prompt(command: &[String]) -> String {
    let program = Path::new(&command[0]).file_name();
    let program = program.map_or_else(|| command[0].clone(), |name| name.display().to_string());
    let words = std::iter::once(&program).chain(&command[1..]);
    words
        .map(|word| shell_word(word))
        .collect::<Vec<_>>()
        .join(" ")
}

/// A word in the form that a shell reads as this word: quoted if it has special characters.
fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

fn lines(text: &str) -> Result<RangeInclusive<usize>> {
    let bounds = text.split_once('-').and_then(|(from, to)| {
        let (from, to) = (from.parse::<usize>().ok()?, to.parse().ok()?);
        (from >= 1 && from <= to).then_some(from..=to)
    });
    bounds.with_context(|| format!("--lines FROM-TO, the first line is 1, not '{text}'"))
}

fn frames(text: &str) -> Result<usize> {
    let frames = text.parse().ok().filter(|frames| (1..=60).contains(frames));
    frames.with_context(|| format!("--frames N, 1 to 60, not '{text}'"))
}

fn size(text: &str) -> Result<(usize, usize)> {
    let size = text
        .split_once('x')
        .and_then(|(columns, rows)| Some((columns.parse().ok()?, rows.parse().ok()?)));
    size.with_context(|| format!("--size COLUMNSxROWS, not '{text}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_read_and_errors_named() {
        let options =
            Options::parse(&["out.svg", "--lines", "3-9", "--", "touchline", "demo"]).unwrap();
        assert_eq!(options.lines, 3..=9);
        assert_eq!(options.command, ["touchline", "demo"]);
        for (arguments, word) in [
            (&["out.svg"][..], "behind --"),
            (&["out.svg", "--"], "behind --"),
            (&["--", "ls"], "no file"),
            (&["o", "--lines", "0-2", "--", "ls"], "'0-2'"),
            (&["o", "--lines", "5-2", "--", "ls"], "'5-2'"),
            (&["o", "--wide", "2", "--", "ls"], "'--wide'"),
            (&["o", "--lines", "--", "ls"], "'--lines'"),
            (&["o", "--frames", "0", "--", "ls"], "'0'"),
            (&["o", "--size", "80", "--", "ls"], "'80'"),
        ] {
            let said = Options::parse(arguments).unwrap_err().to_string();
            assert!(said.contains(word), "{arguments:?}: {said}");
        }
    }

    #[test]
    fn arguments_are_quoted_for_the_shell() {
        let command = ["/a/b/touchline", "x y", "it's", ""].map(str::to_owned);
        assert_eq!(prompt(&command), r"touchline 'x y' 'it'\''s' ''");
    }
}
