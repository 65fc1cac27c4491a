//! A trading engine: its state and the reason for it, open orders, banks, flow, events, latency, rejects by code.

use super::market::Parts;
use super::parts::{bad_style, count_rows, latency_rows, rate_rows};
use super::style::{BAD, BOLD, CARE, DIM, GOOD};
use super::table::{Column, Table};
use super::{Around, Page, TWO_COLUMNS, WIDE, below, rows_of, wrapped};
use crate::format::{age, bytes, count, counted, share, until};
use crate::top::model::{CopySource, Engine, EngineBank, EngineState, Picture, Standby};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

/// Bytes of the journal that are not on the disk, from which an operator should look at the disk; the alert has the
/// same number.
const LAG_BYTES_HIGH: u64 = 16 << 20;

/// Silence of the source of a copy after which an operator should look; the alert has the same number.
const SILENT_NS: u64 = 10_000_000_000;

/// Columns of events beside the flow.
const EVENTS_WIDTH: u16 = 36;

/// Tables that are drawn side by side, or one below the other on a narrow screen.
type Section = Vec<Vec<Line<'static>>>;

/// Draws an engine below the heading.
pub fn draw_engine(
    frame: &mut Frame<'_>,
    area: Rect,
    (picture, engine): (&Picture, &Engine),
    around: &Around,
) {
    let mut lines = explanation(&picture.bus, engine, area.width);
    match &engine.standby {
        Some(standby) => lines.extend(standby_lines(standby, engine, area.width)),
        None if engine.age.is_some() => lines.extend(open_lines(engine, area.width)),
        None => {}
    }
    let height = lines.len() as u16;
    frame.render_widget(Paragraph::new(lines), rows_of(area, height));
    if engine.standby.is_none() && engine.age.is_some() {
        let sections = sections(picture, engine, area.width, around);
        draw_sections(frame, below(area, height), sections);
    }
}

/// Style of a state.
pub fn engine_style(state: EngineState) -> Style {
    match state {
        EngineState::Trading | EngineState::Standby => GOOD,
        EngineState::Asking | EngineState::Held | EngineState::Closed => CARE,
        EngineState::Ended
        | EngineState::Died
        | EngineState::Stalled
        | EngineState::Unreadable
        | EngineState::JournalFailed
        | EngineState::Killed
        | EngineState::NoSession => BAD,
    }
}

/// Meaning of the state, and the operator's action.
fn explanation(bus: &str, engine: &Engine, width: u16) -> Vec<Line<'static>> {
    let old = engine.age.map_or(String::new(), |since| {
        age(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
    });
    let (up, all) = engine.sessions();
    // Without counters there is no more than the name.
    let is_standby = match engine.state {
        EngineState::Ended => bus.ends_with("-standby"),
        _ => engine.standby.is_some(),
    };
    let text = match engine.state {
        EngineState::Ended if is_standby => {
            "No standby runs; `touchline fx run --config FILE --standby` starts one.".to_owned()
        }
        EngineState::Ended => "No engine runs; `touchline fx run --config FILE` starts one.".to_owned(),
        EngineState::Died if is_standby => format!(
            "The standby died {old} ago; `touchline fx run --config FILE --standby` starts another."
        ),
        EngineState::Died => format!(
            "The engine died {old} ago; these are its last values. `touchline fx run` continues from the journal."
        ),
        EngineState::Stalled => format!(
            "Counters were written {old} ago: the process is stopped or hangs; these are its last values."
        ),
        EngineState::Unreadable => {
            format!("Its counters cannot be read; `touchline stat {bus}` has the reason.")
        }
        EngineState::JournalFailed => {
            "The journal cannot be written: no order is sent. Repair the disk, then start the engine again.".to_owned()
        }
        EngineState::Killed => {
            "No order is sent, every parent has ended. Two people: `touchline fx lift`.".to_owned()
        }
        EngineState::Asking => {
            "No order is sent before every bank has listed its orders: the journal may lack some.".to_owned()
        }
        EngineState::Held => "No order is sent before all quotes are read.".to_owned(),
        EngineState::NoSession => {
            "No order session is logged on; the log lines fx_alarm have the reasons.".to_owned()
        }
        EngineState::Closed => {
            let until = until(engine.closed_until_ns().unwrap_or(u64::MAX));
            format!("Order sessions are closed by their hours until {until}.")
        }
        EngineState::Trading if up < all => {
            format!("Orders are sent to {up} of {all} banks; the log lines fx_alarm have the reasons.")
        }
        EngineState::Trading => "Orders are sent to all banks.".to_owned(),
        EngineState::Standby => "Applies the engine's journal; sends nothing before `touchline fx promote`.".to_owned(),
    };
    let style = match engine.state {
        EngineState::Trading if up < all => CARE,
        state => engine_style(state),
    };
    let lines = wrapped(&text, width).into_iter();
    lines.map(|line| Line::styled(line, style)).collect()
}

/// Sessions, unknown outcomes and open orders; the journal and alarms.
fn open_lines(engine: &Engine, width: u16) -> [Line<'static>; 2] {
    let mut open = Parts::new(width);
    let (up, all) = engine.sessions();
    if engine.state.is_current() {
        let style = if up < all { BAD } else { GOOD };
        open.add(format!("sessions {up} of {all} up"), style);
    }
    let unknown = engine.orders_unknown;
    let style = if unknown > 0 { BAD.patch(BOLD) } else { DIM };
    open.add(format!("unknown {}", count(unknown)), style);
    let parents = counted(engine.parents_open, "parent");
    let orders = counted(engine.orders_open, "order");
    let style = match engine.parents_open + engine.orders_open {
        0 => DIM,
        _ => BOLD,
    };
    open.add(format!("open: {parents}, {orders}"), style);
    let mut journal = Parts::new(width);
    let behind = engine.journal_lag_bytes;
    let style = match behind {
        0 => DIM,
        1..=LAG_BYTES_HIGH => Style::new(),
        _ => BAD,
    };
    let text = format!(
        "journal {}, not on the disk {}",
        bytes(engine.journal_bytes),
        bytes(behind)
    );
    journal.add(text, style);
    let alarms = &engine.alarms;
    let style = bad_style(alarms.recent, alarms.total);
    journal.add(counted(alarms.total, "alarm"), style);
    [open.line(), journal.line()]
}

fn standby_lines(standby: &Standby, engine: &Engine, width: u16) -> Vec<Line<'static>> {
    let mut position = Parts::new(width);
    position.add(format!("journal {}", bytes(standby.position)), BOLD);
    if let Some(behind) = standby.lag_bytes {
        let style = if behind > LAG_BYTES_HIGH {
            BAD
        } else {
            Style::new()
        };
        position.add(format!("behind the engine {}", bytes(behind)), style);
    }
    position.add(format!("epoch {}", standby.epoch), DIM);
    position.add(format!("{} records applied", count(standby.records)), DIM);
    let mut orders = Parts::new(width);
    orders.add(format!("orders {}", count(standby.orders)), BOLD);
    let unknown = engine.orders_unknown;
    let style = if unknown > 0 { CARE } else { DIM };
    orders.add(format!("without outcome {}", count(unknown)), style);
    let mut other = Parts::new(width);
    other.add(format!("engine {}", standby.engine), BOLD);
    let state = standby.engine_state;
    other.add(state.name().to_owned(), engine_style(state).patch(BOLD));
    let mut lines = vec![position, orders];
    lines.extend(standby.source.map(|source| source_line(source, width)));
    lines.push(other);
    lines.into_iter().map(Parts::line).collect()
}

/// Lag of a copied journal behind its source as of the source's last status.
fn source_line(source: CopySource, width: u16) -> Parts {
    let mut line = Parts::new(width);
    line.add("copied journal".to_owned(), BOLD);
    if source.age_ns == 0 {
        line.add("its source was never heard".to_owned(), BAD);
        return line;
    }
    let missing = source.missing_bytes;
    let style = if missing > 0 { BAD.patch(BOLD) } else { GOOD };
    line.add(format!("missing {}", bytes(missing)), style);
    let style = if source.age_ns > SILENT_NS { BAD } else { DIM };
    line.add(format!("source heard {} ago", age(source.age_ns)), style);
    line
}

/// Tables, the most important first.
fn sections(picture: &Picture, engine: &Engine, width: u16, around: &Around) -> Vec<Section> {
    let (left, right) = match width {
        WIDE.. => (width / 2, width / 2 - 1),
        TWO_COLUMNS.. => (width - EVENTS_WIDTH - 1, EVENTS_WIDTH),
        _ => (width, width),
    };
    let flow = vec![
        rate_rows(picture, left, [10, 9]),
        count_rows("events", picture, right, [5, 8]),
    ];
    // Paths from a quote to an order are rare: the total comes first.
    let latency = latency_rows(picture, width, !around.totals);
    let (banks, rejects) = (&engine.banks, &engine.rejects);
    let banks_and_rejects = match width {
        WIDE.. => vec![vec![
            bank_rows(banks, engine.state, left),
            reject_rows(rejects, right),
        ]],
        _ => vec![
            vec![bank_rows(banks, engine.state, width)],
            vec![reject_rows(rejects, width)],
        ],
    };
    let mut banks_and_rejects = banks_and_rejects.into_iter();
    let first = banks_and_rejects.next().into_iter();
    let middle = [flow, vec![latency]].into_iter();
    match around.page {
        Page::Market => first.chain(middle).chain(banks_and_rejects).collect(),
        Page::Publisher => middle.chain(banks_and_rejects).chain(first).collect(),
    }
}

/// Draws what fits, with a blank row between if all fit with it; only the first table is shortened.
fn draw_sections(frame: &mut Frame<'_>, area: Rect, sections: Vec<Section>) {
    let mut sections: Vec<Section> = match area.width {
        TWO_COLUMNS.. => sections,
        _ => sections
            .into_iter()
            .flatten()
            .map(|one| vec![one])
            .collect(),
    };
    let height = |section: &Section| section.iter().map(Vec::len).max().unwrap_or(0) as u16;
    if let Some([first, ..]) = sections.first_mut().map(Vec::as_mut_slice) {
        shorten(first, area.height);
    }
    let (mut rows, mut fitting) = (0, 0);
    for section in &sections {
        let more = height(section);
        if rows + more <= area.height {
            (rows, fitting) = (rows + more, fitting + 1);
        }
    }
    // Blank rows are between the tables, and before the first one, if no table is left out for them.
    let gap = u16::from(fitting > 0 && rows + fitting - 1 <= area.height);
    let mut rest = below(area, u16::from(rows + fitting <= area.height));
    for section in sections {
        let rows = height(&section);
        if rows > rest.height {
            continue;
        }
        draw_section(frame, rows_of(rest, rows), section);
        rest = below(rest, rows + gap);
    }
}

fn draw_section(frame: &mut Frame<'_>, area: Rect, section: Section) {
    let areas: Vec<Rect> = match (section.len(), area.width) {
        (2, WIDE..) => Layout::horizontal([Constraint::Fill(1), Constraint::Fill(1)])
            .spacing(1)
            .split(area)
            .to_vec(),
        (2, _) => Layout::horizontal([Constraint::Fill(1), Constraint::Length(EVENTS_WIDTH)])
            .spacing(1)
            .split(area)
            .to_vec(),
        _ => vec![area],
    };
    for (lines, area) in section.into_iter().zip(areas) {
        frame.render_widget(Paragraph::new(lines), area);
    }
}

/// Leaves out rows without room, and writes their number.
fn shorten(lines: &mut Vec<Line<'static>>, height: u16) {
    let height = usize::from(height);
    if lines.len() > height && height > 1 {
        let hidden = lines.len() - (height - 1);
        lines.truncate(height - 1);
        lines.push(Line::styled(
            format!(" {} more rows", count(hidden as u64)),
            DIM,
        ));
    }
}

/// Banks, those without a session first.
fn bank_rows(banks: &[EngineBank], state: EngineState, width: u16) -> Vec<Line<'static>> {
    let mut table = Table::new(vec![
        Column::left("bank", 0),
        Column::left("session", 0),
        Column::right("orders", 1).at_least(8),
        Column::right("fills", 1).at_least(8),
        Column::right("rejects", 2).at_least(7),
        Column::right("share", 4).at_least(6),
        Column::right("unknown", 3),
    ]);
    for bank in banks {
        let (session, style) = match (bank.is_up, bank.closed_until_ns) {
            (Some(true), _) => ("up".to_owned(), GOOD),
            (Some(false), Some(until_ns)) => (format!("closed until {}", until(until_ns)), DIM),
            (Some(false), None) => ("down".to_owned(), BAD.patch(BOLD)),
            (None, _) => ("-".to_owned(), DIM),
        };
        let rest = if state.is_current() {
            Style::new()
        } else {
            DIM
        };
        let mut cells = vec![
            Span::styled(bank.name.clone(), rest),
            Span::styled(session, style),
        ];
        let numbers = [
            count(bank.orders),
            count(bank.fills),
            count(bank.rejects),
            share(bank.rejects, bank.orders),
            count(bank.unknown),
        ];
        cells.extend(numbers.map(|text| Span::styled(text, rest)));
        table.push(Style::new(), cells);
    }
    table.lines(width)
}

/// Rejects by code.
fn reject_rows(rejects: &[(&'static str, &'static str, u64)], width: u16) -> Vec<Line<'static>> {
    let mut table = Table::new(vec![
        Column::left("rejects, all runs", 0),
        Column::right("orders", 0).at_least(9),
        Column::left("meaning", 1),
    ]);
    for (code, meaning, orders) in rejects {
        let style = if *orders == 0 { DIM } else { Style::new() };
        let cells = [(*code).to_owned(), count(*orders), (*meaning).to_owned()];
        table.push(style, cells.map(Span::raw).to_vec());
    }
    table.lines(width)
}
