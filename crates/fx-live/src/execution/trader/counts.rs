//! Counters of the engine, from its totals, the core and the journal.

use super::Trader;
use crate::execution::counters::Counters;
use crate::execution::statistics;
use touchline_fx_events::orders::RejectCode;

impl Trader {
    /// Writes the counters for their readers.
    pub(super) fn show_counters(&mut self) {
        let counters = self.counters();
        self.counters.banks_live = self.core.engine.pricing().banks_usable() as u64;
        self.counters.composites_published = self.core.totals.composites;
        let engine = &self.core.engine;
        self.statistics.show(
            &counters,
            &self.core.alarms,
            &self.counters,
            self.core.banks.counts(),
            engine,
        );
    }

    /// The counters.
    pub fn counters(&self) -> Counters {
        let (core, engine) = (&self.core, &self.core.engine);
        let totals = &core.totals;
        let rejects = statistics::rejects(engine);
        let of = |code: RejectCode| rejects[code as usize];
        let banks = 0..engine.setup().banks.len();
        let (position, durable) = (
            core.recorder.out().journal.position(),
            core.recorder.out().journal.durable(),
        );
        Counters {
            fx_orders_sent: totals.orders,
            fx_orders_unsent: totals.unsent,
            fx_cancels_sent: totals.cancels,
            fx_reports: totals.reports,
            fx_reports_repeated: totals.reports_repeated,
            fx_messages_garbled: totals.garbled,
            fx_messages_too_long: totals.too_long,
            fx_fills: totals.fills,
            fx_rejects_last_look_price: of(RejectCode::LastLookPrice),
            fx_rejects_last_look_latency: of(RejectCode::LastLookLatency),
            fx_rejects_gone: of(RejectCode::Gone),
            fx_rejects_credit: of(RejectCode::Credit),
            fx_rejects_static_data: of(RejectCode::StaticData),
            fx_rejects_other: of(RejectCode::Other),
            fx_rejects_unsupported: of(RejectCode::Unsupported),
            fx_rejects_never_arrived: of(RejectCode::NeverArrived),
            fx_outcomes_unknown: statistics::unknown(engine),
            fx_orders_unknown: engine.trading().orders().unknown() as u64,
            fx_orders_open: engine.trading().orders().live().len() as u64,
            fx_parents_open: engine.trading().parents().live().len() as u64,
            fx_kills: totals.kills,
            fx_killed: u64::from(engine.trading().is_killed()),
            fx_alarms: totals.alarms,
            fx_commands: totals.commands,
            fx_commands_refused: totals.refused,
            fx_sessions: banks
                .filter(|bank| engine.trading().is_order_session_up(*bank))
                .count() as u64,
            fx_sessions_lost: totals.sessions_lost,
            fx_report_floods: totals.floods,
            fx_rounds_late: totals.rounds_late,
            fx_held: u64::from(engine.trading().is_held()),
            fx_asking: u64::from(engine.trading().is_asking()),
            fx_journal_position: position,
            fx_journal_durable: durable,
            fx_journal_behind: position.saturating_sub(durable),
            fx_journal_failed: u64::from(core.recorder.is_dead()),
            fx_incidents_dropped: totals.incidents_dropped,
        }
    }
}
