//! List of instruments: filter, order and selection.

use std::cmp::Ordering;
use std::time::Duration;
use touchline_client::State as BookState;

/// Price and quantity as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quoted {
    /// Price as traders quote it.
    pub price: String,
    /// Quantity.
    pub quantity: String,
}

/// Row of the list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InstrumentRow {
    /// Id of the instrument on this bus; stays the same when the publisher restarts.
    pub id: usize,
    /// Symbol, or the security id of an instrument without one.
    pub symbol: String,
    /// Security id.
    pub security_id: i64,
    /// Validity of its book; `None` without a book.
    pub state: Option<BookState>,
    /// Best bid.
    pub bid: Option<Quoted>,
    /// Best ask.
    pub ask: Option<Quoted>,
    /// Last trade.
    pub last: Option<Quoted>,
    /// Changes of its book and trades per second, over the last interval.
    pub per_second: f64,
    /// Time since its last change; `None` before the first.
    pub age: Option<Duration>,
}

/// Sort order of the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sort {
    /// By symbol, ascending.
    #[default]
    Symbol,
    /// By state, worst first.
    State,
    /// By updates per second, highest first.
    Updates,
    /// By time since the last change, shortest first.
    Age,
}

/// All instruments, with the user's filter, order and selection.
#[derive(Debug, Default)]
pub struct List {
    /// All instruments, unordered.
    all: Vec<InstrumentRow>,
    shown: ShownList,
    /// Id of the selected instrument.
    chosen: Option<usize>,
    /// Selection by name that matches no instrument so far.
    awaited: Option<String>,
}

/// The filtered and sorted list.
#[derive(Clone, Debug, Default)]
pub struct ShownList {
    /// The rows.
    pub rows: Vec<InstrumentRow>,
    /// Index of the selected row.
    pub chosen: Option<usize>,
    /// Number of instruments, those left out included.
    pub total: usize,
    /// Sort order.
    pub sort: Sort,
    /// Whether the order is reversed.
    pub is_reversed: bool,
    /// Text that the shown symbols contain; empty for all.
    pub filter: String,
}

impl Sort {
    /// All orders, in the sequence of the sort key.
    pub const ALL: [Sort; 4] = [Sort::Symbol, Sort::State, Sort::Updates, Sort::Age];

    fn next(self) -> Sort {
        let place = Sort::ALL.iter().position(|sort| *sort == self);
        Sort::ALL[place.map_or(0, |place| place + 1) % Sort::ALL.len()]
    }

    fn compare(self, one: &InstrumentRow, other: &InstrumentRow) -> Ordering {
        let age = |row: &InstrumentRow| row.age.unwrap_or(Duration::MAX);
        match self {
            Sort::Symbol => Ordering::Equal,
            Sort::State => badness(other.state).cmp(&badness(one.state)),
            Sort::Updates => other.per_second.total_cmp(&one.per_second),
            Sort::Age => age(one).cmp(&age(other)),
        }
    }
}

/// Rank of a state: not live before live.
fn badness(state: Option<BookState>) -> u8 {
    match state {
        Some(BookState::Live) => 0,
        Some(BookState::Closed) => 1,
        None => 2,
        Some(BookState::NaturalRefresh) => 3,
        Some(BookState::Stale) => 4,
        Some(BookState::Gapped) => 5,
        Some(BookState::Recovering) => 6,
    }
}

impl List {
    /// Replaces the instruments.
    pub fn set(&mut self, rows: Vec<InstrumentRow>) {
        self.all = rows;
        if let Some(wanted) = self.awaited.take() {
            self.choose(&wanted);
        }
        if self.chosen.is_none() && self.awaited.is_none() {
            self.chosen = self.busiest();
        }
        self.arrange();
    }

    /// The filtered and sorted list.
    pub fn shown(&self) -> &ShownList {
        &self.shown
    }

    /// Id of the selected instrument.
    pub fn chosen(&self) -> Option<usize> {
        self.chosen
    }

    /// The unmatched selection by name.
    pub fn awaited(&self) -> Option<&str> {
        self.awaited.as_deref()
    }

    /// Selects by symbol or security id, else the first symbol that contains the text. `false` if there is none: the
    /// text is kept until an instrument matches, unless another one was selected before.
    pub fn choose(&mut self, wanted: &str) -> bool {
        let upper = wanted.to_uppercase();
        let is_it = |row: &&InstrumentRow| {
            row.symbol.to_uppercase() == upper || row.security_id.to_string() == wanted
        };
        let mut with_it: Vec<&InstrumentRow> =
            self.all.iter().filter(|row| has(row, &upper)).collect();
        with_it.sort_by(|one, other| one.symbol.cmp(&other.symbol));
        let found = self.all.iter().find(is_it).or(with_it.first().copied());
        let found = found.map(|row| row.id);
        match found {
            Some(id) => self.chosen = Some(id),
            None if self.chosen.is_none() => self.awaited = Some(wanted.to_owned()),
            None => {}
        }
        self.arrange();
        found.is_some()
    }

    /// Moves the selection by `by` rows.
    pub fn step(&mut self, by: isize) {
        let Some(last) = self.shown.rows.len().checked_sub(1) else {
            return;
        };
        let place = match self.shown.chosen {
            Some(place) => place.saturating_add_signed(by).min(last),
            None => 0,
        };
        self.chosen = Some(self.shown.rows[place].id);
        self.awaited = None;
        self.shown.chosen = Some(place);
    }

    /// Sorts by the next column.
    pub fn sort_next(&mut self) {
        self.shown.sort = self.shown.sort.next();
        self.arrange();
    }

    /// Reverses the order.
    pub fn reverse(&mut self) {
        self.shown.is_reversed = !self.shown.is_reversed;
        self.arrange();
    }

    /// Shows only instruments whose symbol contains the text; all if it is empty.
    pub fn filter(&mut self, text: &str) {
        text.clone_into(&mut self.shown.filter);
        self.arrange();
    }

    fn busiest(&self) -> Option<usize> {
        let by_symbol =
            |one: &&InstrumentRow, other: &&InstrumentRow| other.symbol.cmp(&one.symbol);
        let rows = self.all.iter();
        let busiest = rows.max_by(|one, other| {
            one.per_second
                .total_cmp(&other.per_second)
                .then(by_symbol(one, other))
        });
        busiest.map(|row| row.id)
    }

    fn arrange(&mut self) {
        let upper = self.shown.filter.to_uppercase();
        let (sort, is_reversed) = (self.shown.sort, self.shown.is_reversed);
        let mut rows: Vec<_> = self
            .all
            .iter()
            .filter(|row| has(row, &upper))
            .cloned()
            .collect();
        rows.sort_by(|one, other| {
            // Equal rows are sorted by symbol.
            let order = sort
                .compare(one, other)
                .then_with(|| one.symbol.cmp(&other.symbol));
            if is_reversed { order.reverse() } else { order }
        });
        self.shown.chosen = rows.iter().position(|row| Some(row.id) == self.chosen);
        self.shown.total = self.all.len();
        self.shown.rows = rows;
    }
}

fn has(row: &InstrumentRow, upper: &str) -> bool {
    row.symbol.to_uppercase().contains(upper)
        || (!upper.is_empty() && row.security_id.to_string() == upper)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: usize, symbol: &str, per_second: f64, state: BookState) -> InstrumentRow {
        InstrumentRow {
            id,
            symbol: symbol.to_owned(),
            security_id: 100 + id as i64,
            state: Some(state),
            per_second,
            age: (id != 2).then(|| Duration::from_millis(10 - id as u64)),
            ..InstrumentRow::default()
        }
    }

    fn list() -> List {
        let mut list = List::default();
        list.set(vec![
            row(0, "NQU4", 5.0, BookState::Live),
            row(1, "ESU4", 90.0, BookState::Live),
            row(2, "ESZ4", 0.0, BookState::Recovering),
            row(3, "ZNU4", 5.0, BookState::Gapped),
        ]);
        list
    }

    fn symbols(list: &List) -> Vec<&str> {
        list.shown()
            .rows
            .iter()
            .map(|row| row.symbol.as_str())
            .collect()
    }

    #[test]
    fn rows_are_sorted_by_a_column_and_then_by_symbol() {
        let mut list = list();
        let mut orders = vec![symbols(&list).join(" ")];
        for _ in 1..Sort::ALL.len() {
            list.sort_next();
            orders.push(symbols(&list).join(" "));
        }
        let expected = [
            "ESU4 ESZ4 NQU4 ZNU4",
            "ESZ4 ZNU4 ESU4 NQU4",
            "ESU4 NQU4 ZNU4 ESZ4",
            "ZNU4 ESU4 NQU4 ESZ4",
        ];
        assert_eq!(orders, expected);
        list.reverse();
        assert_eq!(symbols(&list).join(" "), "ESZ4 NQU4 ESU4 ZNU4");
        list.sort_next();
        assert_eq!(symbols(&list).join(" "), "ZNU4 NQU4 ESZ4 ESU4");
    }

    #[test]
    fn a_filter_removes_rows_and_keeps_the_selected_one() {
        let mut list = list();
        assert_eq!(list.chosen(), Some(1), "the busiest one");
        list.filter("z");
        assert_eq!(symbols(&list), ["ESZ4", "ZNU4"]);
        let shown = list.shown();
        assert_eq!(
            (shown.chosen, shown.total, list.chosen()),
            (None, 4, Some(1))
        );
        list.step(1);
        assert_eq!(list.chosen(), Some(2), "the first of those that are shown");
        list.filter("103");
        assert_eq!(symbols(&list), ["ZNU4"]);
        list.filter("nothing");
        list.step(1);
        assert_eq!((symbols(&list).len(), list.chosen()), (0, Some(2)));
        list.filter("");
        assert_eq!((symbols(&list).len(), list.shown().chosen), (4, Some(1)));
    }

    #[test]
    fn the_selection_stops_at_the_ends_and_survives_sorting() {
        let mut list = list();
        list.step(10);
        assert_eq!(list.chosen(), Some(3));
        list.sort_next();
        assert_eq!((list.chosen(), list.shown().chosen), (Some(3), Some(1)));
        list.step(-10);
        assert_eq!(list.chosen(), Some(2));
    }

    #[test]
    fn an_instrument_is_selected_by_symbol_id_or_part_also_before_it_is_defined() {
        let mut list = list();
        assert!(list.choose("esz") && list.chosen() == Some(2));
        assert!(list.choose("103") && list.chosen() == Some(3));
        assert!(!list.choose("GC") && list.chosen() == Some(3));

        let mut early = List::default();
        assert!(!early.choose("esz"));
        assert_eq!((early.chosen(), early.awaited()), (None, Some("esz")));
        early.set(list.all);
        assert_eq!((early.chosen(), early.awaited()), (Some(2), None));
    }
}
