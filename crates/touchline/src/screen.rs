//! Text that is printed again when it changes: in place on a terminal, appended elsewhere.

use crate::interrupt::Interrupt;
use crate::output::{Failure, Output};
use serde_json::json;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Interval at which the text is made again.
const EVERY: Duration = Duration::from_millis(500);
/// Interval of checks for an interrupt.
const NAP: Duration = Duration::from_millis(20);

/// Prints the text of `picture` until this process is interrupted or standard output is closed; an
/// unchanged text is not printed again.
pub fn watch(mut picture: impl FnMut() -> Result<String, Failure>) -> Result<(), Failure> {
    watch_while(|| Ok(true), &mut picture)
}

/// [`watch`] of a bus. Once a picture was made, a failure is shown in place of the next one, with `as_json` in the form of an unreadable bus
/// in the list of `stat`: a publisher that starts again creates the files of its bus again.
pub fn watch_bus(
    bus: Option<&str>,
    as_json: bool,
    mut picture: impl FnMut() -> Result<String, Failure>,
) -> Result<(), Failure> {
    let mut is_first = true;
    watch(|| match picture() {
        Err(Failure::Run(why)) if !is_first && as_json => {
            Ok(format!("{}\n", json!({"bus": bus, "error": why})))
        }
        Err(Failure::Run(why)) if !is_first => Ok(format!("{why}\n")),
        made => {
            is_first = false;
            made
        }
    })
}

/// [`watch`] as long as `goes_on`, which is asked every few milliseconds.
pub fn watch_while(
    mut goes_on: impl FnMut() -> Result<bool, Failure>,
    mut picture: impl FnMut() -> Result<String, Failure>,
) -> Result<(), Failure> {
    let interrupt = Interrupt::catch()?;
    let mut output = Output::stdout()?;
    let in_place = std::io::stdout().is_terminal();
    let mut shown = String::new();
    while !interrupt.is_asked() && output.has_reader() {
        let text = picture()?;
        if text != shown {
            match in_place {
                true => output.text(&in_place_of(&text, size()))?,
                false => output.text(&text)?,
            }
            output.flush()?;
            shown = text;
        }
        let looked = Instant::now();
        while looked.elapsed() < EVERY && !interrupt.is_asked() {
            std::thread::sleep(NAP);
            if !goes_on()? {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Columns and rows of the terminal.
pub fn size() -> (usize, usize) {
    let (columns, rows) = ratatui::crossterm::terminal::size().unwrap_or((80, 24));
    (usize::from(columns.max(20)), usize::from(rows.max(4)))
}

/// Escape sequences that draw the text from the top left corner; old lines are erased one by one, which avoids flicker.
/// Lines are cut at the right edge, and the last row states how many lines are left out.
fn in_place_of(text: &str, (columns, rows): (usize, usize)) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let room = rows - 1;
    let mut drawn = String::from("\x1b[H");
    let shown = if lines.len() > room { room - 1 } else { room };
    for line in lines.iter().take(shown) {
        drawn += fitting(line, columns).as_str();
        drawn += "\x1b[K\n";
    }
    let left_out = lines.len().saturating_sub(shown);
    if left_out > 0 {
        drawn += &format!("{left_out} more lines: enlarge the terminal\x1b[K\n");
    }
    drawn + "\x1b[J"
}

/// The longest prefix of a line that fits, cut at the end of a word. Colours take no columns and end with the line.
fn fitting(line: &str, columns: usize) -> String {
    let mut kept = String::with_capacity(line.len());
    // The whole line, and its prefix up to the last space.
    let (mut room, mut word_end, mut letters) = (columns, None, line.chars());
    while let Some(letter) = letters.next() {
        if letter == '\x1b' {
            kept.push(letter);
            kept.extend(letters.by_ref().take_while(|letter| *letter != 'm'));
            kept.push('m');
            continue;
        }
        if room == 0 {
            kept.truncate(word_end.unwrap_or(kept.len()));
            return kept + "\x1b[0m";
        }
        if letter == ' ' {
            word_end = Some(kept.len());
        }
        kept.push(letter);
        room -= 1;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_at_a_word_and_colours_have_no_width() {
        assert_eq!(fitting("packets lost", 12), "packets lost");
        assert_eq!(fitting("packets lost", 11), "packets\x1b[0m");
        let dim = "\x1b[2mpackets lost\x1b[0m";
        assert_eq!(fitting(dim, 12), dim);
        assert_eq!(fitting(dim, 10), "\x1b[2mpackets\x1b[0m");
        assert_eq!(fitting("packets", 3), "pac\x1b[0m");
    }

    #[test]
    fn lines_without_room_are_counted() {
        let text = "one\ntwo\nthree\nfour\nfive\n";
        let drawn = in_place_of(text, (80, 5));
        assert!(drawn.contains("three\x1b[K\n2 more lines"), "{drawn:?}");
        let drawn = in_place_of(text, (80, 6));
        assert!(drawn.ends_with("five\x1b[K\n\x1b[J"), "{drawn:?}");
    }
}
