//! Use of both sides of a bus by several threads.

use touchline_transport::Mirror;
use touchline_transport::bus::Subscription;
use touchline_transport::shm::{
    BookImage, CountersView, Error, Filter, Images, Join, Overview, ReaderStats, ReaderView, Root,
    Subscriber,
};

const fn is_shared<T: Send + Sync>() {}

/// Readers are `Send` and `Sync`, as a Python class requires; the compiler checks that. The writing side
/// belongs to one thread.
#[test]
fn values_of_readers_may_be_shared_between_threads() {
    const {
        is_shared::<Subscriber>();
        is_shared::<Subscription<2>>();
        is_shared::<Join>();
        is_shared::<Filter>();
        is_shared::<Images>();
        is_shared::<BookImage>();
        is_shared::<Mirror>();
        is_shared::<Overview>();
        is_shared::<ReaderStats>();
        is_shared::<ReaderView>();
        is_shared::<CountersView>();
        is_shared::<Root>();
        is_shared::<Error>();
    }
}
