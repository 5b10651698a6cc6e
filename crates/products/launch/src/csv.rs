//! CSV, safe to open in a spreadsheet.

/// Lines of cells, with the ends of lines that the standard wants.
pub(crate) fn write(header: &[&str], rows: impl Iterator<Item = Vec<String>>) -> String {
    let header = header.iter().map(|&title| title.to_owned()).collect();
    std::iter::once(header).chain(rows).map(|cells| line(&cells)).collect()
}

fn line(cells: &[String]) -> String {
    let cells: Vec<String> = cells.iter().map(|text| cell(text)).collect();
    cells.join(",") + "\r\n"
}

/// A program that opens the table must not take a name for a formula.
fn cell(text: &str) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if is_formula { format!("'{text}") } else { text.to_owned() };
    if text.contains([',', '"', '\r', '\n']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_one_cell_and_no_formula() {
        let row = ["plain", "a,b", "say \"x\"", "=1+1", "two\nlines", ""].map(str::to_owned).to_vec();
        let text = write(&["a", "b"], std::iter::once(row));
        assert_eq!(text, "a,b\r\nplain,\"a,b\",\"say \"\"x\"\"\",'=1+1,\"two\nlines\",\r\n");
    }
}
