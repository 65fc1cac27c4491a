//! Counters of an engine, and of its standby.

touchline_types::counters! {
    /// Counters of `touchline fx run`. A counter with a unit that ends in `now` is a current value.
    pub struct Counters {
        fx_orders_sent: "orders" = "Orders handed to the kernel.",
        fx_orders_unsent: "orders" = "Orders that were made and not sent: not in the journal, or the session took no message; their status is requested.",
        fx_cancels_sent: "messages" = "Cancels handed to the kernel.",
        fx_reports: "messages" = "Messages of banks about orders.",
        fx_reports_repeated: "messages" = "Reports that a bank repeated without PossDupFlag (43) or PossResend (97); ignored.",
        fx_messages_garbled: "messages" = "Bytes of order sessions that are not a FIX message, or a message with a wrong length or checksum; skipped.",
        fx_messages_too_long: "messages" = "Messages of order sessions that are longer than 16 KiB; skipped, so the reports in them are missing.",
        fx_fills: "fills" = "Fills, busts and corrections.",
        fx_rejects_last_look_price: "orders" = "Orders without a fill, code A-1: last look, price check.",
        fx_rejects_last_look_latency: "orders" = "Orders without a fill, code A-2: last look, too slow.",
        fx_rejects_gone: "orders" = "Orders without a fill, code B: price or liquidity gone.",
        fx_rejects_credit: "orders" = "Orders without a fill, code C: credit; the bank's pairs pause.",
        fx_rejects_static_data: "orders" = "Orders without a fill, code D: static data, entitlement, account; the bank's pair is disabled.",
        fx_rejects_other: "orders" = "Orders without a fill, code E: anything else.",
        fx_rejects_unsupported: "orders" = "Orders without a fill, code F: product not supported; the bank's pair is disabled.",
        fx_rejects_never_arrived: "orders" = "Orders without a fill, code N: the bank does not know the order.",
        fx_outcomes_unknown: "times" = "Times that the outcome of an order became unknown.",
        fx_orders_unknown: "orders now" = "Orders whose outcome is unknown; they count as filled.",
        fx_orders_open: "orders now" = "Orders without a final state, unknown ones included.",
        fx_parents_open: "parents now" = "Parents that trade, or that have ended with orders without a final state.",
        fx_kills: "times" = "Times that the kill switch was set.",
        fx_killed: "switches now" = "1 while the kill switch is set.",
        fx_alarms: "alarms" = "Alarms, as in the log line fx_alarm, and kills; refused commands are in fx_commands_refused.",
        fx_commands: "commands" = "Commands of the desk.",
        fx_commands_refused: "commands" = "Commands of the desk that were refused.",
        fx_sessions: "sessions now" = "Order sessions that are logged on.",
        fx_sessions_lost: "times" = "Order sessions that were lost; their open orders became unknown.",
        fx_report_floods: "times" = "Order sessions that were ended: the bank sent messages that none of ours explains.",
        fx_rounds_late: "times" = "Rounds that began more than pause_max_ms late: no orders until all quotes were read.",
        fx_held: "engines now" = "1 while the engine makes no orders: before all quotes are read, or at the end of the run.",
        fx_asking: "engines now" = "1 while the engine makes no orders because a bank has not listed its own, after a start whose journal may lack some.",
        fx_journal_position: "bytes now" = "Position behind the last record of the journal.",
        fx_journal_durable: "bytes now" = "Position up to which the journal is on the disk.",
        fx_journal_behind: "bytes now" = "Bytes of the journal that are not on the disk yet; lost with the host, not with the process.",
        fx_journal_failed: "journals now" = "1 if the journal cannot be written: no new orders.",
        fx_incidents_dropped: "incidents" = "Incidents that were not logged: too many at once.",
    }
}

touchline_types::counters! {
    /// Counters of `touchline fx run --standby` until it is promoted.
    pub struct StandbyCounters {
        fx_standby_epoch: "epochs now" = "Epoch of the journal that the standby follows.",
        fx_standby_position: "bytes now" = "Position behind the last record that was applied; the engine's is fx_journal_position.",
        fx_standby_records: "records" = "Records of the journal that were applied.",
        fx_standby_orders: "orders now" = "Orders of the journal.",
        fx_standby_orders_unknown: "orders now" = "Orders without an outcome, which a promotion asks for.",
        fx_standby_copied: "journals now" = "1 if the journal is a copy of another host's.",
        fx_standby_missing: "bytes now" = "Bytes that the source of a copied journal had as of its last status, and that were not applied; 0 if the journal is no copy.",
        fx_standby_source_age_ns: "ns now" = "Time since the last status of the source of a copied journal, by the clocks of both hosts; 0 if it was never heard.",
    }
}

touchline_types::counters! {
    /// Counters of an alarm, each named `<name>:<alarm>`.
    pub struct AlarmCounters {
        fx_alarm: "alarms" = "Alarms with this name, as in the log line fx_alarm and on the desk.",
    }
}

touchline_types::counters! {
    /// Counters of a bank, each named `<name>:<bank>`.
    pub struct BankCounters {
        fx_bank_session: "sessions now" = "1 while the bank's order session is logged on.",
        fx_bank_closed_until: "ns now" = "Start of the bank's next order session, nanoseconds since 1970, while it is closed by its hours; else 0.",
        fx_bank_orders: "orders" = "Orders sent to the bank, earlier runs of the journal included.",
        fx_bank_reports: "messages" = "Messages of the bank about orders.",
        fx_bank_fills: "fills" = "Fills of the bank, earlier runs of the journal included.",
        fx_bank_rejects: "orders" = "Orders that ended without a fill, earlier runs of the journal included.",
        fx_bank_outcomes_unknown: "times" = "Times that the outcome of an order of the bank became unknown, earlier runs of the journal included.",
    }
}
