//! Frames of a changing screen, captured from a tmux terminal.

use super::screen::{self, Row};
use super::{Options, shell_word};
use crate::command::must;
use anyhow::{Context, Result};
use std::process::Command;
use std::thread;
use std::time::Duration;

/// Time for a screen to appear before the first frame.
const START: Duration = Duration::from_secs(2);

/// The command's screen, `options.frames` times.
///
/// # Errors
/// tmux is missing, the command ends early, or its screen cannot be drawn.
pub fn frames(options: &Options) -> Result<Vec<Vec<Row>>> {
    let words: Vec<String> = options
        .command
        .iter()
        .map(|word| shell_word(word))
        .collect();
    let terminal = Terminal::open(options.size, &words.join(" "))?;
    thread::sleep(START);
    let mut frames = Vec::new();
    while frames.len() < options.frames {
        if !frames.is_empty() {
            thread::sleep(Duration::from_millis(options.every_ms));
        }
        let mut rows = screen::rows(&terminal.look()?)?;
        while rows.last().is_some_and(Vec::is_empty) {
            rows.pop();
        }
        frames.push(rows);
    }
    Ok(frames)
}

/// A separate tmux server with one window. It and its command end when this value is dropped.
struct Terminal {
    socket: String,
}

impl Terminal {
    fn open((columns, rows): (usize, usize), command: &str) -> Result<Self> {
        let terminal = Self {
            socket: format!("touchline-picture-{}", std::process::id()),
        };
        let (columns, rows) = (columns.to_string(), rows.to_string());
        let arguments = [
            "-f",
            "/dev/null",
            "new-session",
            "-d",
            "-x",
            &columns,
            "-y",
            &rows,
            command,
        ];
        terminal.tmux(&arguments)?;
        Ok(terminal)
    }

    /// Content of the terminal, with colours.
    fn look(&self) -> Result<String> {
        self.tmux(&["capture-pane", "-e", "-p"])
            .context("the command has ended: run it alone to see why")
    }

    fn tmux(&self, arguments: &[&str]) -> Result<String> {
        let mut tmux = Command::new("tmux");
        tmux.args(["-L", &self.socket])
            .args(arguments)
            .env("TERM", "xterm-256color")
            .env_remove("NO_COLOR")
            .env_remove("TMUX");
        must(&mut tmux).context("'tmux' provides a terminal")
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // The command and the server may have ended.
        let _ = self.tmux(&["kill-server"]);
    }
}
