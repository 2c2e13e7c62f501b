//! A bootstrap text that asks for metadata that nobody gives.

use std::collections::BTreeSet;

use capm3_api::v1beta2::Metal3DataTemplate;

use super::{bootstrap, owners};

use crate::{
    lint::{Check, Draft, Example, Manifests, ObjectId, Rule, Severity, Subject},
    render::metadata_keys,
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L012"),
    title: "a bootstrap text reads a metadata key that is not rendered",
    severity: Severity::Warning,
    why: "cloud-init replaces `ds.meta_data.KEY` in the bootstrap text by the metadata of the node. A \
          key that is not there becomes an error text, or nothing: the node gets a wrong name or a wrong \
          label, and does not join.",
    mend: "add the key to metaData of the Metal3DataTemplate, or correct the name",
    example: Example {
        wrong: r#"kind: KubeadmConfigTemplate
spec:
  template:
    spec:
      joinConfiguration:
        nodeRegistration: {name: '{{ ds.meta_data.host_name }}'}
---
kind: Metal3DataTemplate
spec: {metaData: {objectNames: [{key: hostname, object: machine}]}}"#,
        right: r#"kind: KubeadmConfigTemplate
spec:
  template:
    spec:
      joinConfiguration:
        nodeRegistration: {name: '{{ ds.meta_data.hostname }}'}
---
kind: Metal3DataTemplate
spec: {metaData: {objectNames: [{key: hostname, object: machine}]}}"#,
    },
    check: Check::Manifests(check),
};

/// What the host operator puts into the metadata of every host.
const DEFAULTS: [&str; 5] = ["uuid", "metal3_namespace", "metal3_name", "local_hostname", "name"];

fn check(manifests: &Manifests<'_>) -> Vec<(ObjectId, Draft)> {
    let mut drafts = Vec::new();
    for owner in owners::all(manifests) {
        // What is in a Secret of the user is not known.
        if owner.template.object.spec.template.spec.meta_data.is_some() {
            continue;
        }
        let templates = owner.possible_data_templates(manifests);
        for (id, node) in bootstrap::texts(manifests, owner.object) {
            for key in keys(node.text_or_empty()) {
                let draft = judge(key, &templates);
                drafts.extend(draft.map(|draft| (id, Draft { field: node.path().to_owned(), ..draft })));
            }
        }
    }
    drafts
}

fn judge(key: &str, templates: &[&Subject<Metal3DataTemplate>]) -> Option<Draft> {
    let wanted = plain(key);
    if DEFAULTS.contains(&wanted.as_str()) {
        return None;
    }
    let lacks = |template: &&&Subject<Metal3DataTemplate>| {
        !rendered(template).iter().any(|known| plain(known) == wanted)
    };
    let lacking = templates.iter().find(lacks);
    let message = match (lacking, templates) {
        (None, [_, ..]) => return None,
        (None, []) => {
            format!(
                "metadata key {key} is not rendered: the machines have no Metal3DataTemplate in the files"
            )
        }
        (Some(template), _) => {
            let name = template.object.metadata.name.as_deref().unwrap_or_default();
            format!("metadata key {key} is not rendered by Metal3DataTemplate {name}")
        }
    };
    let known = lacking.map(|template| rendered(template)).unwrap_or_default();
    Some(match known.is_empty() {
        true => Draft::new("", message),
        false => Draft::new("", message).help(format!(
            "add the key to spec.metaData, or use one of those that are rendered: {}",
            known.join(", ")
        )),
    })
}

/// The keys that a template renders, and the one that the provider adds.
fn rendered(template: &Subject<Metal3DataTemplate>) -> Vec<&str> {
    let own = template.object.spec.meta_data.as_ref().map(metadata_keys).unwrap_or_default();
    own.into_iter().chain(["providerid"]).collect()
}

/// In texts a key may be written with underscores instead of dashes.
fn plain(key: &str) -> String {
    key.replace('-', "_")
}

/// The keys that a text reads: `ds.meta_data.KEY` and `ds.meta_data["KEY"]`.
fn keys(text: &str) -> BTreeSet<&str> {
    let after = text.split("ds.meta_data").skip(1);
    after.filter_map(key_after).filter(|key| !key.is_empty()).collect()
}

fn key_after(rest: &str) -> Option<&str> {
    if let Some(rest) = rest.strip_prefix('.') {
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(rest.len());
        return rest.get(..end);
    }
    let rest = rest.strip_prefix('[')?.trim_start();
    let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    rest.get(1..)?.split(quote).next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_in_both_spellings_and_words_around_them_are_not() {
        let text = "a {{ ds.meta_data.one }}-{{ds.meta_data['two-2']}} {{ ds.meta_data[\"three\"] | upper }} \
                    meta_data.four ds.meta_data";
        assert_eq!(keys(text).into_iter().collect::<Vec<_>>(), ["one", "three", "two-2"]);
    }
}
