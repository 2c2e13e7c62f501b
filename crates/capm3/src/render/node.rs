//! What nodes make of their network data, as text: interface by interface, or link by link beside the
//! document.

use std::fmt::Write;

use capm3_domain::{
    cloud_init::{Interface, Loss, Lost},
    consumers::{Fault, Reader},
};
use capm3_offline::render::Node;
use serde_json::{Map, Value};

/// Widest left column; longer lines are cut.
const WIDEST: usize = 64;

/// One machine: its interfaces, then what is lost.
pub fn interfaces(node: &Node, whose: &str, reader: Reader) -> String {
    let mut text = head(node, whose, reader);
    for (name, interface) in &node.outcome.configuration.interfaces {
        writeln!(text, "{name}:").expect("text takes every line");
        for line in lines_of(interface) {
            writeln!(text, "  {line}").expect("text takes every line");
        }
    }
    name_servers(node, &mut text);
    for loss in &node.outcome.lost {
        lost(loss, &mut text);
    }
    other_faults(node, &mut text);
    text
}

/// The same, with every link and its networks on the left and the interface that comes of it on the right. A line of
/// the document that is lost starts with a minus.
pub fn side_by_side(node: &Node, whose: &str, reader: Reader) -> String {
    let mut text = head(node, whose, reader);
    let blocks = blocks(node);
    let lines = blocks.iter().flat_map(|block| &block.left);
    let width = lines.map(|line| line.chars().count()).max().unwrap_or(0).min(WIDEST);
    for block in &blocks {
        columns(block, width, &mut text);
        for loss in &block.losses {
            lost(loss, &mut text);
        }
        text.push('\n');
    }
    name_servers(node, &mut text);
    let is_reported = |loss: &&Loss| blocks.iter().any(|block| block.losses.contains(loss));
    for loss in node.outcome.lost.iter().filter(|loss| !is_reported(loss)) {
        lost(loss, &mut text);
    }
    other_faults(node, &mut text);
    text
}

/// A link of the document, what comes of it, and what does not.
struct Block<'n> {
    left: Vec<String>,
    right: Vec<String>,
    losses: Vec<&'n Loss>,
}

fn blocks(node: &Node) -> Vec<Block<'_>> {
    let document = node.network_data.clone().unwrap_or_default();
    let networks = objects(&document, "networks");
    let block = |(at, link): (usize, &Map<String, Value>)| {
        let id = link.get("id").cloned().unwrap_or_default();
        let of_link = |loss: &&Loss| loss.link == scalar(&id);
        let losses: Vec<&Loss> = node.outcome.lost.iter().filter(of_link).collect();
        let lost_keys = keys_not_taken(node, &format!("links[{at}]"));
        let mut left = marked(link, &losses, &lost_keys);
        for (at, network) in
            networks.iter().enumerate().filter(|(_, network)| network.get("link") == Some(&id))
        {
            left.push("  network:".to_owned());
            let lost_keys = keys_not_taken(node, &format!("networks[{at}]"));
            left.extend(marked(network, &losses, &lost_keys).iter().map(|line| {
                // The mark stays in the first column.
                let (mark, line) = line.split_at(1);
                format!("{mark}  {line}")
            }));
        }
        let device = node.outcome.devices.get(at).map(String::as_str).unwrap_or_default();
        let interface = node.outcome.configuration.interfaces.get(device);
        let mut right = vec![interface.map_or("(nothing)".to_owned(), |_| format!("{device}:"))];
        right.extend(interface.into_iter().flat_map(lines_of).map(|line| indented(&line)));
        Block { left, right, losses }
    };
    objects(&document, "links").into_iter().enumerate().map(block).collect()
}

/// The keys of an entry of the document that a reader other than cloud-init does not take.
fn keys_not_taken(node: &Node, entry: &str) -> Vec<String> {
    let places = node.faults.iter().filter_map(|fault| fault.place.strip_prefix(entry)?.strip_prefix('.'));
    places.map(|key| key.split(['.', '[']).next().unwrap_or_default().to_owned()).collect()
}

fn head(node: &Node, whose: &str, reader: Reader) -> String {
    let mut text = format!("# {whose}: as {reader} configures it\n");
    if node.network_data.is_none() {
        text += "# no networkData is rendered: the image decides\n";
    }
    if !node.nics_are_known && node.network_data.is_some() {
        text += "# the host was not inspected: ids of links stand for names of NICs\n";
    }
    if let Some(refusal) = node.refusal() {
        text += &format!("# refused: {refusal}; the node gets none of this network\n");
    }
    text
}

/// What NetworkManager does not take of the profiles, or another reader of the document.
fn other_faults(node: &Node, text: &mut String) {
    for fault in &node.outcome.profile_faults {
        writeln!(text, "# lost: {fault}").expect("text takes every line");
    }
    let is_said = |fault: &&Fault| fault.is_fatal && node.refusal() == Some(fault.to_string());
    for fault in node.faults.iter().filter(|fault| !is_said(fault)) {
        writeln!(text, "# lost: {fault}").expect("text takes every line");
    }
}

fn name_servers(node: &Node, text: &mut String) {
    let servers = &node.outcome.configuration.name_servers;
    if !servers.is_empty() {
        writeln!(text, "name servers of the node: {}", servers.join(", ")).expect("text takes every line");
    }
}

fn lost(loss: &Loss, text: &mut String) {
    let link = if loss.link.is_empty() { String::new() } else { format!("{}: ", loss.link) };
    writeln!(text, "# lost: {link}{loss}").expect("text takes every line");
}

fn objects<'d>(document: &'d Value, key: &str) -> Vec<&'d Map<String, Value>> {
    document.get(key).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object).collect()
}

fn lines_of(interface: &Interface) -> Vec<String> {
    serde_json::to_value(interface).map(|interface| lines(&interface)).unwrap_or_default()
}

/// `key: value` lines; lists of scalars on one line.
fn lines(object: &Value) -> Vec<String> {
    let mut lines_of_object = Vec::new();
    for (key, value) in object.as_object().into_iter().flatten() {
        match value {
            Value::Object(_) => {
                lines_of_object.push(format!("{key}:"));
                lines_of_object.extend(lines(value).iter().map(|line| indented(line)));
            }
            Value::Array(items) if items.iter().any(Value::is_object) => {
                lines_of_object.push(format!("{key}:"));
                for item in items {
                    let mut item = lines(item);
                    if let Some(first) = item.first_mut() {
                        *first = format!("- {first}");
                    }
                    for line in item.iter_mut().skip(1) {
                        *line = indented(line);
                    }
                    lines_of_object.extend(item);
                }
            }
            Value::Array(items) => {
                let items: Vec<String> = items.iter().map(scalar).collect();
                lines_of_object.push(format!("{key}: [{}]", items.join(", ")));
            }
            value => lines_of_object.push(format!("{key}: {}", scalar(value))),
        }
    }
    lines_of_object
}

fn indented(line: &str) -> String {
    format!("  {line}")
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(text) if text.is_empty() => "''".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Lines of the document, those that are lost with a minus.
fn marked(object: &Map<String, Value>, losses: &[&Loss], lost_keys: &[String]) -> Vec<String> {
    let is_lost = |line: &str| {
        let (key, value) = line.trim_start_matches([' ', '-']).split_once(':').unwrap_or((line, ""));
        let is_top_level = !line.starts_with(' ');
        is_top_level && lost_keys.iter().any(|lost| lost == key)
            || losses.iter().any(|loss| {
                let first = loss.value.split(['/', ' ', ',']).next().unwrap_or_default();
                // Members are lost by the names of their devices, where the document has ids.
                let same_value = loss.what == Lost::BondMembers || value.contains(first);
                !loss.key.is_empty() && key == loss.key && same_value
            })
    };
    let lines = lines(&Value::Object(object.clone()));
    lines.into_iter().map(|line| format!("{} {line}", if is_lost(&line) { '-' } else { ' ' })).collect()
}

/// Two columns, as many lines as the longer one has.
fn columns(block: &Block<'_>, width: usize, text: &mut String) {
    for at in 0..block.left.len().max(block.right.len()) {
        let left = block.left.get(at).map(|line| cut(line, width)).unwrap_or_default();
        let right = block.right.get(at).map(String::as_str).unwrap_or_default();
        let line = format!("{left:width$}  |  {right}");
        writeln!(text, "{}", line.trim_end()).expect("text takes every line");
    }
}

fn cut(line: &str, width: usize) -> String {
    if line.chars().count() <= width {
        return line.to_owned();
    }
    line.chars().take(width.saturating_sub(1)).chain(['…']).collect()
}
