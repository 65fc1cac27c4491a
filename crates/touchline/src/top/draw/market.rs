//! The list of instruments, and details and ladder of the selected one.

use super::style::{BAD, BOLD, CARE, DIM, GOOD, REVERSED};
use super::table::{Column, Table};
use crate::format::{ago, count};
use crate::top::model::{InstrumentRow, Ladder, Picture, Quoted, Sort};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use touchline_client::State as BookState;

/// Rows of the list.
pub fn list_height(picture: &Picture) -> u16 {
    u16::try_from(picture.list.rows.len())
        .unwrap_or(u16::MAX)
        .saturating_add(2)
}

/// Draws the list, scrolled to the selected instrument.
pub fn draw_list(frame: &mut Frame<'_>, area: Rect, picture: &Picture) {
    let list = &picture.list;
    let [title, body] = head_and_body(area);
    if list.rows.is_empty() {
        frame.render_widget(list_title(picture, area.width, false), title);
        let why = match (list.total, list.filter.is_empty()) {
            (0, _) => " no instrument yet",
            (_, true) => " no instrument",
            (_, false) => " no symbol contains this text; Esc shows all",
        };
        frame.render_widget(Line::styled(why, DIM), body);
        return;
    }
    let table = list_table(picture);
    let room = usize::from(body.height.saturating_sub(1));
    // The selected row is in the middle if the list extends on both sides.
    let middle = list.chosen.unwrap_or(0).saturating_sub(room / 2);
    let first = middle.min(list.rows.len().saturating_sub(room));
    let last = (first + room).min(list.rows.len());
    let lines = table.part(body.width, first..last);
    // A narrow screen leaves quantities out.
    let has_quantities = lines
        .first()
        .is_some_and(|head| head.to_string().contains(QUANTITY));
    frame.render_widget(list_title(picture, area.width, has_quantities), title);
    frame.render_widget(Paragraph::new(lines), body);
}

/// Head of a column of quantities.
const QUANTITY: &str = "qty";

fn list_table(picture: &Picture) -> Table {
    let list = &picture.list;
    let mut table = Table::new(list_columns(list.sort, list.is_reversed));
    for (place, row) in list.rows.iter().enumerate() {
        let is_chosen = list.chosen == Some(place);
        let style = if is_chosen { REVERSED } else { Style::new() };
        table.push(style, cells(row, is_chosen));
    }
    table
}

fn head_and_body(area: Rect) -> [Rect; 2] {
    let head = Rect {
        height: area.height.min(1),
        ..area
    };
    let body = Rect {
        y: area.y + head.height,
        height: area.height - head.height,
        ..area
    };
    [head, body]
}

fn list_title(picture: &Picture, width: u16, has_quantities: bool) -> Line<'static> {
    let list = &picture.list;
    let mut parts = Parts::new(width);
    let shown = list.rows.len();
    let number = match shown == list.total {
        true => counted(shown, "instrument"),
        false => format!(
            "{} of {}",
            count(shown as u64),
            counted(list.total, "instrument")
        ),
    };
    parts.add(number, BOLD);
    if !list.filter.is_empty() {
        parts.add(format!("with \"{}\"", list.filter), CARE);
    }
    if let Some(place) = list.chosen.filter(|_| shown > 1) {
        parts.add(format!("row {}", count(place as u64 + 1)), DIM);
    }
    let mut touches = list.rows.iter().flat_map(|row| [&row.bid, &row.ask]);
    let is_marked = |quoted: &Option<Quoted>| {
        let quoted = quoted.as_ref();
        quoted.is_some_and(|quoted| quoted.quantity.ends_with('i'))
    };
    if has_quantities && touches.any(is_marked) {
        parts.add("i: implied, +i: direct and implied".to_owned(), DIM);
    }
    parts.line()
}

fn counted(number: usize, noun: &str) -> String {
    crate::format::counted(number as u64, noun)
}

/// Columns; the head of one marks the sort order.
fn list_columns(sort: Sort, is_reversed: bool) -> Vec<Column> {
    let mark = if is_reversed { '^' } else { 'v' };
    let head = |name: &str, of: Option<Sort>| match of == Some(sort) {
        true => format!("{name} {mark}"),
        false => name.to_owned(),
    };
    vec![
        Column::left(format!("  {}", head("symbol", Some(Sort::Symbol))), 0),
        Column::left(head("state", Some(Sort::State)), 3),
        Column::right(QUANTITY, 6).at_least(5),
        Column::right("bid", 1).at_least(8),
        Column::right("ask", 1).at_least(8),
        Column::right(QUANTITY, 6).at_least(5),
        Column::right("last", 2).at_least(8),
        Column::right(QUANTITY, 7).at_least(5),
        Column::right(head("updates/s", Some(Sort::Updates)), 4).at_least(9),
        Column::right(head("age", Some(Sort::Age)), RANK_OF_AGE).at_least(6),
    ]
}

fn cells(row: &InstrumentRow, is_chosen: bool) -> Vec<Span<'static>> {
    let name = format!("{} {}", if is_chosen { '>' } else { ' ' }, row.symbol);
    let (state, style) = match row.state {
        None => ("no book", DIM),
        Some(state) => (state.name(), state_style(state)),
    };
    let price = |quoted: &Option<Quoted>| {
        quoted
            .as_ref()
            .map_or("-".to_owned(), |quoted| quoted.price.clone())
    };
    let quantity = |quoted: &Option<Quoted>| {
        quoted
            .as_ref()
            .map_or(String::new(), |quoted| quoted.quantity.clone())
    };
    let age = row.age.map_or("-".to_owned(), ago);
    let is_live = row.state == Some(BookState::Live);
    // The selected row has one style.
    let of = |style: Style| match () {
        () if is_chosen => Style::new(),
        () if is_live => style,
        () => DIM,
    };
    let style = if is_chosen { Style::new() } else { style };
    vec![
        Span::raw(name),
        Span::styled(state, style),
        Span::styled(quantity(&row.bid), of(GOOD)),
        Span::styled(price(&row.bid), of(GOOD)),
        Span::styled(price(&row.ask), of(BAD)),
        Span::styled(quantity(&row.ask), of(BAD)),
        Span::raw(price(&row.last)),
        Span::raw(quantity(&row.last)),
        Span::raw(count(row.per_second.round() as u64)),
        Span::raw(age),
    ]
}

/// Style of a state.
pub fn state_style(state: BookState) -> Style {
    match state {
        BookState::Live | BookState::NaturalRefresh => GOOD,
        BookState::Closed => DIM,
        BookState::Recovering | BookState::Gapped | BookState::Stale => CARE,
    }
}

/// Width of the ladder beside the list: all columns, or prices and quantities only if the list needs the room.
pub fn ladder_width(picture: &Picture, width: u16) -> u16 {
    let table = ladder_table(picture.ladder.as_ref().unwrap_or(&Ladder::default()));
    let left = width.saturating_sub(list_table(picture).width_up_to(RANK_OF_AGE) + 2);
    left.clamp(table.width_up_to(RANK_OF_QUANTITY), table.width(u16::MAX))
}

const RANK_OF_QUANTITY: u8 = 2;
const RANK_OF_AGE: u8 = 5;

/// Draws the selected instrument: heading, details if there is room, ladder.
pub fn draw_ladder(frame: &mut Frame<'_>, area: Rect, picture: &Picture) {
    let Some(ladder) = &picture.ladder else {
        return;
    };
    let mut lines = vec![ladder_heading(ladder, area.width)];
    if let Some(why) = &ladder.why_none {
        let wrap = ratatui::widgets::Wrap { trim: true };
        let text = vec![lines.remove(0), Line::styled(format!(" {why}"), DIM)];
        frame.render_widget(Paragraph::new(text).wrap(wrap), area);
        return;
    }
    let levels = ladder.levels.len();
    // Details leave room for the best five levels.
    let room = usize::from(area.height).saturating_sub(2 + levels.min(5));
    lines.extend(detail_lines(ladder, area.width).into_iter().take(room));
    let left = usize::from(area.height).saturating_sub(lines.len() + 1);
    let shown = match levels > left {
        true => left.saturating_sub(1),
        false => levels,
    };
    lines.extend(ladder_table(ladder).part(area.width, 0..shown));
    if levels > shown {
        lines.push(Line::styled(
            format!(" {} more rows", count((levels - shown) as u64)),
            DIM,
        ));
    }
    frame.render_widget(Paragraph::new(lines), area);
}

fn ladder_heading(ladder: &Ladder, width: u16) -> Line<'static> {
    let mut parts = Parts::new(width);
    parts.add(ladder.symbol.clone(), BOLD);
    match ladder.state {
        None => {}
        Some(BookState::Live) => parts.add("live".to_owned(), GOOD),
        Some(state) => parts.add(
            format!("{}: do not trade on it", state.name()),
            CARE.patch(BOLD),
        ),
    }
    if let Some(word) = ladder.spread {
        parts.add(word.to_owned(), BAD.patch(BOLD));
    }
    parts.line()
}

/// Details as name and value, filled into lines.
fn detail_lines(ladder: &Ladder, width: u16) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    let mut parts = Parts::new(width);
    for (name, value) in &ladder.details {
        let text = format!("{name} {value}");
        if !parts.has_room(&text) {
            lines.push(std::mem::replace(&mut parts, Parts::new(width)).line());
        }
        parts.add(text, DIM);
    }
    if !parts.is_empty() {
        lines.push(parts.line());
    }
    lines
}

/// Bids left, asks right, best first. A book that is not live is dim.
fn ladder_table(ladder: &Ladder) -> Table {
    let has_implied = ladder
        .levels
        .iter()
        .flatten()
        .any(|level| !level.implied.is_empty());
    // The implied columns are left out if there are no implied quantities.
    let implied = if has_implied { 3 } else { 9 };
    let mut table = Table::new(vec![
        Column::right("orders", 4).at_least(6),
        Column::right(if has_implied { "implied" } else { "" }, implied),
        Column::right("qty", RANK_OF_QUANTITY).at_least(6),
        Column::right("bid", 0).at_least(9),
        Column::left("ask", 0).at_least(9),
        Column::right("qty", RANK_OF_QUANTITY).at_least(6),
        Column::right(if has_implied { "implied" } else { "" }, implied),
        Column::right("orders", 4).at_least(6),
    ]);
    let is_live = ladder.state == Some(BookState::Live);
    for [bid, ask] in &ladder.levels {
        let (good, bad) = if is_live { (GOOD, BAD) } else { (DIM, DIM) };
        let of_bid = [&bid.orders, &bid.implied, &bid.quantity, &bid.price];
        let of_ask = [&ask.price, &ask.quantity, &ask.implied, &ask.orders];
        let bids = of_bid.map(|text| Span::styled(text.clone(), good));
        let asks = of_ask.map(|text| Span::styled(text.clone(), bad));
        table.push(Style::new(), bids.into_iter().chain(asks).collect());
    }
    table
}

/// A line of parts; a part that does not fit is left out completely.
pub struct Parts {
    line: Line<'static>,
    room: usize,
}

impl Parts {
    /// An empty line.
    pub fn new(width: u16) -> Parts {
        Parts {
            line: Line::default(),
            room: usize::from(width),
        }
    }

    /// Adds a part if it fits.
    pub fn add(&mut self, text: String, style: Style) {
        if !self.has_room(&text) {
            return;
        }
        let gap = self.gap();
        self.room -= gap + Span::raw(text.as_str()).width();
        self.line.push_span(" ".repeat(gap));
        self.line.push_span(Span::styled(text, style));
    }

    /// Whether a part fits.
    pub fn has_room(&self, text: &str) -> bool {
        self.gap() + Span::raw(text).width() <= self.room
    }

    /// Whether the line is empty.
    pub fn is_empty(&self) -> bool {
        self.line.spans.is_empty()
    }

    /// The line.
    pub fn line(self) -> Line<'static> {
        self.line
    }

    fn gap(&self) -> usize {
        if self.is_empty() { 1 } else { 2 }
    }
}
