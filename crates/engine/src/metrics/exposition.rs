//! The two texts that Prometheus reads: OpenMetrics 1.0, as the encoder writes it, and the older format 0.0.4.

/// Which text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// `text/plain; version=0.0.4`, which every reader understands.
    #[default]
    Text,
    /// `application/openmetrics-text; version=1.0.0`.
    OpenMetrics,
}

impl Format {
    /// The one that an Accept header asks for; its weights are not compared, as OpenMetrics is preferred by all who know it.
    pub fn accepted(accept: &str) -> Self {
        match accept.contains("application/openmetrics-text") {
            true => Self::OpenMetrics,
            false => Self::Text,
        }
    }

    /// Its media type.
    pub fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain; version=0.0.4; charset=utf-8",
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// The text in this format; it was written as OpenMetrics.
pub(super) fn in_format(text: String, format: Format) -> String {
    match format {
        Format::OpenMetrics => text,
        Format::Text => older(&text),
    }
}

/// In the older format `HELP` and `TYPE` of a counter name it with its suffix, and there is no end mark.
fn older(text: &str) -> String {
    let mut older = String::with_capacity(text.len());
    let lines: Vec<&str> = text.lines().collect();
    for (index, line) in lines.iter().enumerate() {
        let (help, kind) = (line.strip_prefix("# HELP "), line.strip_prefix("# TYPE "));
        if *line == "# EOF" {
            continue;
        }
        // The type stands in the line after the help.
        let of = kind.or_else(|| lines.get(index + 1)?.strip_prefix("# TYPE "));
        let is_counter = of.is_some_and(|of| of.ends_with(" counter"));
        match help.or(kind).and_then(|rest| rest.split_once(' ')) {
            Some((name, rest)) if is_counter => {
                let word = if help.is_some() { "HELP" } else { "TYPE" };
                older.push_str(&format!("# {word} {name}_total {rest}\n"));
            }
            _ => {
                older.push_str(line);
                older.push('\n');
            }
        }
    }
    older
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_the_older_format_a_counter_is_announced_by_its_whole_name() {
        let text = "# HELP a Some a\n# TYPE a counter\na_total{b=\"c d\"} 1\n# HELP e Some e\n# TYPE e gauge\ne 2\n# EOF\n";
        assert_eq!(in_format(text.to_owned(), Format::OpenMetrics), text);
        let expected = "# HELP a_total Some a\n# TYPE a_total counter\na_total{b=\"c d\"} 1\n# HELP e Some e\n# TYPE e gauge\ne 2\n";
        assert_eq!(in_format(text.to_owned(), Format::Text), expected);
    }

    #[test]
    fn a_reader_gets_open_metrics_only_if_it_asks_for_it() {
        let prometheus = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,\
                          text/plain;version=0.0.4;q=0.5,*/*;q=0.1";
        assert_eq!(Format::accepted(prometheus), Format::OpenMetrics);
        for accept in ["", "*/*", "text/plain"] {
            assert_eq!(Format::accepted(accept), Format::Text, "{accept}");
        }
    }
}
