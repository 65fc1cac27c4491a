//! Commands on standard input: one thread reads lines, the simulator executes them between two
//! packets.

use crate::output::{Failure, no_thread};
use std::fmt::Display;
use std::io::{BufRead, Read, Write};
use std::str::FromStr;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;
use touchline_types::text::Visible;

/// Queue of received commands.
#[derive(Debug)]
pub struct Orders {
    lines: Option<Receiver<String>>,
}

/// Maximum length of a line, bytes.
const LINE_BYTES_MAX: u64 = 1_024;
/// Maximum number of queued lines; further lines wait in standard input.
const WAITING_MAX: usize = 256;

impl Orders {
    /// Starts to read commands if requested. The end of standard input sends `quit` if `until_eof`.
    pub fn listen(is_asked: bool, until_eof: bool) -> Result<Orders, Failure> {
        if !is_asked {
            return Ok(Orders { lines: None });
        }
        let (sender, receiver) = sync_channel(WAITING_MAX);
        thread::Builder::new()
            .name("commands".to_owned())
            .spawn(move || {
                let mut input = std::io::stdin().lock();
                while let Some(line) = next_line(&mut input) {
                    if sender.send(line).is_err() {
                        return;
                    }
                }
                if until_eof {
                    // The simulator may have ended already.
                    let _ = sender.send("quit".to_owned());
                }
            })
            .map_err(no_thread)?;
        Ok(Orders {
            lines: Some(receiver),
        })
    }

    /// The next command, if there is one. An invalid command is answered and skipped.
    pub fn next<C: FromStr<Err: Display>>(&mut self) -> Option<C> {
        loop {
            let line = self.lines.as_ref()?.try_recv().ok()?;
            match line.parse() {
                Ok(command) => return Some(command),
                Err(why) => answer(&format!("refused: {why}")),
            }
        }
    }
}

/// Prints the answer to a command, in one line.
pub fn answer(what: &str) {
    let mut out = std::io::stdout().lock();
    // The sender may have closed the output; the simulator continues.
    let _ = writeln!(out, "{}", Visible(what)).and_then(|()| out.flush());
}

/// Reads a line without its end; a longer line is cut and continues as the next one.
fn next_line(input: &mut impl BufRead) -> Option<String> {
    let mut bytes = Vec::new();
    let read = input
        .by_ref()
        .take(LINE_BYTES_MAX)
        .read_until(b'\n', &mut bytes);
    match read {
        Ok(1..) => Some(String::from_utf8_lossy(&bytes).trim_end().to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_bounded() {
        let text = format!("quit\n{}\nlast", "x".repeat(1_500));
        let mut input = text.as_bytes();
        let lines: Vec<usize> = std::iter::from_fn(|| next_line(&mut input))
            .map(|line| line.len())
            .collect();
        assert_eq!(lines, [4, 1_024, 476, 4]);
    }
}
