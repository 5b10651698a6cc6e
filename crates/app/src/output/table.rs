//! Columns without lines, which people can read and `awk` can cut. On a terminal they fit into its width.

use comfy_table::{CellAlignment, Color, ContentArrangement, presets};

/// How a cell feels about what it says. Only colours depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Mood {
    #[default]
    Plain,
    Good,
    Busy,
    Bad,
}

/// No column of text gets narrower than this.
const COLUMN_CHARS_MIN: usize = 6;
/// What is between two columns.
const GAP_CHARS: usize = 2;
/// How much of an id tells it from others: its end is random, and its beginning is the time.
const SHORT_ID_CHARS: usize = 8;

#[derive(Debug, Clone, Default)]
pub struct Cell {
    text: String,
    mood: Mood,
    is_number: bool,
    /// What is shown where the whole text does not fit.
    short: Option<String>,
    /// How much of the text is shown where the whole one does not fit.
    chars_max: Option<usize>,
}

impl Cell {
    pub fn new(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), ..Cell::default() }
    }

    /// A dash where there is nothing.
    pub fn maybe(text: Option<impl Into<String>>) -> Cell {
        text.map_or_else(|| Cell::new("-"), Cell::new)
    }

    /// An id, of which commands also take the end.
    pub fn id(id: impl std::fmt::Display) -> Cell {
        let text = id.to_string();
        let start = text.char_indices().rev().nth(SHORT_ID_CHARS - 1).map_or(0, |(start, _)| start);
        Cell { short: Some(text[start..].to_owned()), ..Cell::new(text) }
    }

    pub fn number(number: impl std::fmt::Display + Copy) -> Cell {
        Cell { text: number.to_string(), is_number: true, ..Cell::default() }
    }

    #[must_use]
    pub fn mood(self, mood: Mood) -> Cell {
        Cell { mood, ..self }
    }

    /// For columns that would otherwise push the others off the screen. Only a terminal cuts.
    #[must_use]
    pub fn cut(self, chars_max: usize) -> Cell {
        Cell { chars_max: Some(chars_max), ..self }
    }

    fn truncated(mut self, chars_max: usize) -> Cell {
        if self.text.chars().count() > chars_max {
            self.text = self.text.chars().take(chars_max.saturating_sub(1)).collect();
            self.text.push('…');
        }
        self
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::new(text)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::new(text)
    }
}

#[derive(Debug, Clone, Default)]
pub struct Table {
    header: Vec<&'static str>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    pub fn new(header: impl Into<Vec<&'static str>>) -> Table {
        Table { header: header.into(), rows: Vec::new() }
    }

    /// Two columns, such as `phase  running`, without a header.
    pub fn facts() -> Table {
        Table::default()
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// As wide as the terminal, where there is one.
    pub fn to_text(&self) -> String {
        self.fitted(super::terminal_columns()).render(super::wants_colours())
    }

    /// Whole, however wide that is.
    pub fn to_full_text(&self) -> String {
        self.render(super::wants_colours())
    }

    /// Short ids where the rows are too wide, and then cut texts. Facts are never cut.
    fn fitted(&self, columns: Option<usize>) -> Table {
        let mut table = self.clone();
        let Some(room) = columns.filter(|_| !self.header.is_empty()) else { return table };
        if table.chars() <= room {
            return table;
        }
        for cell in table.rows.iter_mut().flatten() {
            if let Some(short) = cell.short.take() {
                cell.text = short;
            }
            if let Some(chars_max) = cell.chars_max {
                *cell = std::mem::take(cell).truncated(chars_max);
            }
        }
        let mut widths = table.widths();
        let floor = |at: usize| table.header[at].chars().count().max(COLUMN_CHARS_MIN);
        while Table::total(&widths) > room {
            let can_shrink = |at: &usize| table.is_text(*at) && widths[*at] > floor(*at);
            let Some(widest) = (0..widths.len()).filter(can_shrink).max_by_key(|&at| widths[at]) else {
                break;
            };
            widths[widest] -= 1;
        }
        for row in &mut table.rows {
            for (cell, width) in row.iter_mut().zip(&widths) {
                *cell = std::mem::take(cell).truncated(*width);
            }
        }
        table
    }

    /// Whether a column may be cut.
    fn is_text(&self, column: usize) -> bool {
        !self.rows.iter().any(|row| row.get(column).is_some_and(|cell| cell.is_number))
    }

    fn widths(&self) -> Vec<usize> {
        let chars = |text: &str| text.chars().count();
        let mut widths: Vec<usize> = self.header.iter().map(|title| chars(title)).collect();
        for row in &self.rows {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = (*width).max(chars(&cell.text));
            }
        }
        widths
    }

    fn total(widths: &[usize]) -> usize {
        widths.iter().sum::<usize>() + GAP_CHARS * widths.len().saturating_sub(1)
    }

    fn chars(&self) -> usize {
        Table::total(&self.widths())
    }

    fn render(&self, has_colours: bool) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        if has_colours {
            table.enforce_styling();
        } else {
            table.force_no_tty();
        }
        if !self.header.is_empty() {
            table.set_header(self.header.clone());
        }
        for row in &self.rows {
            table.add_row(row.iter().map(drawn));
        }
        for column in table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        table.lines().map(|line| unpadded(&line)).collect::<Vec<_>>().join("\n")
    }
}

/// Without the padding of the last column, which would wrap on a narrow terminal, also within its colour.
fn unpadded(line: &str) -> String {
    const END_OF_COLOUR: &str = "\u{1b}[39m";
    let line = line.trim_end();
    match line.strip_suffix(END_OF_COLOUR) {
        Some(coloured) => format!("{}{END_OF_COLOUR}", coloured.trim_end()),
        None => line.to_owned(),
    }
}

fn drawn(cell: &Cell) -> comfy_table::Cell {
    let drawn = comfy_table::Cell::new(super::printable(&cell.text));
    let drawn = if cell.is_number { drawn.set_alignment(CellAlignment::Right) } else { drawn };
    match cell.mood {
        Mood::Plain => drawn,
        Mood::Good => drawn.fg(Color::Green),
        Mood::Busy => drawn.fg(Color::Yellow),
        Mood::Bad => drawn.fg(Color::Red),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::new(["NAME", "COUNT", "PHASE"]);
        table.row([Cell::new("a\nb\x1b[31m"), Cell::number(7), Cell::new("failed").mood(Mood::Bad)]);
        table.row([Cell::maybe(None::<String>), Cell::number(123), Cell::new("abcdef").cut(4)]);
        table
    }

    #[test]
    fn columns_line_up_and_nothing_escapes() {
        assert_eq!(
            table().render(false),
            "NAME      COUNT  PHASE\na b [31m      7  failed\n-           123  abcdef"
        );
        let narrow = table().fitted(Some(20)).render(false);
        assert!(narrow.ends_with("123  abc…"), "only a terminal cuts: {narrow}");
    }

    #[test]
    fn a_table_fits_into_the_terminal_with_short_ids_first_and_cut_texts_then() {
        let mut table = Table::new(["ID", "COUNT", "NAME", "REASON"]);
        let id = "01890a5d-ac96-774b-bcce-b302099a8057";
        let reason = "the provisioner answered 503 and is tried again".repeat(2);
        table.row([Cell::id(id), Cell::number(12_345_678), Cell::new("web"), Cell::new(reason)]);
        let fitted = |columns| table.fitted(columns).render(false);
        assert!(fitted(None).contains(id) && table.to_full_text().contains(id));
        let narrow = fitted(Some(80));
        assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
        assert!(narrow.contains("099a8057  12345678  web ") && narrow.ends_with('…'), "{narrow}");
        assert!(fitted(Some(10)).contains("12345678"), "numbers are never cut");
        let mut facts = Table::facts();
        facts.row([Cell::new("reason"), Cell::new("x".repeat(200))]);
        facts.row([Cell::new("phase"), Cell::new("stuck").mood(Mood::Bad)]);
        assert!(facts.fitted(Some(80)).render(false).contains(&"x".repeat(200)));
        let coloured = facts.render(true);
        assert!(coloured.contains("stuck\u{1b}[39m"), "a coloured cell is not padded: {coloured:?}");
    }

    #[test]
    fn colours_come_only_where_they_are_wanted() {
        assert!(table().render(true).contains("\x1b["));
        assert!(!table().render(false).contains('\x1b'));
    }
}
