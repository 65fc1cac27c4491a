//! Market data: updates over any carrier, whole events only.
//!
//! A bus of market data has two tables beside its ring: each instrument's definition, and each instrument's
//! book and state. [`Publisher`] writes them, [`Subscriber`] joins: definitions and images first, then the
//! ring from there, nothing lost and nothing twice. [`Images`] is for who looks only now and then;
//! [`Overview`] is what can be said of a bus from outside. [`Local`] carries updates inside a process, and
//! [`Mirror`] is a subscriber that keeps books of its own from nothing but updates.

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
mod publisher;
mod reading;
mod settings;
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
pub use overview::{Overview, RegisteredReader, readers};
pub use publisher::Publisher;
pub use settings::Settings;
pub use subscriber::{Filter, Item, Join, Received, Subscriber};
pub use traits::{Envelope, Publish, Subscribe, SubscriptionEvent};
