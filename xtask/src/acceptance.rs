//! `docs/acceptance.md`: which requirement of the design documents is shown by which test.
//!
//! A test named `s205_...` shows row S205, one named `s59_s61_...` two rows; its doc comment is the requirement. What a real
//! server is asked, for the rows of printed blocks in `tests/seeds/table.txt` and for single ones in `tests/seeds/rows`, is listed
//! beside them. A row that was shown once stays: without a test for
//! it nothing is generated.

use std::{collections::BTreeSet, fs, ops::RangeInclusive};

use anyhow::{Context, Result, bail, ensure};
use regex::Regex;

use crate::{repo, seeds};

const PAGE: &str = "docs/acceptance.md";
/// Where tests are looked for.
const FOLDERS: [&str; 2] = ["crates", "xtask"];
/// Rows that a test must show, as one does today; rows that join them are held by the page.
const SHOWN: &[RangeInclusive<u32>] = &[1..=2, 4..=21, 23..=26, 28..=33, 35..=43, 45..=192, 194..=218];

/// A test that shows a row.
pub struct Row {
    /// The area of the row, as in the name of the test.
    pub area: String,
    /// Number of the row.
    pub number: u32,
    /// The requirement, from the doc comment of the test.
    pub requirement: String,
    /// Name of the test.
    pub test: String,
    /// File of the test.
    pub file: String,
}

#[cfg(test)]
impl Row {
    /// A row of that number with nothing else.
    pub fn numbered(number: u32) -> Self {
        let text = String::new;
        Self { area: text(), number, requirement: text(), test: text(), file: text() }
    }
}

/// Writes the table, or fails if it is out of date.
pub fn generate(check: bool) -> Result<()> {
    let mut rows = rows(&["s"])?;
    lost(&rows, "S", SHOWN, &numbers(PAGE, "S")?).context(PAGE)?;
    rows.extend(of_a_real_server()?);
    rows.sort_by(|a, b| (a.number, &a.test).cmp(&(b.number, &b.test)));
    write(PAGE, &page(&rows), check)
}

/// What `cargo xtask real seeds` asks: printed blocks, and single rows.
fn of_a_real_server() -> Result<Vec<Row>> {
    let row = |id: &str, requirement: &str, file: String| {
        let number = id.trim_start_matches('S').parse();
        anyhow::Ok(Row {
            area: "s".to_owned(),
            number: number.with_context(|| format!("{id} is no row"))?,
            requirement: requirement.replace('|', "\\|"),
            test: "cargo xtask real seeds".to_owned(),
            file,
        })
    };
    let blocks = seeds::rows_of_the_table()?;
    let blocks = blocks.iter().map(|(id, says)| row(id, says, "tests/seeds/table.txt".to_owned()));
    let rows = seeds::rows_of_a_real_server()?;
    let file = |id: &str| format!("tests/seeds/rows/{}.yaml", id.to_lowercase());
    let rows = rows.iter().map(|(id, sentence)| row(id, sentence, file(id)));
    blocks.chain(rows).collect()
}

/// Fails with the rows that must be shown, or stand on the page, and have no test any more.
pub fn lost(
    rows: &[Row],
    letter: &str,
    shown: &[RangeInclusive<u32>],
    on_page: &BTreeSet<u32>,
) -> Result<()> {
    let found: BTreeSet<u32> = rows.iter().map(|row| row.number).collect();
    let wanted: BTreeSet<u32> = shown.iter().cloned().flatten().chain(on_page.iter().copied()).collect();
    let lost: Vec<String> = wanted.difference(&found).map(|number| format!("{letter}{number}")).collect();
    ensure!(lost.is_empty(), "no test shows row {} any more: name one after it", lost.join(", "));
    Ok(())
}

/// The numbers of the rows of a page, which begin with a letter or none. A page that is not there has none.
pub fn numbers(file: &str, letter: &str) -> Result<BTreeSet<u32>> {
    let text = fs::read_to_string(repo::root().join(file)).unwrap_or_default();
    let pattern = Regex::new(&format!(r"(?m)^\| {letter}(\d+) \|"))?;
    pattern.captures_iter(&text).map(|found| Ok(found.extract::<1>().1.concat().parse()?)).collect()
}

/// Writes a generated file, or fails if it is out of date.
pub fn write(file: &str, text: &str, check: bool) -> Result<()> {
    let path = repo::root().join(file);
    if check {
        let found = fs::read_to_string(&path).unwrap_or_default();
        if found != text {
            bail!("{file} is out of date: run `cargo xtask generate`");
        }
        return Ok(());
    }
    fs::write(&path, text).with_context(|| format!("writing {}", path.display()))
}

/// The tests that are named after rows of these areas, in order of rows.
pub fn rows(areas: &[&str]) -> Result<Vec<Row>> {
    let root = repo::root();
    let mut rows = Vec::new();
    let mut files = Vec::new();
    for folder in FOLDERS {
        files.extend(repo::rust_files(&root.join(folder))?);
    }
    for file in files {
        let text = fs::read_to_string(&file)?;
        rows.extend(rows_in(&text, &file.strip_prefix(&root).unwrap_or(&file).display().to_string(), areas)?);
    }
    rows.sort_by(|a, b| (a.number, &a.test).cmp(&(b.number, &b.test)));
    Ok(rows)
}

/// The rows that the tests of one file show: one for each number that the name of a test begins with.
fn rows_in(text: &str, file: &str, areas: &[&str]) -> Result<Vec<Row>> {
    let pattern =
        Regex::new(r"(?m)((?:^\s*///[^\n]*\n)+)(?:^\s*#\[[^\n]*\n)*^\s*(?:async )?fn ([a-z]+\d+_\w+)\(")?;
    let mut rows = Vec::new();
    for found in pattern.captures_iter(text) {
        let (_, [comment, test]) = found.extract();
        let words: Vec<&str> =
            comment.lines().map(|line| line.trim().trim_start_matches("///").trim()).collect();
        let requirement = words.join(" ").trim().replace('|', "\\|");
        let shown = numbers_of(test).filter(|(area, _)| areas.contains(area));
        rows.extend(shown.map(|(area, number)| Row {
            area: area.to_owned(),
            number,
            requirement: requirement.clone(),
            test: test.to_owned(),
            file: file.to_owned(),
        }));
    }
    Ok(rows)
}

/// The numbers of rows that the name of a test begins with, each after its area.
fn numbers_of(test: &str) -> impl Iterator<Item = (&str, u32)> {
    test.split('_').map_while(|part| {
        let (area, number) = part.split_at(part.find(|c: char| c.is_ascii_digit())?);
        Some((area, number.parse().ok()?))
    })
}

fn page(rows: &[Row]) -> String {
    let mut text = String::from(
        "# Acceptance\n\nGenerated by `cargo xtask generate` from the tests; do not edit. Each row is a statement of the design \
         documents that capm3 is built from, in our words, and the test that shows it. `cargo xtask real \
         seeds` asks a real API server that asks our webhooks (level A).\n\n\
         | row | requirement | test |\n|---|---|---|\n",
    );
    for row in rows {
        text.push_str(&format!(
            "| S{} | {} | `{}` in `{}` |\n",
            row.number, row.requirement, row.test, row.file
        ));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_lost_its_test_is_named_whether_it_is_wanted_or_on_the_page() {
        let (rows, on_page) = ([Row::numbered(1), Row::numbered(3)], BTreeSet::from([3, 7]));
        lost(&rows, "S", &[1..=1, 3..=3], &BTreeSet::from([3])).unwrap();
        let message = lost(&rows, "S", &[1..=3], &on_page).unwrap_err().to_string();
        assert!(message.contains("row S2, S7 "), "{message}");
    }

    #[test]
    fn a_test_shows_each_row_that_its_name_begins_with() {
        let text = "/// One | two,\n/// three.\n#[test]\nfn s7_dt9_s8_both_of_12_are_shown() {\n/// None.\nfn s_7() {\n";
        let shown = |areas: &[&str]| {
            let rows = rows_in(text, "file.rs", areas).unwrap();
            rows.into_iter().map(|row| (row.area, row.number, row.requirement)).collect::<Vec<_>>()
        };
        let row = |area: &str, number| (area.to_owned(), number, "One \\| two, three.".to_owned());
        assert_eq!(shown(&["s"]), [row("s", 7), row("s", 8)]);
        assert_eq!(shown(&["ma", "dt"]), [row("dt", 9)]);
        assert_eq!(shown(&["of"]), []);
    }

    #[test]
    fn what_a_real_server_is_asked_is_listed_with_the_file_that_says_so() {
        let asked = of_a_real_server().unwrap();
        let is_listed = |number: u32, file: &str| {
            asked.iter().any(|row| (row.number, row.file.as_str()) == (number, file))
        };
        for number in [13, 21, 28, 80, 146, 147, 197, 198] {
            assert!(is_listed(number, "tests/seeds/table.txt"), "S{number}");
        }
        for number in [14, 85, 116, 138, 217] {
            assert!(is_listed(number, &format!("tests/seeds/rows/s{number}.yaml")), "S{number}");
        }
    }

    #[test]
    fn the_rows_of_both_pages_are_counted() {
        assert!(numbers(PAGE, "S").unwrap().len() > 200);
        assert!(numbers("docs/parity.md", "").unwrap().len() > 70);
    }
}
