//! `touchline sim deribit`: a Deribit server, with a generated market or recorded messages.

mod access;
mod arguments;
mod run;
mod summary;

pub use arguments::Arguments;
pub use run::run;
