//! Tables of text: the first column to the left, the others to the right.

use std::fmt::Write as _;

/// Rows of cells below a header.
#[derive(Debug)]
pub struct Table {
    rows: Vec<Vec<String>>,
    left: usize,
}

impl Table {
    /// A table with this header; the first `left` columns are aligned to the left.
    pub fn new(header: &[&str], left: usize) -> Self {
        Table { rows: vec![header.iter().map(|h| h.to_string()).collect()], left }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    /// The text, a line a row.
    pub fn render(&self) -> String {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |at: usize| self.rows.iter().filter_map(|r| r.get(at)).map(|c| c.chars().count()).max();
        let widths: Vec<usize> = (0..columns).map(|at| width(at).unwrap_or(0)).collect();
        let mut text = String::new();
        for row in &self.rows {
            let mut line = String::new();
            for (at, cell) in row.iter().enumerate() {
                let gap = if at == 0 { "" } else { "  " };
                let width = widths[at];
                let _ = if at < self.left {
                    write!(line, "{gap}{cell:<width$}")
                } else {
                    write!(line, "{gap}{cell:>width$}")
                };
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(&["name", "n", "why"], 1);
        table.row(vec!["a".into(), "1".into(), "x".into()]);
        table.row(vec!["longer".into(), "100".into()]);
        assert_eq!(table.render(), "name      n  why\na         1    x\nlonger  100\n");
    }
}
