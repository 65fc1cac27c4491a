//! Colours of text on a terminal.

use std::fmt::Display;
use std::io::IsTerminal;

/// Paints text, or leaves it unchanged.
#[derive(Clone, Copy, Debug)]
pub struct Paint {
    on: bool,
}

impl Paint {
    /// Paints if standard output is a terminal with colours and `NO_COLOR` (no-color.org) is not
    /// set.
    pub fn for_stdout() -> Paint {
        let forbidden = Paint::is_forbidden();
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        Paint {
            on: std::io::stdout().is_terminal() && !forbidden && !dumb,
        }
    }

    /// Whether the environment forbids colours (no-color.org).
    pub fn is_forbidden() -> bool {
        std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
    }

    /// Whether text is coloured.
    pub fn is_on(self) -> bool {
        self.on
    }

    /// Paints nothing.
    #[cfg(test)]
    pub const fn plain() -> Paint {
        Paint { on: false }
    }

    /// A heading.
    pub fn bold(self, text: impl Display) -> String {
        self.wrap("1", text)
    }

    /// Secondary text.
    pub fn dim(self, text: impl Display) -> String {
        self.wrap("2", text)
    }

    /// Bids, and good states.
    pub fn green(self, text: impl Display) -> String {
        self.wrap("32", text)
    }

    /// Asks, and bad states.
    pub fn red(self, text: impl Display) -> String {
        self.wrap("31", text)
    }

    /// Recovering states.
    pub fn yellow(self, text: impl Display) -> String {
        self.wrap("33", text)
    }

    fn wrap(self, code: &str, text: impl Display) -> String {
        if self.on {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_string()
        }
    }
}
