//! `fx send --wait`: what becomes of an order, as lines for people.

use super::super::blotter::Live;
use super::super::lines::{Fields, field, trade, whole};
use super::super::numbers::units;
use super::named;
use crate::interrupt::Interrupt;
use crate::output::{Failure, say};
use serde_json::Value;
use std::collections::VecDeque;
use std::time::Duration;
use touchline_client::fx::{Address, Client, PublishedEntry, happened};
use touchline_fx_events::lines::LineKind;
use touchline_types::Id;

/// Pause of a reader that finds nothing.
const PAUSE: Duration = Duration::from_micros(200);

/// Lines of the drop copy that are not looked at yet, with their kinds.
#[derive(Default)]
pub struct Lines(VecDeque<(LineKind, Fields)>);

impl Lines {
    /// Adds the lines of an entry.
    pub fn add(&mut self, told: &PublishedEntry<'_>) {
        let mut text = String::new();
        told.lines(&mut text, |kind, text| {
            let line = serde_json::from_str(text).ok();
            self.0.extend(line.map(|line| (kind, line)));
        });
    }

    /// Prints the events of an accepted order of this quantity, until none of its orders at banks is open.
    ///
    /// # Errors
    /// The order ended without a fill; or its end is not known, and the failure names the order.
    pub fn follow(
        &mut self,
        client: &mut Client,
        (id, quantity): (Id, i64),
        interrupt: &Interrupt,
    ) -> Result<(), Failure> {
        let end = self.end(client, (id.as_str(), quantity), interrupt);
        let end = end.map_err(|failure| named(failure, id))?;
        match end.filled {
            0 => Err(nothing_filled(client.address(), id.as_str(), &end)),
            _ => Ok(()),
        }
    }

    /// Prints the events up to the end of the order.
    fn end(
        &mut self,
        client: &mut Client,
        (id, quantity): (&str, i64),
        interrupt: &Interrupt,
    ) -> Result<End, Failure> {
        let (mut waited, mut why) = (None, "-".to_owned());
        loop {
            if interrupt.is_asked() {
                return Err(Failure::run(format!(
                    "interrupted: {id} goes on, `touchline fx cancel {id}`, with the same --bus or --config and --as, ends it"
                )));
            }
            let Some((kind, line)) = self.next(client)? else {
                std::thread::sleep(PAUSE);
                continue;
            };
            if line.get("parent").and_then(Value::as_str) != Some(id) {
                continue;
            }
            match kind {
                LineKind::Fill => say(&fill_text(&line))?,
                LineKind::Decision => {
                    let event = line.get("event").and_then(Value::as_str);
                    let out = line.get("out").and_then(Value::as_i64);
                    match event {
                        Some("waits") => {
                            let reason = field(&line, "reason");
                            say(&format!("waits: {reason}\n"))?;
                            waited = Some(reason);
                        }
                        Some("ended") => why = field(&line, "reason"),
                        _ => {}
                    }
                    let is_over =
                        event == Some("settled") || (event == Some("ended") && out == Some(0));
                    if is_over {
                        say(&end_text(id, quantity, &why, &line))?;
                        let filled = whole(&line, "filled");
                        return Ok(End {
                            filled,
                            why,
                            waited,
                        });
                    }
                }
                _ => {}
            }
        }
    }

    /// The next line; `None`: none now.
    ///
    /// # Errors
    /// The engine has ended, or lines were lost, also before the answer to the command: the end of the order may be among them.
    fn next(&mut self, client: &mut Client) -> Result<Option<(LineKind, Fields)>, Failure> {
        let published = client.published();
        loop {
            if let Some(line) = self.0.pop_front() {
                return Ok(Some(line));
            }
            // Some events of the bus are returned again by each poll.
            if !matches!(published.poll(|told| self.add(told)), Ok(true)) {
                break;
            }
        }
        if let Some(event) = published.lost() {
            let event = happened(&event);
            let text = format!("{event}; the journal has what became of the order");
            return Err(Failure::run(text));
        }
        match published.has_engine().map_err(Failure::run)? {
            true => Ok(None),
            false => Err(Failure::run(
                "the engine has ended; the journal has what became of the order",
            )),
        }
    }
}

/// End of an order.
struct End {
    filled: i64,
    why: String,
    /// The reason for which it waited last.
    waited: Option<String>,
}

/// The failure of an order without a fill, with the possible cause.
fn nothing_filled(address: &Address, id: &str, end: &End) -> Failure {
    let mut text = format!("nothing of {id} was filled: {}", end.why);
    if let Some(reason) = &end.waited {
        text += &format!("; it waited last: {reason}");
    }
    if let Some(down) = Live::read(&address.root, &address.bus).down() {
        text += &format!("; {down}");
    }
    Failure::run(text)
}

fn fill_text(line: &Fields) -> String {
    let what = trade(line, &field(line, "qty"));
    let (kind, id) = (field(line, "kind"), field(line, "exec_id"));
    format!("{what} ({kind} {id})\n")
}

fn end_text(id: &str, quantity: i64, why: &str, line: &Fields) -> String {
    let average = match field(line, "avg").as_str() {
        "-" => String::new(),
        average => format!(" at {average}"),
    };
    let filled = whole(line, "filled");
    let rest = match quantity - filled {
        0 => String::new(),
        rest => format!(", {} not filled: {why}", units(rest)),
    };
    format!("{id}: {filled} filled{average}{rest}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use touchline_fx_desk::DropCopy;
    use touchline_fx_events::event::Answer;
    use touchline_testing::Folder;
    use touchline_transport::bus::Root;

    /// The end of the order may be among what the bus has lost: a wait for it would not end.
    #[test]
    fn a_wait_ends_with_an_overrun() {
        let folder = Folder::new("fx-wait");
        let root = Root::at(&folder);
        let mut engine = DropCopy::open(&root, "fx", 1 << 20).expect("a bus");
        let address = Address {
            root: root.clone(),
            bus: "fx".to_owned(),
            ring_root: root,
            client: "desk".to_owned(),
        };
        let mut client = Client::join(address).expect("an engine");
        let answer = Answer {
            client: "desk",
            request: 1,
            answer: "killed",
            reason: None,
            cause: None,
        };
        for at_ns in 0..20_000 {
            engine.answer(at_ns, &answer);
        }
        let order = (Id::lossy(b"P1"), 1_000);
        let interrupt = Interrupt::catch().expect("signals can be caught");
        let followed = Lines::default().follow(&mut client, order, &interrupt);
        let Err(Failure::Run(text)) = followed else {
            panic!("{followed:?}");
        };
        assert!(text.starts_with("overrun: "), "{text}");
        for part in ["touchline fx explain P1", "give --id P1"] {
            assert!(text.contains(part), "{text}");
        }
    }
}
