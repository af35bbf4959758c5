//! Tables: aligned text for a terminal, Markdown for a README, HTML for a page.

use std::fmt;

use crate::svg::escape;

/// The side of a column on which its cells stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// One column: its header carries the unit, its cells do not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    header: String,
    align: Align,
}

impl Column {
    /// A column of words.
    #[must_use]
    pub fn words(header: impl Into<String>) -> Column {
        Column { header: header.into(), align: Align::Left }
    }

    /// A column of numbers, its unit in the header.
    #[must_use]
    pub fn numbers(header: impl Into<String>) -> Column {
        Column { header: header.into(), align: Align::Right }
    }
}

/// A table. Its `Display` is aligned text without trailing blanks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// An empty table of these columns.
    #[must_use]
    pub fn new(columns: Vec<Column>) -> Table {
        Table { columns, rows: Vec::new() }
    }

    /// Adds a row: a short one is filled with empty cells, and cells past the last column are a bug of the caller.
    pub fn push(&mut self, cells: impl IntoIterator<Item = impl Into<String>>) {
        let mut row: Vec<String> = cells.into_iter().map(Into::into).collect();
        assert!(row.len() <= self.columns.len(), "a row has more cells than the table has columns: {row:?}");
        row.resize(self.columns.len(), String::new());
        self.rows.push(row);
    }

    /// Whether there is no row.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// As a GitHub-flavoured Markdown table.
    #[must_use]
    pub fn to_markdown(&self) -> String {
        let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
        let plain = |text: &str| text.replace('|', "\\|");
        let rule = |column: &Column| if column.align == Align::Left { "---" } else { "---:" }.to_owned();
        let mut text = line(self.columns.iter().map(|column| plain(&column.header)).collect());
        text.push_str(&line(self.columns.iter().map(rule).collect()));
        for row in &self.rows {
            text.push_str(&line(row.iter().map(|cell| plain(cell)).collect()));
        }
        text
    }

    /// As an HTML `<table>`; the page's style sheet knows the class `number`.
    #[must_use]
    pub fn to_html(&self) -> String {
        let line = |tag: &str, cells: &mut dyn Iterator<Item = &str>| {
            let mut text = String::from("<tr>");
            for (cell, column) in cells.zip(&self.columns) {
                let class = if column.align == Align::Right { " class=\"number\"" } else { "" };
                text.push_str(&format!("<{tag}{class}>{}</{tag}>", escape(cell)));
            }
            text + "</tr>\n"
        };
        let mut text = String::from("<table>\n<thead>");
        text.push_str(line("th", &mut self.columns.iter().map(|column| column.header.as_str())).trim_end());
        text.push_str("</thead>\n<tbody>\n");
        for row in &self.rows {
            text.push_str(&line("td", &mut row.iter().map(String::as_str)));
        }
        text + "</tbody>\n</table>\n"
    }

    fn widths(&self) -> Vec<usize> {
        let width = |text: &str| text.chars().count();
        let widest = |index: usize| self.rows.iter().map(|row| width(&row[index])).max().unwrap_or(0);
        self.columns.iter().enumerate().map(|(index, column)| width(&column.header).max(widest(index))).collect()
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.widths();
        let line = |cells: &mut dyn Iterator<Item = &str>| {
            let mut text = String::new();
            for ((cell, column), width) in cells.zip(&self.columns).zip(&widths) {
                match column.align {
                    Align::Left => text.push_str(&format!("{cell:<width$}  ")),
                    Align::Right => text.push_str(&format!("{cell:>width$}  ")),
                }
            }
            text.trim_end().to_owned()
        };
        writeln!(f, "{}", line(&mut self.columns.iter().map(|column| column.header.as_str())))?;
        writeln!(f, "{}", "-".repeat(widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1)))?;
        self.rows.iter().try_for_each(|row| writeln!(f, "{}", line(&mut row.iter().map(String::as_str))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Table {
        let mut table = Table::new(vec![Column::words("method"), Column::numbers("p50 (us)"), Column::words("note")]);
        table.push(["idle", "8.7", ""]);
        table.push(["behind bulk", "8,454", "a < b | c"]);
        table.push(["raw"]);
        table
    }

    #[test]
    fn text_is_aligned_and_has_no_trailing_blanks() {
        let expected = "\
method       p50 (us)  note
--------------------------------
idle              8.7
behind bulk     8,454  a < b | c
raw
";
        assert_eq!(sample().to_string(), expected);
    }

    #[test]
    fn markdown_and_html_escape() {
        let expected = "| method | p50 (us) | note |\n| --- | ---: | --- |\n| idle | 8.7 |  |\n";
        assert!(sample().to_markdown().starts_with(expected));
        assert!(sample().to_markdown().contains("a < b \\| c"));
        let html = sample().to_html();
        assert!(html.contains("<td class=\"number\">8,454</td><td>a &lt; b | c</td>"), "{html}");
    }

    #[test]
    #[should_panic(expected = "more cells")]
    fn too_many_cells_are_a_bug() {
        sample().push(["1", "2", "3", "4"]);
    }
}
