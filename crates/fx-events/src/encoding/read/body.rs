//! Bodies of entries.

use super::Decoder;
use crate::composite::{BankSet, Top};
use crate::desk::{Day, Desk, DeskTrade};
use crate::encoding::benchmark::benchmark_of;
use crate::encoding::bytes::{NO_I64, NO_I128, NO_U8, NO_U16, NO_U32, NO_U64, Rest};
use crate::encoding::codes::Coded;
use crate::encoding::kind;
use crate::encoding::seen::lists;
use crate::event::{
    Adopted, Alarm, Asked, Batch, Benchmark, DontKnow, Event, FillLine, Message, Numbered,
    OrderEvent, OrderLine, OrderStatus, ParentEnd, PlanLeg,
};
use crate::labels::Labels;
use crate::orders::{OrderState, RejectCode, Terms};
use crate::parents::ParentTerms;
use crate::positions::{Position, WorstCase};
use crate::scorecard::{Holds, Mean, Score};
use crate::seen::Seen;
use crate::setup::BANKS_MAX;
use crate::ticks;
use touchline_types::Price;

fn optional_word<T: Coded>(rest: &mut Rest<'_>) -> Option<Option<T>> {
    match rest.u8()? {
        NO_U8 => Some(None),
        code => Some(Some(T::of_code(code)?)),
    }
}

pub(super) fn bank(labels: &Labels, rest: &mut Rest<'_>) -> Option<usize> {
    let bank = usize::from(rest.u16()?);
    (bank < labels.banks.len().min(BANKS_MAX)).then_some(bank)
}

fn optional_bank(labels: &Labels, rest: &mut Rest<'_>) -> Option<Option<usize>> {
    let mut ahead = *rest;
    match ahead.u16()? {
        NO_U16 => {
            *rest = ahead;
            Some(None)
        }
        _ => Some(Some(bank(labels, rest)?)),
    }
}

fn pair(labels: &Labels, rest: &mut Rest<'_>) -> Option<usize> {
    let pair = usize::from(rest.u16()?);
    (pair < labels.pairs.len()).then_some(pair)
}

fn optional<T: PartialEq>(value: T, none: T) -> Option<T> {
    (value != none).then_some(value)
}

/// Parts of 1e-9 as the same parts of a tick.
fn in_ticks(labels: &Labels, pair: usize, rest: &mut Rest<'_>) -> Option<Option<i64>> {
    let value = rest.i128()?;
    if value == NO_I128 {
        return Some(None);
    }
    let tick = i128::from(ticks::tick(labels.pairs[pair].precision));
    let is_whole = value % tick == 0;
    Some(Some(i64::try_from(value / tick).ok().filter(|_| is_whole)?))
}

/// A price in ticks.
fn price(labels: &Labels, pair: usize, price: i64) -> Option<i64> {
    let tick = ticks::tick(labels.pairs[pair].precision);
    (price % tick == 0).then_some(price / tick)
}

pub(super) fn parent(labels: &Labels, rest: &mut Rest<'_>) -> Option<(u32, ParentTerms)> {
    let (number, pair) = (rest.u32()?, pair(labels, rest)?);
    let (side, lifetime, style) = (rest.word()?, rest.word()?, rest.word()?);
    let (urgency, partial) = (usize::from(rest.u8()?), rest.flag()?);
    let quantity = rest.i64()?;
    let limit = match optional(rest.i64()?, NO_I64) {
        Some(limit) => Some(price(labels, pair, limit)?),
        None => None,
    };
    let terms = ParentTerms {
        pair,
        side,
        quantity,
        limit,
        lifetime,
        style,
        urgency,
        partial,
        deadline_ms: rest.u64()?,
        id: rest.id()?,
    };
    Some((number, terms))
}

/// Number, terms and MsgSeqNum of an order.
pub(super) fn order(labels: &Labels, rest: &mut Rest<'_>) -> Option<(u32, Terms, u64)> {
    let (number, parent) = (rest.u32()?, rest.u32()?);
    let (bank, pair) = (bank(labels, rest)?, pair(labels, rest)?);
    let (side, is_fok, value_date) = (rest.word()?, rest.flag()?, rest.u32()?);
    let (quantity, price) = (rest.i64()?, price(labels, pair, rest.i64()?)?);
    let (mid2_sent, sequence) = (in_ticks(labels, pair, rest)?, rest.u64()?);
    let terms = Terms {
        sent_ns: rest.u64()?,
        id: rest.id()?,
        quote_id: rest.optional_id()?,
        parent: parent as usize,
        bank,
        pair,
        side,
        quantity,
        price,
        is_fok,
        value_date,
        mid2_sent,
    };
    Some((number, terms, sequence))
}

pub(super) fn decision(labels: &Labels, rest: &mut Rest<'_>) -> Option<Desk> {
    Some(match rest.u8()? {
        0 => Desk::Cancel {
            id: rest.optional_id()?,
        },
        1 => Desk::Lift {
            by: rest.optional_id()?,
        },
        2 => Desk::Enable {
            bank: optional_bank(labels, rest)?,
            pair: optional(rest.u16()?, NO_U16).map(usize::from),
        },
        3 => Desk::Resolve {
            cum: optional(rest.i64()?, NO_I64),
            id: rest.optional_id()?,
            price: rest.optional_id()?,
        },
        4 => {
            let (pair, bank) = (pair(labels, rest)?, optional_bank(labels, rest)?);
            let (side, quantity, price) = (rest.word()?, rest.i64()?, Price(rest.i64()?));
            let (id, value_date) = (rest.id()?, rest.id()?);
            Desk::Book {
                id: Some(id),
                by: rest.optional_id()?,
                trade: Some(DeskTrade {
                    id,
                    pair,
                    side,
                    quantity,
                    price,
                    bank,
                    value_date,
                }),
            }
        }
        _ => return None,
    })
}

/// A day of a pair or of a bank.
fn day(labels: &Labels, of: u8, rest: &mut Rest<'_>) -> Option<Event> {
    Some(match of {
        kind::DAY => Event::Day(Day {
            pair: pair(labels, rest)?,
            trade: rest.u32()?,
            spot: rest.u32()?,
        }),
        _ => Event::BankDay {
            bank: bank(labels, rest)?,
            trade: rest.u32()?,
        },
    })
}

/// Parts of the position that follows.
pub(super) fn position_dates(
    labels: &Labels,
    rest: &mut Rest<'_>,
    batch: &mut Batch,
) -> Option<()> {
    pair(labels, rest)?;
    let begin = batch.dates.len();
    for _ in 0..rest.u16()? {
        let value_date = rest.u32()?;
        let (units, cash) = (rest.i64()?, rest.i128()?);
        batch.dates.push((value_date, Position { units, cash }));
    }
    batch.next_dates = Some(begin..batch.dates.len());
    rest.0.is_empty().then_some(())
}

/// Reads bodies of events.
pub(super) struct Body<'a> {
    pub labels: &'a Labels,
    pub names: &'a Decoder,
}

impl Body<'_> {
    pub fn event(&self, of: u8, rest: &mut Rest<'_>, batch: &mut Batch) -> Option<(Event, u64)> {
        let labels = self.labels;
        let mut sequence = 0;
        let event = match of {
            kind::COMPOSITE => self.composite(rest, batch)?,
            kind::PARENT => {
                let (number, terms) = parent(labels, rest)?;
                Event::Accepted { number, terms }
            }
            kind::REFUSED => Event::Refused {
                reason: rest.word()?,
                parent: rest.optional_id()?,
            },
            kind::WAITS => Event::Waits {
                parent: self.parent(rest.u32()?)?,
                reason: rest.word()?,
            },
            kind::PLAN => self.plan(rest, batch)?,
            kind::ENDED => Event::Ended(self.parent_end(rest)?),
            kind::SETTLED => Event::Settled(self.parent_end(rest)?),
            kind::COOLDOWN | kind::DISABLED | kind::ENABLED | kind::OFF_MARKET => {
                self.conduct(of, rest)?
            }
            kind::KILL => Event::Kill {
                by: rest.optional_id()?,
            },
            kind::LIFT => Event::Lift {
                is_killed: rest.flag()?,
                by: rest.optional_id()?,
            },
            kind::BOOK => Event::Book {
                state: rest.word()?,
                id: rest.optional_id()?,
                by: rest.optional_id()?,
            },
            kind::ALARM => self.alarm(rest)?,
            kind::ADOPTED => self.adopted(rest)?,
            kind::ORDER => {
                let (number, terms, of_session) = order(labels, rest)?;
                sequence = of_session;
                Event::Order(new_order(number, terms))
            }
            kind::STATE => Event::Order(self.order_line(rest)?),
            kind::MESSAGE => {
                let mut line = self.order_line(rest)?;
                sequence = rest.u64()?;
                line.message = Some(self.message(line.number, rest)?);
                Event::Order(line)
            }
            kind::FILL => Event::Fill(self.fill(rest)?),
            kind::SEEN => Event::Seen(self.seen(rest, batch)?),
            kind::BENCHMARK => Event::Benchmark(self.benchmark(rest)?),
            kind::POSITION => self.position(rest, batch)?,
            kind::DAY | kind::BANK_DAY => day(labels, of, rest)?,
            kind::SCORE => Event::Score {
                bank: bank(labels, rest)?,
                pair: pair(labels, rest)?,
                score: Box::new(score(rest)?),
            },
            _ => return None,
        };
        Some((event, sequence))
    }

    /// A slot, a bank and a pair, is closed or opened.
    fn conduct(&self, of: u8, rest: &mut Rest<'_>) -> Option<Event> {
        let (bank, pair) = (bank(self.labels, rest)?, pair(self.labels, rest)?);
        Some(match of {
            kind::COOLDOWN => Event::Cooldown {
                bank,
                pair,
                code: optional_word(rest)?,
                until_ns: rest.u64()?,
            },
            kind::DISABLED => Event::Disabled {
                bank,
                pair,
                code: rest.word()?,
            },
            kind::ENABLED => Event::Enabled { bank, pair },
            kind::OFF_MARKET => Event::OffMarket {
                bank,
                pair,
                is_off: rest.flag()?,
            },
            _ => unreachable!("it is called for slots"),
        })
    }

    fn alarm(&self, rest: &mut Rest<'_>) -> Option<Event> {
        let what = match rest.word()? {
            Alarm::DontKnow(_) => Alarm::DontKnow(char::from(rest.u8()?)),
            Alarm::Run(_) => Alarm::Run(rest.word()?),
            what => {
                rest.u8()?;
                what
            }
        };
        Some(Event::Alarm {
            what,
            bank: optional_bank(self.labels, rest)?,
            order: rest.optional_id()?,
        })
    }

    fn adopted(&self, rest: &mut Rest<'_>) -> Option<Event> {
        let (number, terms, _) = order(self.labels, rest)?;
        let parent = terms.parent as u32;
        Some(Event::Adopted(Box::new(Adopted {
            number,
            terms,
            parent,
            parent_terms: self.names.parent(self.labels, parent)?,
            of: rest.id()?,
        })))
    }

    fn seen(&self, rest: &mut Rest<'_>, batch: &mut Batch) -> Option<Seen> {
        let mut seen = Seen {
            parent: rest.u32()?,
            pair: pair(self.labels, rest)?,
            lot: rest.i64()?,
            combine: rest.flag()?,
            counted: rest.u16()?,
            entries: 0..0,
            limits: 0..0,
            left_out: 0..0,
            hits: 0..0,
        };
        let (pair, banks) = (seen.pair, self.labels.banks.len().min(BANKS_MAX));
        let ticks = |at| price(self.labels, pair, at);
        lists(rest, &mut seen, &mut batch.seen, banks, ticks)?;
        Some(seen)
    }

    fn benchmark(&self, rest: &mut Rest<'_>) -> Option<Benchmark> {
        let of = benchmark_of(rest)?;
        let pair = pair(self.labels, rest)?;
        Some(Benchmark {
            of,
            pair,
            mid2: in_ticks(self.labels, pair, rest)?,
            average: in_ticks(self.labels, pair, rest)?,
        })
    }

    fn position(&self, rest: &mut Rest<'_>, batch: &mut Batch) -> Option<Event> {
        let pair = pair(self.labels, rest)?;
        Some(Event::Position {
            pair,
            position: Position {
                units: rest.i64()?,
                cash: rest.i128()?,
            },
            worst: WorstCase {
                long: rest.i64()?,
                short: rest.i64()?,
            },
            mid2: in_ticks(self.labels, pair, rest)?,
            dates: batch.next_dates.take(),
        })
    }

    fn parent(&self, number: u32) -> Option<Numbered> {
        let id = self.names.parent_of_run(self.labels, number)?.1.id;
        Some(Numbered { number, id })
    }

    fn composite(&self, rest: &mut Rest<'_>, batch: &mut Batch) -> Option<Event> {
        let pair = pair(self.labels, rest)?;
        let tops = [self.top(pair, rest)?, self.top(pair, rest)?];
        let from = batch.averages.len();
        for _ in 0..rest.u16()? {
            let mut average = || in_ticks(self.labels, pair, rest);
            let both = [average()?, average()?];
            batch.averages.push(both);
        }
        let averages = from..batch.averages.len();
        // A text names each of the configured sizes.
        (averages.len() == self.labels.pairs[pair].sizes.len()).then_some(Event::Composite {
            pair,
            tops,
            averages,
        })
    }

    fn top(&self, pair: usize, rest: &mut Rest<'_>) -> Option<Option<Top>> {
        let Some(at) = optional(rest.i64()?, NO_I64) else {
            return Some(None);
        };
        let (price, quantity) = (price(self.labels, pair, at)?, rest.i64()?);
        let mut banks = BankSet::default();
        for _ in 0..rest.u16()? {
            banks.add(bank(self.labels, rest)?);
        }
        Some(Some(Top {
            price,
            quantity,
            banks,
        }))
    }

    fn plan(&self, rest: &mut Rest<'_>, batch: &mut Batch) -> Option<Event> {
        let parent = self.parent(rest.u32()?)?;
        let pair = pair(self.labels, rest)?;
        let (kind, open, quantity) = (rest.word()?, rest.i64()?, rest.i64()?);
        let mut parts = || in_ticks(self.labels, pair, rest)?;
        let (average, mid2, reference2) = (parts()?, parts()?, parts()?);
        let from = batch.legs.len();
        for _ in 0..rest.u16()? {
            let (number, penalty) = (rest.u32()?, rest.i64()?);
            let terms = self.names.order(self.labels, number)?;
            batch.legs.push(PlanLeg {
                order: Numbered {
                    number,
                    id: terms.id,
                },
                bank: terms.bank,
                quantity: terms.quantity,
                price: terms.price,
                quote_id: terms.quote_id,
                penalty,
            });
        }
        Some(Event::Plan {
            parent,
            pair,
            open,
            kind,
            quantity,
            average,
            mid2,
            reference2,
            legs: from..batch.legs.len(),
        })
    }

    fn parent_end(&self, rest: &mut Rest<'_>) -> Option<ParentEnd> {
        let parent = self.parent(rest.u32()?)?;
        let pair = pair(self.labels, rest)?;
        let (reason, filled) = (optional_word(rest)?, rest.i64()?);
        Some(ParentEnd {
            parent,
            pair,
            reason,
            filled,
            average: in_ticks(self.labels, pair, rest)?,
            out: rest.i64()?,
        })
    }

    fn order_line(&self, rest: &mut Rest<'_>) -> Option<OrderLine> {
        let number = optional(rest.u32()?, NO_U32);
        let (bank, what) = (bank(self.labels, rest)?, rest.word()?);
        let state: Option<OrderState> = optional_word(rest)?;
        let code: Option<RejectCode> = optional_word(rest)?;
        let (cum, leaves) = (rest.i64()?, rest.i64()?);
        let named = rest.optional_id()?;
        let id = match number {
            Some(number) => Some(self.names.order_of_run(self.labels, number)?.1.id),
            None => named,
        };
        Some(OrderLine {
            id,
            number,
            bank,
            what,
            status: state.map(|state| OrderStatus { state, cum, leaves }),
            code,
            message: None,
        })
    }

    fn message(&self, number: Option<u32>, rest: &mut Rest<'_>) -> Option<Message> {
        let order = || -> Option<Asked> {
            let terms = self.names.order(self.labels, number?)?;
            Some(Asked::from(&terms))
        };
        Some(match rest.text()? {
            "F" => Message::Cancel {
                at_ns: rest.u64()?,
                id: rest.id()?,
                order: order()?,
            },
            "H" => Message::Status {
                request: rest.u64()?,
                order: order()?,
            },
            "AF" => Message::MassStatus {
                request: rest.u64()?,
            },
            "Q" => Message::DontKnow(Box::new(DontKnow {
                reason: char::from(rest.u8()?),
                exec_id: rest.optional_id()?,
                last_px: rest.optional_id()?,
                last_qty: rest.optional_id()?,
                order_id: rest.optional_id()?,
                order_qty: rest.optional_id()?,
                side: rest.optional_id()?,
                symbol: rest.optional_id()?,
            })),
            _ => return None,
        })
    }

    fn fill(&self, rest: &mut Rest<'_>) -> Option<FillLine> {
        let order = optional(rest.u32()?, NO_U32);
        let (bank, pair) = (optional_bank(self.labels, rest)?, pair(self.labels, rest)?);
        let terms = match order {
            Some(number) => Some((number, self.names.order_of_run(self.labels, number)?.1)),
            None => None,
        };
        let parent = match &terms {
            Some((_, terms)) => Some(self.parent(terms.parent as u32)?.id),
            None => None,
        };
        Some(FillLine {
            order: terms.map(|(number, terms)| Numbered {
                number,
                id: terms.id,
            }),
            parent,
            bank,
            pair,
            kind: rest.word()?,
            side: rest.word()?,
            is_late: rest.flag()?,
            quantity: rest.i64()?,
            price: Price(rest.i64()?),
            improve: optional(rest.i64()?, NO_I64),
            hold_ns: optional(rest.u64()?, NO_U64),
            exec_id: rest.id()?,
            settl_date: rest.optional_id()?,
            currency: rest.optional_id()?,
            part_of: rest.optional_id()?,
        })
    }
}

fn new_order(number: u32, terms: Terms) -> OrderLine {
    OrderLine {
        id: Some(terms.id),
        number: Some(number),
        bank: terms.bank,
        what: OrderEvent::Sent,
        status: Some(OrderStatus {
            state: OrderState::Sent,
            cum: 0,
            leaves: terms.quantity,
        }),
        code: None,
        message: Some(Message::Order(terms)),
    }
}

fn score(rest: &mut Rest<'_>) -> Option<Score> {
    let mut score = Score {
        up_ns: rest.u64()?,
        quotes: rest.u64()?,
        best_ns: [rest.u64()?, rest.u64()?],
        spread_ns: rest.u64()?,
        spread_sum: rest.i128()?,
        orders: rest.u64()?,
        sent: rest.i64()?,
        fills: rest.u64()?,
        filled: rest.i64()?,
        ..Score::default()
    };
    for count in &mut score.rejects {
        *count = rest.u64()?;
    }
    score.unknown = rest.u64()?;
    let mut hold_ns = || Some(optional(rest.u64()?, NO_U64));
    score.holds = Holds {
        p50_ns: hold_ns()?,
        p90_ns: hold_ns()?,
        max_ns: hold_ns()?,
    };
    (score.improved, score.equal) = (rest.u64()?, rest.u64()?);
    score.improve_ticks = rest.i64()?;
    let means = [&mut score.moved_filled, &mut score.moved_rejected];
    for mean in means.into_iter().chain(&mut score.markouts) {
        *mean = Mean {
            count: rest.u64()?,
            sum2: rest.i128()?,
        };
    }
    score.penalty = rest.i64()?;
    Some(score)
}
