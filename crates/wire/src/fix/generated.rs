//! Dictionaries that are compiled in.

mod fix44;

pub use fix44::FIX44;
