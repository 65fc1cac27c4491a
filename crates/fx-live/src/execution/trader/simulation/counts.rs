//! Counts of the events in a run.

use touchline_lab::bank::CONTRADICTED;

macro_rules! counts {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// Counts of a run, to show that it was not idle.
        #[derive(Debug, Default, Clone, Copy)]
        pub struct Counts {
            $($(#[$doc])* pub $name: u64,)*
            /// Reports that contradicted themselves, by their tag in the order of [`CONTRADICTED`].
            pub contradictions: [u64; CONTRADICTED.len()],
        }

        impl Counts {
            pub fn add(&mut self, other: &Counts) {
                $(self.$name += other.$name;)*
                for (sum, count) in self.contradictions.iter_mut().zip(&other.contradictions) {
                    *sum += count;
                }
            }

            /// Each count with its name.
            pub fn each(&self) -> impl Iterator<Item = (String, u64)> {
                let named = [$((stringify!($name), self.$name),)*];
                let named = named.into_iter().map(|(name, count)| (name.replace('_', " "), count));
                let tags = CONTRADICTED.iter().zip(self.contradictions);
                named.chain(tags.map(|(tag, count)| (format!("contradictions in {tag}"), count)))
            }
        }
    };
}

counts! {
    orders,
    fills,
    deaths,
    power_losses,
    /// Orders that a loss of power took from the journal, and that were adopted.
    adopted,
    /// Banks that the desk released because their orders were not listed, and banks that named an order which the
    /// engine lacked.
    released,
    released_with_lost,
    journal_failures,
    /// Starts behind a journal that had failed, and those of them that died before they recorded its kill.
    starts_after_failure,
    deaths_before_kill_recorded,
    cuts,
    /// Last looks that went on behind a loss of their connection.
    last_looks,
    resolved,
    freezes,
    promotions,
    refused_promotions,
    /// Orders that were disputed and resolved while the run went on.
    disputed,
    /// Trades that the desk booked without an order.
    booked,
    /// Kills of the desk through a ring and through a file, automatic kills, and kills during which the engine died.
    ring_kills,
    file_kills,
    own_kills,
    deaths_in_kills,
    lifts,
    /// Commands in the rings at a start that were sent before it.
    commands_of_before,
    /// Wall clocks that were set: of the engine's host forward and back, while the engine ran and while it did not, and of banks.
    engine_steps_forward,
    engine_steps_back,
    engine_steps_down,
    bank_steps,
    /// Banks that stopped quoting without notice.
    quote_stalls,
    /// Banks that were silent beyond `silence_ms`, and pairs without quotes beyond `stale_ms`.
    silences,
    stale_pairs,
    simulated_ms,
    /// Days of pairs that began.
    days,
    /// Starts with another list of pairs than that of the run before.
    lists_changed,
}
