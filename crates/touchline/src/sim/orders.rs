//! Commands on standard input: one thread reads lines, the exchange takes them between two packets.

use crate::output::Failure;
use std::fmt::Display;
use std::io::{BufRead, Read, Write};
use std::str::FromStr;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

/// The commands that came and were not taken yet.
#[derive(Debug)]
pub struct Orders {
    lines: Option<Receiver<String>>,
}

/// A line longer than this is none of ours.
const LINE_BYTES_MAX: u64 = 1_024;
/// Lines that may wait; who sends more waits.
const WAITING_MAX: usize = 256;

impl Orders {
    /// Listens, if it is asked to. When standard input ends, nothing more comes, or a last command to
    /// close.
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
                    // The exchange may have closed already.
                    let _ = sender.send("quit".to_owned());
                }
            })
            .map_err(|error| Failure::run(format!("cannot start a thread: {error}")))?;
        Ok(Orders {
            lines: Some(receiver),
        })
    }

    /// The next command, if one is there. One that is refused is answered, and the next one is taken.
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

/// Says what became of a command, in a line.
pub fn answer(what: &str) {
    let mut out = std::io::stdout().lock();
    // Whoever sent it may have gone, and the exchange goes on.
    let _ = writeln!(out, "{}", crate::log::one_line(what)).and_then(|()| out.flush());
}

/// A line without its end; a longer one than is allowed is cut there, and what follows is the next one.
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
