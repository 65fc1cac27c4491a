//! What happened in a run.

use touchline_lab::bank::CONTRADICTED;

/// Counts of a run, to show that it was not idle.
#[derive(Debug, Default, Clone, Copy)]
pub struct Counts {
    pub orders: u64,
    pub fills: u64,
    pub deaths: u64,
    pub power_losses: u64,
    /// Orders that a loss of power took from the journal, and that were adopted.
    pub adopted: u64,
    /// Banks that the desk released, as they had not listed their orders, and those that named an order which the engine lacked.
    pub released: u64,
    pub released_with_lost: u64,
    pub journal_failures: u64,
    pub cuts: u64,
    pub resolved: u64,
    pub freezes: u64,
    pub promotions: u64,
    pub refused_promotions: u64,
    /// Reports that contradicted themselves, by their tag in the order of [`CONTRADICTED`].
    pub contradictions: [u64; CONTRADICTED.len()],
    /// Orders that were disputed and resolved while the run went on.
    pub disputed: u64,
    /// Trades that the desk booked without an order.
    pub booked: u64,
    pub simulated_ms: u64,
}

impl Counts {
    pub fn add(&mut self, other: &Counts) {
        self.orders += other.orders;
        self.fills += other.fills;
        self.deaths += other.deaths;
        self.power_losses += other.power_losses;
        self.adopted += other.adopted;
        self.released += other.released;
        self.released_with_lost += other.released_with_lost;
        self.journal_failures += other.journal_failures;
        self.cuts += other.cuts;
        self.resolved += other.resolved;
        self.freezes += other.freezes;
        self.promotions += other.promotions;
        self.refused_promotions += other.refused_promotions;
        for (sum, count) in self.contradictions.iter_mut().zip(&other.contradictions) {
            *sum += count;
        }
        self.disputed += other.disputed;
        self.booked += other.booked;
        self.simulated_ms += other.simulated_ms;
    }
}
