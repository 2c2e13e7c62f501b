//! Rendered documents and differences as text.

use std::fmt::Write;

use capm3_offline::render::{Rendered, Rendering};

/// The documents as one YAML stream; a comment before each says whose it is. Between the lines `---` and the next
/// comment stand the very bytes of the Secret.
pub fn documents(rendering: &Rendering) -> String {
    let mut text = String::new();
    for machine in &rendering.machines {
        let whose = whose(machine);
        let documents = [("metaData", &machine.meta_data), ("networkData", &machine.network_data)];
        for (name, document) in
            documents.iter().filter_map(|(name, document)| Some((name, document.as_ref()?)))
        {
            writeln!(text, "# {whose}: {name}\n---").expect("text takes every line");
            text.push_str(document);
            if !document.ends_with('\n') {
                text.push('\n');
            }
        }
        if documents.iter().all(|(_, document)| document.is_none()) {
            writeln!(text, "# {whose}: nothing to render").expect("text takes every line");
        }
    }
    text
}

/// A machine with its host, template and index.
pub fn whose(machine: &Rendered) -> String {
    let host = machine.host.as_ref().map_or("no host".to_owned(), |host| format!("host {host}"));
    let template = match (&machine.data_template, machine.index) {
        (Some(template), Some(index)) => format!("{template} index {index}"),
        _ => "no data template".to_owned(),
    };
    format!("machine {}, {host}, {template}", machine.whose())
}
