//! Snapshots (W) and increments (X).

use super::super::fields::{Raw, first, has_date, id, is_spot};
use super::{Apply, Draft, Key};
use touchline_fx_events::setup::Pair;
use touchline_fx_events::ticks::is_zero;
use touchline_types::{Id, Side};
use touchline_wire::fix::{Field, Malformed, Message, tag, unsigned, without_zeros};

/// Fields of an entry of the group, or fields of the whole message.
#[derive(Debug, Clone, Copy, Default)]
pub struct Fields<'a> {
    action: Raw<'a>,
    kind: Raw<'a>,
    id: Raw<'a>,
    symbol: Raw<'a>,
    price: Raw<'a>,
    size: Raw<'a>,
    quote_id: Raw<'a>,
    condition: Raw<'a>,
    quote_type: Raw<'a>,
    expires: Raw<'a>,
    minimum: Raw<'a>,
    settle_type: Raw<'a>,
    settle_date: Raw<'a>,
}

/// Fields before the group, and those behind it that hold for all entries.
type Whole<'f, 'a> = [&'f Fields<'a>; 2];

impl<'a> Fields<'a> {
    fn place(&mut self, tag: u32) -> Option<&mut Raw<'a>> {
        Some(match tag {
            tag::MD_UPDATE_ACTION => &mut self.action,
            tag::MD_ENTRY_TYPE => &mut self.kind,
            tag::MD_ENTRY_ID => &mut self.id,
            tag::SYMBOL => &mut self.symbol,
            tag::MD_ENTRY_PX => &mut self.price,
            tag::MD_ENTRY_SIZE => &mut self.size,
            tag::QUOTE_ENTRY_ID => &mut self.quote_id,
            tag::QUOTE_CONDITION => &mut self.condition,
            tag::MD_QUOTE_TYPE => &mut self.quote_type,
            tag::EXPIRE_TIME => &mut self.expires,
            tag::MIN_QTY => &mut self.minimum,
            tag::SETTL_TYPE => &mut self.settle_type,
            tag::SETTL_DATE => &mut self.settle_date,
            _ => return None,
        })
    }

    fn take(&mut self, tag: u32, value: &'a [u8]) {
        if let Some(place) = self.place(tag) {
            *place = Some(value);
        }
    }

    /// Adds the fields of another entry that FIX 4.4 does not have in entries.
    fn join(&mut self, other: &Fields<'a>) {
        self.quote_type = self.quote_type.or(other.quote_type);
        self.settle_type = self.settle_type.or(other.settle_type);
        self.settle_date = self.settle_date.or(other.settle_date);
    }

    /// The fields that FIX 4.4 does not have in entries, less those of `other`.
    fn of_message(&self, other: &Fields<'_>) -> Fields<'a> {
        let less = |own: Raw<'a>, other: Raw<'_>| own.filter(|_| other.is_none());
        Fields {
            quote_type: less(self.quote_type, other.quote_type),
            settle_type: less(self.settle_type, other.settle_type),
            settle_date: less(self.settle_date, other.settle_date),
            ..Fields::default()
        }
    }

    /// Side of a bid or an offer.
    fn side(&self) -> Option<Side> {
        match self.kind? {
            b"0" => Some(Side::Bid),
            b"1" => Some(Side::Ask),
            _ => None,
        }
    }

    fn is_indicative(&self) -> bool {
        let closed = |text: &[u8]| text.split(|byte| *byte == b' ').any(|word| word == b"B");
        self.condition.is_some_and(closed) || self.quote_type.map(without_zeros) == Some(b"0")
    }
}

impl Apply<'_> {
    /// W: replaces the entries of its MDReqID.
    pub(super) fn snapshot(&mut self, message: &Message<'_>, behind: &Fields<'_>) {
        let Some(pair) = self.quoted_pair(first(message, tag::SYMBOL)) else {
            return;
        };
        self.counters.quotes += 1;
        let Some(request) = id(first(message, tag::MD_REQ_ID)) else {
            self.counters.ids_refused += 1;
            return;
        };
        self.books[pair].begin_snapshot(&request);
        let mut number = 0;
        walk(message, |head, entry| {
            number += 1;
            self.snapshot_entry(pair, request, number, [head, behind], entry);
        });
        self.books[pair].end_snapshot();
    }

    fn snapshot_entry(
        &mut self,
        pair: Pair,
        request: Id,
        number: u32,
        whole: Whole<'_, '_>,
        entry: &Fields<'_>,
    ) {
        let Some(side) = entry.side() else {
            return;
        };
        let (Some(entry_id), Some(quote_id)) = (id(entry.id), id(entry.quote_id)) else {
            self.counters.ids_refused += 1;
            return;
        };
        let key = match (entry.id, entry.quote_id) {
            (Some(_), _) => Key::Entry(entry_id),
            (None, Some(_)) => Key::Level(side, quote_id),
            (None, None) => Key::Place(request, number),
        };
        let draft = self.draft(pair, side, request, whole, entry);
        self.set(pair, key, &draft);
    }

    /// X: sets or removes entries by their ids.
    pub(super) fn increment(&mut self, message: &Message<'_>, behind: &Fields<'_>) {
        self.counters.quotes += 1;
        let request = first(message, tag::MD_REQ_ID);
        let (mut symbol, mut is_empty) = (None, true);
        let head = walk(message, |head, entry| {
            is_empty = false;
            symbol = entry.symbol.or(symbol).or(head.symbol);
            if let Some(pair) = self.quoted_pair(symbol) {
                self.increment_entry(pair, request, [head, behind], entry);
            }
        });
        if is_empty && head.symbol.is_some() {
            self.quoted_pair(head.symbol);
        }
    }

    fn increment_entry(
        &mut self,
        pair: Pair,
        request: Raw<'_>,
        whole: Whole<'_, '_>,
        entry: &Fields<'_>,
    ) {
        let Some(entry_id) = entry.id else {
            self.counters.entries_unknown += 1;
            return;
        };
        let (Some(entry_id), Some(request_id)) = (Id::new(entry_id), id(request)) else {
            self.counters.ids_refused += 1;
            return;
        };
        let key = Key::Entry(entry_id);
        let known = self.books[pair].known(&key);
        let is_of_other_date = known.is_some_and(|known| known.is_of_other_date);
        let known = known.map(|known| known.entry);
        match entry.action {
            Some(b"2") => self.books[pair].remove(&key),
            Some(b"0" | b"1") => {
                let is_whole =
                    entry.kind.is_some() && entry.price.is_some() && entry.size.is_some();
                let side = match entry.kind {
                    Some(_) => entry.side(),
                    None => known.map(|known| known.side),
                };
                let Some(side) = side.filter(|_| is_whole || known.is_some()) else {
                    self.counters.entries_unknown += 1;
                    return;
                };
                let request = match (request, &known) {
                    (None, Some(known)) => known.request,
                    _ => request_id,
                };
                let draft = self.draft(pair, side, request, whole, entry);
                // A value date that is left out is that of before, too.
                let is_spot = draft.is_spot && (is_whole || draft.is_dated || !is_of_other_date);
                let draft = Draft {
                    known,
                    is_spot,
                    ..draft
                };
                self.set(pair, key, &draft);
            }
            _ => self.counters.entries_unknown += 1,
        }
    }

    fn draft<'a>(
        &self,
        pair: Pair,
        side: Side,
        request: Id,
        [head, behind]: Whole<'_, 'a>,
        entry: &Fields<'a>,
    ) -> Draft<'a> {
        let spot_date = &self.setup.pairs[pair].config.spot_date;
        let all = [entry, behind, head];
        let is_spot =
            |fields: &&Fields<'_>| is_spot(fields.settle_type, fields.settle_date, spot_date);
        Draft {
            side,
            price: entry.price,
            size: entry.size,
            minimum: entry.minimum.or(head.minimum),
            expires: entry.expires.or(head.expires),
            is_firm: !all.iter().any(|fields| fields.is_indicative()),
            quote_id: entry.quote_id,
            request,
            // mutant: fx: the value date behind the entries is that of the last one alone
            is_spot: all.iter().all(is_spot),
            // A date behind the entries may be that of the last one: it excludes the others, and is not theirs.
            // mutant: fx: the date of the last entry is that of each
            is_dated: has_date(entry.settle_date) || has_date(head.settle_date),
            known: None,
        }
    }
}

/// Reads a message to its end, before anything of it is applied. Returns the fields of the message that are behind the entries: of those
/// that FIX 4.4 does not have in entries, the ones that of several entries only the last one seems to have.
///
/// # Errors
/// A field that is twice in an entry or before the entries, a field of entries outside of them, or more or fewer entries than NoMDEntries
/// (268) states.
pub fn behind_entries<'a>(message: &Message<'a>) -> Result<Fields<'a>, Malformed> {
    let (mut left, mut delimiter) = (None, None);
    let (mut level, mut earlier) = (Fields::default(), Fields::default());
    for field in message.fields() {
        let Field { tag, value } = field?;
        if tag == tag::NO_MD_ENTRIES {
            if left.replace(unsigned(value)?).is_some() {
                return Err(Malformed::Repeated);
            }
            continue;
        }
        let begins = match delimiter {
            None => left > Some(0),
            Some(delimiter) => delimiter == tag,
        };
        if begins {
            if delimiter.replace(tag).is_some() {
                earlier.join(&level);
            }
            level = Fields::default();
            left = Some(
                left.and_then(|left| left.checked_sub(1))
                    .ok_or(Malformed::Group)?,
            );
        }
        if delimiter.is_none() && is_of_entries(tag) {
            return Err(Malformed::Group);
        }
        let place = level.place(tag);
        if place.is_some_and(|place| place.replace(value).is_some()) {
            return Err(Malformed::Repeated);
        }
    }
    match left {
        Some(0) => Ok(level.of_message(&earlier)),
        _ => Err(Malformed::Group),
    }
}

/// Whether entries alone have a field.
fn is_of_entries(tag: u32) -> bool {
    matches!(
        tag,
        tag::MD_UPDATE_ACTION
            | tag::MD_ENTRY_TYPE
            | tag::MD_ENTRY_ID
            | tag::MD_ENTRY_PX
            | tag::MD_ENTRY_SIZE
    )
}

/// Calls `each` with the fields outside the group and those of each entry. The field after NoMDEntries (268) starts each
/// entry; after `268=0` there is no entry. Returns the fields outside the group.
fn walk<'a>(message: &Message<'a>, mut each: impl FnMut(&Fields<'a>, &Fields<'a>)) -> Fields<'a> {
    let (mut head, mut entry) = (Fields::default(), None);
    let (mut counted, mut delimiter) = (false, None);
    for field in message.fields().filter_map(Result::ok) {
        match delimiter {
            None if counted => delimiter = Some(field.tag),
            None => {
                counted = field.tag == tag::NO_MD_ENTRIES && !is_zero(field.value);
                head.take(field.tag, field.value);
                continue;
            }
            Some(_) => {}
        }
        if delimiter == Some(field.tag)
            && let Some(entry) = entry.replace(Fields::default())
        {
            each(&head, &entry);
        }
        let entry = entry.get_or_insert_default();
        entry.take(field.tag, field.value);
    }
    if let Some(entry) = entry {
        each(&head, &entry);
    }
    head
}
