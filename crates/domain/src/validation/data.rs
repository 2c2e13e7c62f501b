//! Metal3Data and Metal3DataClaim: one index of a template and the request for it. What they are about never changes.

use super::{FieldError, Rule, findings::Findings, node::Node, reference::is_object_name};

pub(super) fn check_new_data(object: &Node<'_>, findings: &mut Findings) {
    let spec = object.at("spec");
    let index = spec.at("index").int();
    let name = object.at("metadata").at("name").text_or_empty();
    if let (Some(index), Some(_)) = (index, spec.at("template").value()) {
        let names = data_names(&spec, index);
        if !names.iter().any(|expected| expected == name) {
            let detail = format!(
                "should follow the convention <Metal3Template Name>-<index>: name it {}",
                names.join(" or ")
            );
            findings.errors.push(FieldError::invalid(Rule::DataName, "name", name, detail));
        }
    }
    if index.is_some_and(|index| index < 0) {
        let detail = "must be positive value: indexes start at 0";
        findings.errors.push(FieldError::invalid(
            Rule::DataIndex,
            "spec.Index",
            spec.at("index").shown(),
            detail,
        ));
    }
}

/// How data of this index may be called: after the template, or after the index space that it shares.
fn data_names(spec: &Node<'_>, index: i64) -> Vec<String> {
    let key = spec.at("templateReference").text().filter(|key| is_object_name(key));
    let template = spec.at("template").at("name").text_or_empty();
    key.into_iter().chain([template]).map(|prefix| format!("{prefix}-{index}")).collect()
}

pub(super) fn check_changed_data(old: &Node<'_>, new: &Node<'_>, findings: &mut Findings) {
    let (old, new) = (old.at("spec"), new.at("spec"));
    let index = new.at("index");
    if old.at("index").int().unwrap_or_default() != index.int().unwrap_or_default() {
        findings.errors.push(FieldError::invalid(Rule::DataFixed, "spec.Index", index.shown(), FIXED));
    }
    for (member, path) in [("template", "spec.Template"), ("claim", "spec.claim")] {
        let (was, is) = (old.at(member), new.at(member));
        if name_and_namespace(&was) != name_and_namespace(&is) {
            findings.errors.push(FieldError::invalid(Rule::DataFixed, path, is.shown(), FIXED));
        }
    }
    check_key(&old, &new, findings);
}

const FIXED: &str = "cannot be modified: it is what this object was made for";

fn name_and_namespace<'a>(reference: &Node<'a>) -> (&'a str, &'a str) {
    (reference.at("name").text_or_empty(), reference.at("namespace").text_or_empty())
}

/// The key of a shared index space may be given once, and then stays.
pub(super) fn check_key(old: &Node<'_>, new: &Node<'_>, findings: &mut Findings) {
    let (was, is) = (old.at("templateReference"), new.at("templateReference"));
    if was.text().is_some() && was.text() != is.text() {
        let detail = format!(
            "cannot be modified: indexes are allocated with templateReference {:?}; create another template instead",
            was.text_or_empty()
        );
        findings.errors.push(FieldError::invalid(
            Rule::IndexSpaceFixed,
            is.path(),
            is.text_or_empty(),
            detail,
        ));
    }
}

pub(super) fn check_new_claim(object: &Node<'_>, findings: &mut Findings) {
    let name = object.at("spec").at("template").at("name");
    if name.text().is_none() {
        let detail = "must be set: name the Metal3DataTemplate";
        findings.errors.push(FieldError::invalid(Rule::ClaimTemplate, name.path(), "", detail));
    }
    check_claim_namespace(object, findings);
}

pub(super) fn check_changed_claim(old: &Node<'_>, new: &Node<'_>, findings: &mut Findings) {
    let own = new.at("metadata").at("namespace").text_or_empty();
    let meant = |object: &Node<'_>| {
        let template = object.at("spec").at("template");
        let namespace = template.at("namespace").text().unwrap_or(own).to_owned();
        (template.at("name").text_or_empty().to_owned(), namespace)
    };
    if meant(old) != meant(new) {
        let template = new.at("spec").at("template");
        let detail = format!("{FIXED}; create another claim");
        findings.errors.push(FieldError::invalid(Rule::DataFixed, template.path(), template.shown(), detail));
    }
    check_claim_namespace(new, findings);
}

fn check_claim_namespace(object: &Node<'_>, findings: &mut Findings) {
    let namespace = object.at("spec").at("template").at("namespace");
    let own = object.at("metadata").at("namespace").text_or_empty();
    if let Some(found) = namespace.text().filter(|found| *found != own) {
        let detail = "must be empty or match the Metal3DataClaim namespace; cross-namespace template references are \
                      not allowed";
        findings.errors.push(FieldError::invalid(
            Rule::DataTemplateNamespace,
            namespace.path(),
            found,
            detail,
        ));
    }
}
