//! A bus of market data in shared memory with its counters files: [`bus`](crate::bus),
//! [`market`](crate::market) and [`stats`](crate::stats) in one namespace.

pub use crate::bus::{
    Activity, Build, Damage, Directory, Error, Holder, Liveness, Lock, Lossless, Polled, Root,
    Warning, remove,
};
pub use crate::market::{
    BookImage, Filter, Images, Item, Join, Kinds, LastValue, Overview, Publisher,
    PublisherCounters, Received, RegisteredReader, Settings, Subscriber, Unseen, Value, reader_in,
    readers,
};
pub use crate::stats::{
    CountersFile, CountersView, Description, FineClock, HistogramView, Origin, ProcessStats,
    ProcessView, READER_HISTOGRAMS, READERS_MAX, ReaderCounters, ReaderStats, ReaderView,
};
pub use touchline_shm::Process;
pub use touchline_shm::segment::Error as SegmentError;
