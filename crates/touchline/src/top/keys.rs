//! Keys and their commands.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// A command of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// Quit.
    Quit,
    /// Close the open part, else clear the filter, else quit.
    Back,
    /// Next or previous bus.
    Bus(isize),
    /// Move the selection down or up.
    Instrument(isize),
    /// Show instruments with this text in their symbol; empty for all.
    Filter(String),
    /// Sort by the next column.
    Sort,
    /// Reverse the order.
    Reverse,
    /// Show the other page.
    Page,
    /// Longer (above 0) or shorter interval.
    Interval(i32),
    /// Pause or resume.
    Pause,
    /// Latency totals, or those of the last interval.
    Totals,
    /// Start totals now.
    Reset,
    /// Show or close the list of keys.
    Help,
}

/// Maps keys to commands; keeps the text being typed.
#[derive(Debug, Default)]
pub struct Keys {
    typing: Option<String>,
}

/// The longest symbol or id that can be typed.
const TYPED_MAX: usize = 30;

/// Beyond the end of any list.
const END: isize = 1 << 30;

impl Keys {
    /// Text being typed.
    pub fn typing(&self) -> Option<&str> {
        self.typing.as_deref()
    }

    /// The command of a key.
    pub fn wish(&mut self, key: KeyEvent) -> Option<Wish> {
        if key.kind == KeyEventKind::Release {
            return None;
        }
        if key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL) {
            return Some(Wish::Quit);
        }
        match key.code {
            // Also while typing: the list is visible.
            KeyCode::Down => return Some(Wish::Instrument(1)),
            KeyCode::Up => return Some(Wish::Instrument(-1)),
            KeyCode::PageDown => return Some(Wish::Instrument(10)),
            KeyCode::PageUp => return Some(Wish::Instrument(-10)),
            KeyCode::Home => return Some(Wish::Instrument(-END)),
            KeyCode::End => return Some(Wish::Instrument(END)),
            _ => {}
        }
        match self.typing.is_some() {
            true => self.typed(key.code),
            false => self.pressed(key.code),
        }
    }

    fn pressed(&mut self, code: KeyCode) -> Option<Wish> {
        Some(match code {
            KeyCode::Char('q') => Wish::Quit,
            KeyCode::Esc => Wish::Back,
            KeyCode::Tab => Wish::Bus(1),
            KeyCode::BackTab => Wish::Bus(-1),
            KeyCode::Enter => Wish::Page,
            KeyCode::Char('s') => Wish::Sort,
            KeyCode::Char('S') => Wish::Reverse,
            KeyCode::Char('+' | '=') => Wish::Interval(1),
            KeyCode::Char('-') => Wish::Interval(-1),
            KeyCode::Char('p' | ' ') => Wish::Pause,
            KeyCode::Char('t') => Wish::Totals,
            KeyCode::Char('r') => Wish::Reset,
            KeyCode::Char('?') => Wish::Help,
            KeyCode::Char('/') => {
                self.typing = Some(String::new());
                Wish::Filter(String::new())
            }
            _ => return None,
        })
    }

    /// Handles a key while typing; the filter follows each character.
    fn typed(&mut self, code: KeyCode) -> Option<Wish> {
        let typing = self.typing.get_or_insert_default();
        match code {
            KeyCode::Enter => {
                self.typing = None;
                return None;
            }
            KeyCode::Esc => {
                self.typing = None;
                return Some(Wish::Filter(String::new()));
            }
            KeyCode::Backspace => {
                typing.pop();
            }
            KeyCode::Char(letter) if typing.len() < TYPED_MAX && !letter.is_control() => {
                typing.push(letter);
            }
            _ => return None,
        }
        Some(Wish::Filter(typing.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn press(keys: &mut Keys, code: KeyCode) -> Option<Wish> {
        keys.wish(KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn keys_are_commands_or_while_typing_letters_of_a_filter() {
        let mut keys = Keys::default();
        let filter = |text: &str| Some(Wish::Filter(text.to_owned()));
        assert_eq!(press(&mut keys, KeyCode::Char('q')), Some(Wish::Quit));
        assert_eq!(press(&mut keys, KeyCode::Char('/')), filter(""));
        for (letter, typed) in [('q', "q"), ('r', "qr"), ('?', "qr?"), ('x', "qr?x")] {
            assert_eq!(press(&mut keys, KeyCode::Char(letter)), filter(typed));
        }
        assert_eq!(press(&mut keys, KeyCode::Backspace), filter("qr?"));
        let down = press(&mut keys, KeyCode::Down);
        assert_eq!(
            (down, keys.typing()),
            (Some(Wish::Instrument(1)), Some("qr?"))
        );
        // Enter keeps the filter and does not change the page.
        assert_eq!(press(&mut keys, KeyCode::Enter), None);
        assert_eq!(keys.typing(), None);
        assert_eq!(press(&mut keys, KeyCode::Enter), Some(Wish::Page));
        press(&mut keys, KeyCode::Char('/'));
        press(&mut keys, KeyCode::Char('E'));
        assert_eq!(press(&mut keys, KeyCode::Esc), filter(""));
        assert_eq!(press(&mut keys, KeyCode::Esc), Some(Wish::Back));
    }

    #[test]
    fn keys_sort_reverse_and_scroll_the_list() {
        let mut keys = Keys::default();
        assert_eq!(press(&mut keys, KeyCode::Char('s')), Some(Wish::Sort));
        assert_eq!(press(&mut keys, KeyCode::Char('S')), Some(Wish::Reverse));
        for (code, by) in [
            (KeyCode::Up, -1),
            (KeyCode::Down, 1),
            (KeyCode::PageUp, -10),
            (KeyCode::Home, -END),
            (KeyCode::End, END),
        ] {
            assert_eq!(press(&mut keys, code), Some(Wish::Instrument(by)));
        }
    }

    #[test]
    fn ctrl_c_always_quits_and_key_releases_are_ignored() {
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
