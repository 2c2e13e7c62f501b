//! Mistakes as workflow commands of GitHub Actions, which shows them at the lines of a pull request.

use capm3_domain::lint::Severity;
use capm3_offline::lint::{Mistake, Report};

/// One line for each mistake.
pub fn report(report: &Report) -> String {
    report.mistakes.iter().map(line).collect()
}

fn line(mistake: &Mistake) -> String {
    let command = match mistake.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let mut properties = vec![format!("file={}", property(&mistake.file))];
    if mistake.line > 0 {
        let end = mistake.column + mistake.bytes.len();
        properties.push(format!("line={},col={},endColumn={end}", mistake.line, mistake.column));
    }
    properties.push(format!("title={}", property(mistake.code)));
    let text = data(&format!("{}; {}", super::text::title(mistake), mistake.help));
    format!("::{command} {}::{text}\n", properties.join(","))
}

/// Text after the command.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Text of a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_of_the_command_itself_are_escaped() {
        assert_eq!(property("a:b,c%\n"), "a%3Ab%2Cc%25%0A");
        assert_eq!(data("a: 100%\nb"), "a: 100%25%0Ab");
    }
}
