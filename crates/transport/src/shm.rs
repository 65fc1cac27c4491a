//! The bus: a named publication in shared memory, for every process on the host.
//!
//! ```text
//!  <root>/<bus>/lock           who writes it
//!               ring           every message, in order             shm::broadcast
//!               definitions    each instrument's definition        shm::last_value
//!               images         each instrument's book and state    shm::last_value
//!               counters       what the writer counts              shm::counters
//!               readers        who is waited for, if the bus is lossless
//!               cursors        how far they have read
//!               boards/<name>  what a reader that gave a name shows of itself
//! ```
//!
//! [`Publisher`] writes all of it; [`Subscriber`] joins: definitions and images first, then the ring
//! from there, nothing lost and nothing twice. [`Images`] is for who looks only now and then. [`CountersFile`]
//! holds what is counted, [`Overview`] what can be said of a bus from outside, and [`ReaderStats`] what a
//! reader shows of itself there.

mod book_image;
mod channel_image;
mod counters;
mod counters_file;
mod damage;
mod files;
mod images;
mod liveness;
mod lossless;
mod overview;
mod publisher;
mod reader_stats;
mod removal;
mod settings;
mod subscriber;
mod tables;
mod tops;

pub use book_image::BookImage;
pub use counters::PublisherCounters;
pub use counters_file::{CountersFile, CountersView, Description, HistogramView, Origin};
pub use damage::Damage;
pub use files::Error;
pub use images::{Images, Unseen};
pub use liveness::Liveness;
pub use overview::{Overview, RegisteredReader, readers};
pub use publisher::Publisher;
pub use reader_stats::{
    FineClock, READER_HISTOGRAMS, READERS_MAX, ReaderCounters, ReaderStats, ReaderView,
};
pub use removal::remove;
pub use settings::{Lossless, Settings};
pub use subscriber::{Filter, Item, Join, Received, Subscriber};
pub use touchline_shm::broadcast::Activity;
pub use touchline_shm::segment::{Directory, Holder, Lock, Root, Sharing, Warning};
