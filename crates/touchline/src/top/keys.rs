//! What a key does.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// What a person wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// To leave.
    Quit,
    /// The next bus, or the one before.
    Bus(isize),
    /// An instrument further down the list, or further up.
    Instrument(isize),
    /// An instrument by what was typed.
    Find(String),
    /// To look less often (above 0) or more often.
    Interval(i32),
    /// To stand still, or to go on.
    Pause,
    /// Latencies in all, or those of the last interval.
    Totals,
    /// Totals to begin now.
    Reset,
    /// The keys, or not any more.
    Help,
}

/// Turns keys into wishes; remembers what is being typed.
#[derive(Debug, Default)]
pub struct Keys {
    typing: Option<String>,
}

/// The longest symbol or id that can be typed.
const TYPED_MAX: usize = 40;

impl Keys {
    /// What is being typed.
    pub fn typing(&self) -> Option<&str> {
        self.typing.as_deref()
    }

    /// What a key means.
    pub fn wish(&mut self, key: KeyEvent) -> Option<Wish> {
        if key.kind == KeyEventKind::Release {
            return None;
        }
        if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
            return Some(Wish::Quit);
        }
        match self.typing.is_some() {
            true => self.typed(key.code),
            false => self.pressed(key.code),
        }
    }

    fn pressed(&mut self, code: KeyCode) -> Option<Wish> {
        Some(match code {
            KeyCode::Char('q') | KeyCode::Esc => Wish::Quit,
            KeyCode::Tab => Wish::Bus(1),
            KeyCode::BackTab => Wish::Bus(-1),
            KeyCode::Down => Wish::Instrument(1),
            KeyCode::Up => Wish::Instrument(-1),
            KeyCode::PageDown => Wish::Instrument(10),
            KeyCode::PageUp => Wish::Instrument(-10),
            KeyCode::Char('+' | '=') => Wish::Interval(1),
            KeyCode::Char('-') => Wish::Interval(-1),
            KeyCode::Char('p' | ' ') => Wish::Pause,
            KeyCode::Char('t') => Wish::Totals,
            KeyCode::Char('r') => Wish::Reset,
            KeyCode::Char('?') => Wish::Help,
            KeyCode::Char('/') => {
                self.typing = Some(String::new());
                return None;
            }
            _ => return None,
        })
    }

    fn typed(&mut self, code: KeyCode) -> Option<Wish> {
        let typing = self.typing.get_or_insert_default();
        match code {
            KeyCode::Enter => {
                let wanted = self.typing.take().filter(|wanted| !wanted.is_empty());
                return wanted.map(Wish::Find);
            }
            KeyCode::Esc => self.typing = None,
            KeyCode::Backspace => {
                typing.pop();
            }
            KeyCode::Char(letter) if typing.len() < TYPED_MAX && !letter.is_control() => {
                typing.push(letter);
            }
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(keys: &mut Keys, code: KeyCode) -> Option<Wish> {
        keys.wish(KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn keys_are_wishes_and_while_typing_letters() {
        let mut keys = Keys::default();
        assert_eq!(press(&mut keys, KeyCode::Char('q')), Some(Wish::Quit));
        assert_eq!(press(&mut keys, KeyCode::Char('/')), None);
        for letter in "qr?x".chars() {
            assert_eq!(press(&mut keys, KeyCode::Char(letter)), None);
        }
        press(&mut keys, KeyCode::Backspace);
        assert_eq!(keys.typing(), Some("qr?"));
        let found = press(&mut keys, KeyCode::Enter);
        assert_eq!(found, Some(Wish::Find("qr?".to_owned())));
        assert_eq!(keys.typing(), None);
        press(&mut keys, KeyCode::Char('/'));
        assert_eq!(
            press(&mut keys, KeyCode::Esc),
            None,
            "leaves the typing alone"
        );
        assert_eq!(press(&mut keys, KeyCode::Esc), Some(Wish::Quit));
    }

    #[test]
    fn ctrl_c_leaves_whatever_is_being_done_and_a_release_is_no_press() {
        let mut keys = Keys::default();
        press(&mut keys, KeyCode::Char('/'));
        let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(keys.wish(control_c), Some(Wish::Quit));
        let mut release = KeyEvent::new(KeyCode::Char('x'), KeyModifiers::NONE);
        release.kind = KeyEventKind::Release;
        assert_eq!(keys.wish(release), None);
        assert_eq!(keys.typing(), Some(""));
    }
}
