//! Rows under each other, every column as wide as its widest cell.

/// How wide a column must be.
pub fn widest(column: &[String]) -> usize {
    column.iter().map(|cell| cell.chars().count()).max().unwrap_or(0)
}

/// One row; the last cell is not filled up.
pub fn line(row: &[String], widths: &[usize]) -> String {
    let cells: Vec<String> =
        row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}", width = *width)).collect();
    cells.join("  ").trim_end().to_owned()
}

/// Every row; all of them have as many cells as the first.
pub fn lines(rows: &[Vec<String>]) -> Vec<String> {
    let columns = rows.first().map_or(0, Vec::len);
    let column = |number: usize| rows.iter().filter_map(|row| row.get(number).cloned()).collect::<Vec<_>>();
    let widths: Vec<usize> = (0..columns).map(|number| widest(&column(number))).collect();
    rows.iter().map(|row| line(row, &widths)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_name_moves_the_columns_of_every_row() {
        let long = "a-host-with-a-name-that-nobody-would-like-to-type-twice".to_owned();
        let row = |a: &str, b: &str| vec![a.to_owned(), b.to_owned(), "x".to_owned()];
        let rows = [row("HOST", "STATE"), row(&long, "available"), row("h", "")];
        let lines = lines(&rows);
        let at = lines.iter().map(|line| line.chars().count()).collect::<Vec<_>>();
        assert!(at.iter().all(|end| *end == long.len() + 2 + "available".len() + 2 + 1), "{lines:#?}");
    }
}
