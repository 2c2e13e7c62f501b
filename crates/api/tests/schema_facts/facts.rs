//! A CRD as facts: one line a field, its words by name.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Words by name; for a field the name `type` stands for its type.
pub type Words = BTreeMap<String, String>;
/// `version path` to words.
pub type Facts = BTreeMap<String, Words>;

/// Words of a schema that are facts, as they stand in the files.
const WORDS: [(&str, &str); 15] = [
    ("format", "format"),
    ("default", "default"),
    ("enum", "enum"),
    ("minimum", "minimum"),
    ("maximum", "maximum"),
    ("minLength", "minLength"),
    ("maxLength", "maxLength"),
    ("minItems", "minItems"),
    ("maxItems", "maxItems"),
    ("minProperties", "minProperties"),
    ("pattern", "pattern"),
    ("list-type", "x-kubernetes-list-type"),
    ("list-map-keys", "x-kubernetes-list-map-keys"),
    ("map-type", "x-kubernetes-map-type"),
    ("preserve-unknown-fields", "x-kubernetes-preserve-unknown-fields"),
];

/// Reads a file of facts.
pub fn read(text: &str) -> Facts {
    let mut facts = Facts::new();
    let mut version = String::new();
    let mut columns = 0;
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some(rest) = line.strip_prefix("## ") {
            let (name, words) = rest.split_once(' ').unwrap();
            name.clone_into(&mut version);
            columns = 0;
            facts.insert(
                format!("{version} itself"),
                words_of(words, &["served", "storage", "deprecated", "subresources"]),
            );
        } else if let Some(rest) = line.strip_prefix("# ") {
            facts
                .insert("names".to_owned(), words_of(rest, &["plural", "scope", "shortNames", "categories"]));
        } else if let Some(rest) = line.strip_prefix("column ") {
            columns += 1;
            facts
                .insert(format!("{version} column {columns}"), [("type".to_owned(), rest.to_owned())].into());
        } else {
            let (path, words) = line.split_once("  ").unwrap();
            let known: Vec<&str> = WORDS.iter().map(|(word, _)| *word).collect();
            facts.insert(format!("{version} {path}"), words_of(words, &known));
        }
    }
    facts
}

/// `type required name=value name=value`, where a value may hold blanks.
fn words_of(text: &str, known: &[&str]) -> Words {
    let mut starts: Vec<(usize, &str)> =
        known.iter().filter_map(|word| Some((text.find(&format!(" {word}="))?, *word))).collect();
    starts.sort_unstable();
    let mut words = Words::new();
    let head = &text[..starts.first().map_or(text.len(), |(start, _)| *start)];
    let mut head = head.split_whitespace();
    if let Some(kind) = head.next() {
        words.insert("type".to_owned(), kind.to_owned());
    }
    for word in head {
        words.insert(word.to_owned(), "yes".to_owned());
    }
    for (n, (start, word)) in starts.iter().enumerate() {
        let end = starts.get(n + 1).map_or(text.len(), |(next, _)| *next);
        words.insert((*word).to_owned(), text[start + word.len() + 2..end].to_owned());
    }
    words
}

/// The facts of one of our CRDs.
pub fn of(crd: &Value) -> Facts {
    let (spec, names) = (&crd["spec"], &crd["spec"]["names"]);
    let head = format!(
        "{} {} plural={} scope={} shortNames={} categories={}",
        spec["group"].as_str().unwrap(),
        names["kind"].as_str().unwrap(),
        names["plural"].as_str().unwrap(),
        spec["scope"].as_str().unwrap(),
        repr(&names["shortNames"]),
        repr(&names["categories"]),
    );
    let mut facts = Facts::new();
    facts.insert("names".to_owned(), words_of(&head, &["plural", "scope", "shortNames", "categories"]));
    for version in spec["versions"].as_array().unwrap() {
        let name = version["name"].as_str().unwrap();
        let subresources: Vec<&String> =
            version["subresources"].as_object().into_iter().flat_map(|it| it.keys()).collect();
        let words = format!(
            "served={} storage={} deprecated={} subresources={}",
            repr(&version["served"]),
            repr(&version["storage"]),
            repr(&Value::Bool(version["deprecated"] == true)),
            repr(&serde_json::to_value(subresources).unwrap()),
        );
        facts.insert(
            format!("{name} itself"),
            words_of(&words, &["served", "storage", "deprecated", "subresources"]),
        );
        for (n, column) in version["additionalPrinterColumns"].as_array().into_iter().flatten().enumerate() {
            let text = format!(
                "{} {} {} priority={}",
                repr(&column["name"]),
                column["type"].as_str().unwrap(),
                column["jsonPath"].as_str().unwrap(),
                column["priority"].as_i64().unwrap_or_default(),
            );
            facts.insert(format!("{name} column {}", n + 1), [("type".to_owned(), text)].into());
        }
        field(&mut facts, &format!("{name} "), &version["schema"]["openAPIV3Schema"], false);
    }
    facts
}

fn field(facts: &mut Facts, path: &str, schema: &Value, required: bool) {
    let mut words = Words::new();
    words.insert("type".to_owned(), schema["type"].as_str().unwrap_or("-").to_owned());
    if required {
        words.insert("required".to_owned(), "yes".to_owned());
    }
    for (word, ours) in WORDS {
        if let Some(value) = schema.get(ours) {
            words.insert(word.to_owned(), repr(value));
        }
    }
    for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
        words.insert("rule".to_owned(), rule["rule"].as_str().unwrap().to_owned());
    }
    facts.insert(path.to_owned(), words);
    let needed: BTreeSet<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        field(facts, &format!("{path}.{name}"), property, needed.contains(name.as_str()));
    }
    if let Some(items) = schema.get("items") {
        field(facts, &format!("{path}[]"), items, false);
    }
    if let Some(values) = schema.get("additionalProperties") {
        field(facts, &format!("{path}{{}}"), values, false);
    }
}

/// A value as the files write it.
fn repr(value: &Value) -> String {
    match value {
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::String(text) => format!("'{}'", text.replace('\\', "\\\\")),
        Value::Array(items) => format!("[{}]", items.iter().map(repr).collect::<Vec<_>>().join(", ")),
        other => other.to_string(),
    }
}

/// What ours has otherwise, a line each.
pub fn differences<'a>(theirs: &'a Facts, ours: &'a Facts) -> impl Iterator<Item = String> + 'a {
    let paths: BTreeSet<&String> = theirs.keys().chain(ours.keys()).collect();
    paths.into_iter().flat_map(move |path| match (theirs.get(path), ours.get(path)) {
        (Some(_), None) => vec![format!("{path}: missing")],
        (None, Some(words)) => vec![format!("{path}: added {}", line(words))],
        (Some(theirs), Some(ours)) => {
            let words: BTreeSet<&String> = theirs.keys().chain(ours.keys()).collect();
            let none = "none".to_owned();
            let other = words.into_iter().filter_map(|word| {
                let (theirs, ours) = (theirs.get(word).unwrap_or(&none), ours.get(word).unwrap_or(&none));
                (theirs != ours).then(|| format!("{path}: {word} {theirs} -> {ours}"))
            });
            other.collect()
        }
        (None, None) => Vec::new(),
    })
}

fn line(words: &Words) -> String {
    let of = |word: &(&String, &String)| match word.0.as_str() {
        "type" => word.1.clone(),
        "required" => "required".to_owned(),
        name => format!("{name}={}", word.1),
    };
    let mut sorted: Vec<(&String, &String)> = words.iter().collect();
    sorted.sort_by_key(|(name, _)| (name.as_str() != "type", name.as_str() != "required", name.as_str()));
    sorted.iter().map(of).collect::<Vec<_>>().join(" ")
}

/// Whether a text is like a pattern in which `*` stands for any text.
pub fn like(text: &str, pattern: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return text == pattern };
    let Some(mut text) = text.strip_prefix(first) else { return false };
    loop {
        if like(text, rest) {
            return true;
        }
        let mut characters = text.chars();
        if characters.next().is_none() {
            return false;
        }
        text = characters.as_str();
    }
}
