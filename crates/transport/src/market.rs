//! Market data: updates of complete events over any carrier.
//!
//! A bus of market data has tables beside its ring: definitions, price books, order books, orders and last values.
//! [`Publisher`] writes them, [`Subscriber`] joins: first definitions and snapshots, then the ring from that point,
//! without loss or repetition. [`Images`] is for occasional reads; [`Overview`] describes a bus from outside. [`Local`]
//! carries updates inside a process, and [`Mirror`] is a subscriber that keeps books from updates only.

mod book_image;
mod channel_image;
mod counters;
mod images;
mod kinds;
mod last_values;
mod local;
mod mirror;
mod order_image;
mod order_tables;
mod overview;
mod own_rows;
mod published;
mod publisher;
mod reading;
mod reserved_table;
mod room;
mod settings;
mod stored;
mod stream_state;
mod subscriber;
mod tables;
mod tops;
mod traits;

pub use book_image::BookImage;
pub use counters::PublisherCounters;
pub use images::{Images, Unseen};
pub use kinds::Kinds;
pub use last_values::{LastValue, Value};
pub use local::Local;
pub use mirror::Mirror;
pub use overview::{Overview, RegisteredReader, reader_in, readers};
pub use own_rows::OwnRows;
pub use published::{BookHealth, Noted, PublishedStates};
pub use publisher::Publisher;
pub use room::Room;
pub use settings::{ORDERS_MAX, Settings};
pub use stream_state::{ChannelImage, EVENT_ORDERS_MAX, InstrumentImage, StreamState};
pub use subscriber::{Filter, Item, Join, Lost, Received, Subscriber, TapedMessage};
pub use traits::{Envelope, Publish, Subscribe, SubscriptionEvent};
