//! Tables with separated columns and uncut words: columns that do not fit are left out, least important first.

use super::style::{BOLD, DIM};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use std::ops::Range;

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    head: String,
    is_right: bool,
    /// Columns with a high rank are left out first; rank 0 always stays.
    rank: u8,
    /// Minimum width, so that the column does not move between frames.
    width_min: usize,
}

/// A row: style of the row, and cells with their own styles.
pub type Row = (Style, Vec<Span<'static>>);

/// Columns and rows. A row has at most one cell for each column.
#[derive(Clone, Debug, Default)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Row>,
}

/// Blanks before the first column and between columns.
const GAP: usize = 2;
const INDENT: usize = 1;

impl Column {
    /// A left-aligned column, for names.
    pub fn left(head: impl Into<String>, rank: u8) -> Column {
        Column {
            head: head.into(),
            is_right: false,
            rank,
            width_min: 0,
        }
    }

    /// A right-aligned column, for numbers.
    pub fn right(head: impl Into<String>, rank: u8) -> Column {
        Column {
            is_right: true,
            ..Column::left(head, rank)
        }
    }

    /// Sets the minimum width.
    pub fn at_least(self, width_min: usize) -> Column {
        Column { width_min, ..self }
    }
}

impl Table {
    /// A table without rows.
    pub fn new(columns: Vec<Column>) -> Table {
        Table {
            columns,
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn push(&mut self, style: Style, cells: Vec<Span<'static>>) {
        self.rows.push((style, cells));
    }

    /// Header and all rows.
    pub fn lines(&self, width: u16) -> Vec<Line<'static>> {
        self.part(width, 0..self.rows.len())
    }

    /// Header and some of the rows; column widths are those of all rows.
    pub fn part(&self, width: u16, rows: Range<usize>) -> Vec<Line<'static>> {
        let widths = self.widths();
        let shown = self.shown(&widths, usize::from(width));
        let mut lines = Vec::with_capacity(rows.len() + 1);
        let head: Vec<_> = self
            .columns
            .iter()
            .map(|column| Span::raw(column.head.clone()))
            .collect();
        lines.push(self.line(&head, &widths, &shown).style(DIM.patch(BOLD)));
        for (style, cells) in self.rows.get(rows).unwrap_or_default() {
            lines.push(self.line(cells, &widths, &shown).style(*style));
        }
        lines
    }

    /// Width of the table in an area of this width.
    pub fn width(&self, width: u16) -> u16 {
        let widths = self.widths();
        let shown = self.shown(&widths, usize::from(width));
        total(&widths, &shown) as u16
    }

    /// Width of the columns up to a rank.
    pub fn width_up_to(&self, rank: u8) -> u16 {
        let shown = (0..self.columns.len()).filter(|number| self.columns[*number].rank <= rank);
        total(&self.widths(), &shown.collect::<Vec<_>>()) as u16
    }

    fn widths(&self) -> Vec<usize> {
        let width_of = |(number, column): (usize, &Column)| {
            let cells = self.rows.iter().filter_map(|(_, cells)| cells.get(number));
            let widest = cells.map(Span::width).max().unwrap_or(0);
            widest
                .max(Span::raw(column.head.as_str()).width())
                .max(column.width_min)
        };
        self.columns.iter().enumerate().map(width_of).collect()
    }

    /// Indexes of the columns that fit. Columns of one rank are shown or left out together.
    fn shown(&self, widths: &[usize], room: usize) -> Vec<usize> {
        let mut shown: Vec<usize> = (0..self.columns.len()).collect();
        while total(widths, &shown) > room {
            let ranks = shown.iter().map(|number| self.columns[*number].rank);
            let Some(last) = ranks.max().filter(|rank| *rank > 0) else {
                break;
            };
            shown.retain(|number| self.columns[*number].rank < last);
        }
        shown
    }

    fn line(&self, cells: &[Span<'static>], widths: &[usize], shown: &[usize]) -> Line<'static> {
        let mut line = Line::from(" ".repeat(INDENT));
        let mut owed = 0;
        for number in shown {
            let Some(cell) = cells.get(*number) else {
                break;
            };
            let blanks = widths[*number].saturating_sub(cell.width());
            let (before, after) = match self.columns[*number].is_right {
                true => (blanks, 0),
                false => (0, blanks),
            };
            line.push_span(" ".repeat(owed + before));
            line.push_span(cell.clone());
            owed = after + GAP;
        }
        line
    }
}

fn total(widths: &[usize], shown: &[usize]) -> usize {
    let gaps = GAP * shown.len().saturating_sub(1);
    INDENT + gaps + shown.iter().map(|number| widths[*number]).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(table: &Table, width: u16) -> Vec<String> {
        let line = |line: &Line<'_>| {
            line.spans
                .iter()
                .map(|span| span.content.as_ref())
                .collect()
        };
        table.lines(width).iter().map(line).collect()
    }

    #[test]
    fn columns_without_room_are_left_out_by_rank_and_no_cell_is_cut() {
        let columns = vec![
            Column::left("name", 0),
            Column::right("lag", 2),
            Column::right("lost", 1),
        ];
        let mut table = Table::new(columns);
        for cells in [["recorder", "4.0 KiB", "1,234,567"], ["x", "0", "0"]] {
            table.push(Style::new(), cells.map(Span::raw).to_vec());
        }
        let all = [
            " name          lag       lost",
            " recorder  4.0 KiB  1,234,567",
            " x               0          0",
        ];
        assert_eq!(text(&table, 29), all);
        assert_eq!(table.width(80), 29);
        let two = [
            " name           lost",
            " recorder  1,234,567",
            " x                 0",
        ];
        assert_eq!(text(&table, 28), two);
        assert_eq!(text(&table, 20), two);
        assert_eq!(text(&table, 19)[1], " recorder");
    }

    #[test]
    fn a_part_of_a_table_has_the_column_widths_of_all_rows() {
        let mut table = Table::new(vec![
            Column::left("name", 0),
            Column::right("rate", 1).at_least(6),
        ]);
        for (name, rate) in [("a", "1"), ("longer", "22")] {
            table.push(Style::new(), vec![Span::raw(name), Span::raw(rate)]);
        }
        let first = table.part(80, 0..1);
        let words: String = first[1]
            .spans
            .iter()
            .map(|span| span.content.as_ref())
            .collect();
        assert_eq!((first.len(), words.as_str()), (2, " a            1"));
    }
}
