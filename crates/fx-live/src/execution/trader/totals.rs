//! Totals of a run.

/// Totals of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Totals {
    /// Orders handed to the kernel.
    pub orders: u64,
    /// Cancels handed to the kernel.
    pub cancels: u64,
    /// Orders that were in the journal and could not be sent.
    pub unsent: u64,
    /// Messages of banks about orders.
    pub reports: u64,
    /// Reports that a bank repeated without a mark.
    pub reports_repeated: u64,
    /// Messages of order sessions that were garbled.
    pub garbled: u64,
    /// Messages of order sessions that were longer than the limit.
    pub too_long: u64,
    /// Fills, busts and corrections.
    pub fills: u64,
    /// Commands.
    pub commands: u64,
    /// Refused commands.
    pub refused: u64,
    /// Composites that changed and were published.
    pub composites: u64,
    /// Alarms, without refused commands.
    pub alarms: u64,
    /// Times that the kill switch was set.
    pub kills: u64,
    /// Order sessions that were lost.
    pub sessions_lost: u64,
    /// Order sessions that were ended for messages that none of ours explains.
    pub floods: u64,
    /// Rounds that began late, after which no orders were made until all quotes were read.
    pub rounds_late: u64,
    /// Incidents that found no room in the queue for the log.
    pub incidents_dropped: u64,
}
