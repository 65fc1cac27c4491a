//! Styles of the screen.

use ratatui::style::{Color, Modifier, Style};

pub const DIM: Style = Style::new().add_modifier(Modifier::DIM);
pub const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);
pub const REVERSED: Style = Style::new().add_modifier(Modifier::REVERSED);
pub const GOOD: Style = Style::new().fg(Color::Green);
pub const BAD: Style = Style::new().fg(Color::Red);
pub const CARE: Style = Style::new().fg(Color::Yellow);
