//! Instrument definitions, on their own feed in a cycle and on the incremental feed.

use super::channel::Channel;
use super::cycles::CycleKind;
use super::feed::CmeFeed;
use super::reference::Definition;
use crate::{Batch, Output};
use touchline_instruments::{Instruments, KnownDefinition};
use touchline_types::{Depth, Event, Instrument, InstrumentDefinition, Price, Symbol};
use touchline_wire::mdp3::{CheckedMessage, Message, Packet, PacketHeader};

impl CmeFeed {
    /// Defines an instrument as a file states it, for an input without definitions. A later definition of the venue replaces it. `None`
    /// if the table of instruments has no room for it.
    pub fn define(
        &mut self,
        known: &KnownDefinition,
        instruments: &mut Instruments,
        batch: &mut Batch,
    ) -> Option<Instrument> {
        self.channel
            .define_known(known, &mut batch.output(instruments))
    }
}

impl Channel {
    /// Processes a packet of the definition feed.
    pub fn definitions(&mut self, packet: &Packet<'_>, out: &mut Output<'_>) {
        let PacketHeader {
            sequence,
            sending_time_ns,
        } = packet.header;
        let kind = CycleKind::Definition;
        let in_cycle = self.cycles.packet(kind, sequence, sending_time_ns);
        for raw in packet.messages() {
            self.templates.count(raw);
            // Heartbeats and other administrative messages contain no definition.
            let Some(definition) = self.definition(raw, out) else {
                continue;
            };
            let (Some(total), true) = (definition.total, in_cycle) else {
                continue;
            };
            let Some(instrument) = out
                .instruments
                .find_security(i64::from(definition.security_id))
            else {
                continue;
            };
            let named_by = &mut self.rows.row_mut(instrument).named_by;
            let whole = self.cycles.name(kind, named_by, total, 0);
            self.counters.definition_cycles += u64::from(whole.is_some());
        }
    }

    /// Decodes a definition message of either feed; `None` for other messages.
    pub fn definition<'a>(
        &mut self,
        raw: CheckedMessage<'a>,
        out: &mut Output<'_>,
    ) -> Option<Definition<'a>> {
        let definition = self.read_definition(raw)?;
        self.counters.definitions += 1;
        if let Some(instrument) = self.instrument(definition.security_id, out) {
            self.define(instrument, &definition, out);
        }
        Some(definition)
    }

    fn read_definition<'a>(&mut self, raw: CheckedMessage<'a>) -> Option<Definition<'a>> {
        let (27 | 29 | 41 | 54..=58 | 63) = raw.header.template_id else {
            return None;
        };
        let definition = Definition::read(&Message::of(raw)?);
        self.counters.price_overflow += u64::from(definition.tick.is_none());
        Some(definition)
    }

    /// Applies the definition of a message. SecurityUpdateAction D has no effect: the book messages are sufficient.
    fn define(&mut self, instrument: Instrument, new: &Definition<'_>, out: &mut Output<'_>) {
        let default = self.settings.default_depth;
        // A book of no level would be live and empty for ever: its depth is as unknown as without a definition.
        let states_no_depth = new.direct_depth.is_some_and(|levels| levels <= 0);
        let depth = Depth {
            direct: match new.direct_depth.filter(|_| !states_no_depth) {
                Some(levels) => depth(levels).into(),
                None => default.direct,
            },
            implied: new.implied_depth.map_or(default.implied, depth),
        };
        let next = InstrumentDefinition {
            symbol: Symbol::new(new.symbol.as_bytes()),
            group: Symbol::new(new.group.as_bytes()),
            asset: Symbol::new(new.asset.as_bytes()),
            tick: new.tick.unwrap_or(Price::NULL),
            depth,
            reference: new.reference,
            defined: true,
            ..*out.instruments.definition(instrument)
        };
        self.replace(next, states_no_depth, out);
    }

    /// Applies a definition that a file states; `None` if there is no room for the instrument.
    fn define_known(
        &mut self,
        known: &KnownDefinition,
        out: &mut Output<'_>,
    ) -> Option<Instrument> {
        let security_id = i32::try_from(known.definition.security_id).ok()?;
        let instrument = self.instrument(security_id, out)?;
        let mut next = known.of(out.instruments.definition(instrument));
        // The venue's changes are by position: no book of it has every level.
        // mutant: feed: a file states a book of every level
        let states_no_depth = next.depth.direct == 0 || next.depth.is_all();
        if states_no_depth {
            next.depth.direct = self.settings.default_depth.direct;
        }
        self.replace(next, states_no_depth, out);
        Some(instrument)
    }

    /// Replaces the definition of an instrument. A changed depth of a book in use starts its recovery, since its levels were limited to
    /// the old depth.
    fn replace(&mut self, next: InstrumentDefinition, states_no_depth: bool, out: &mut Output<'_>) {
        let (instrument, depth) = (next.instrument, next.depth);
        let definition = out.instruments.definition_mut(instrument);
        let old = std::mem::replace(definition, next);
        let changed = next != old;
        let row = self.rows.row_mut(instrument);
        let was_defined = std::mem::replace(&mut row.is_defined, !states_no_depth);
        let waited = !was_defined && row.is_defined && !self.settings.trust_undefined;
        if waited && row.price.last_rpt == 0 {
            // No level of it was skipped.
            row.price.gap = false;
        }
        let in_use = row.price.last_rpt > 0 || row.price.gap;
        if depth != old.depth && in_use {
            self.counters.depth_changes += 1;
            self.distrust_price(instrument, out);
        }
        let row = self.rows.row(instrument);
        if was_defined && !row.is_defined && !self.settings.trust_undefined {
            self.distrust_price(instrument, out);
        }
        if changed {
            let row = self.rows.row(instrument);
            let (price, orders) = (self.validity(row), Some(self.orders_validity(row)));
            out.push(Event::Defined {
                instrument,
                price,
                orders,
            });
        }
    }
}

/// MarketDepth, tag 264; a negative one is none.
fn depth(market_depth: i8) -> u8 {
    market_depth.max(0) as u8
}
