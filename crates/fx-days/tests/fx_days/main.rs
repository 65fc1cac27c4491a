//! Dates of pairs and sessions, against examples of the market's rules.

mod calendars;
mod sessions;
mod spots;
