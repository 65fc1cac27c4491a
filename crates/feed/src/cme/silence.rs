//! Silence on the incremental feed.

/// Whether the incremental feed is heard. A venue that has nothing to say sends heartbeats, so
/// silence means that neither line reaches us, and what books show grows old.
#[derive(Debug, Default)]
pub struct Silence {
    /// Receive stamp of the packet that was heard last; 0 before the first.
    pub heard_ns: u64,
    /// It is silent.
    pub is_on: bool,
    /// Subscribers are to be told of a change.
    pub is_due: bool,
}
