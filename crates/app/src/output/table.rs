//! Columns without lines, which people can read and `awk` can cut.

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

#[derive(Debug, Clone, Default)]
pub struct Cell {
    text: String,
    mood: Mood,
    is_number: bool,
}

impl Cell {
    pub fn new(text: impl Into<String>) -> Cell {
        Cell { text: text.into(), ..Cell::default() }
    }

    /// A dash where there is nothing.
    pub fn maybe(text: Option<impl Into<String>>) -> Cell {
        text.map_or_else(|| Cell::new("-"), Cell::new)
    }

    pub fn number(number: impl std::fmt::Display + Copy) -> Cell {
        Cell { text: number.to_string(), is_number: true, ..Cell::default() }
    }

    #[must_use]
    pub fn mood(self, mood: Mood) -> Cell {
        Cell { mood, ..self }
    }

    /// For columns that would otherwise push the others off the screen.
    #[must_use]
    pub fn cut(mut self, chars_max: usize) -> Cell {
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

    pub fn to_text(&self) -> String {
        self.render(super::wants_colours())
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
        // The padding of the last column is of use to nobody.
        table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
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
            "NAME      COUNT  PHASE\na b [31m      7  failed\n-           123  abc…"
        );
    }

    #[test]
    fn colours_come_only_where_they_are_wanted() {
        assert!(table().render(true).contains("\x1b["));
        assert!(!table().render(false).contains('\x1b'));
    }
}
