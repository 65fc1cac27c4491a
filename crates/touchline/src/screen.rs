//! A picture that is drawn again and again: in place on a terminal, one after the other elsewhere.

use crate::interrupt::Interrupt;
use crate::output::{Failure, Output};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// How often a picture is looked at anew.
const EVERY: Duration = Duration::from_millis(500);
/// How soon an interrupt is followed.
const NAP: Duration = Duration::from_millis(20);

/// Draws what `picture` gives until this process is interrupted or nobody looks any more; the same
/// picture is not drawn twice in a row.
pub fn watch(mut picture: impl FnMut() -> Result<String, Failure>) -> Result<(), Failure> {
    let interrupt = Interrupt::catch()?;
    let mut output = Output::stdout()?;
    let in_place = std::io::stdout().is_terminal();
    let mut shown = String::new();
    while !interrupt.is_asked() && output.has_reader() {
        let text = picture()?;
        if text != shown {
            match in_place {
                true => output.text(&in_place_of(&text))?,
                false => output.text(&text)?,
            }
            output.flush()?;
            shown = text;
        }
        let looked = Instant::now();
        while looked.elapsed() < EVERY && !interrupt.is_asked() {
            std::thread::sleep(NAP);
        }
    }
    Ok(())
}

/// From the top left corner; what stood there before is wiped out line by line, so nothing flickers.
fn in_place_of(text: &str) -> String {
    let lines = text.replace('\n', "\x1b[K\n");
    format!("\x1b[H{lines}\x1b[J")
}
