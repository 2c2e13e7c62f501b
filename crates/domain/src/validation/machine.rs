//! Metal3Machine and Metal3MachineTemplate: one spec, judged in both places by the same rules.

use std::collections::BTreeSet;

use super::{FieldError, Rule, findings::Findings, image, node::Node, reference, selector};

pub(super) fn check_machine(object: &Node<'_>, findings: &mut Findings) {
    check_spec(&object.at("spec"), "Spec.Image", namespace(object), true, findings);
}

pub(super) fn check_template(object: &Node<'_>, findings: &mut Findings) {
    let spec = object.at("spec");
    check_spec(
        &spec.at("template").at("spec"),
        "Spec.Template.Spec.Image",
        namespace(object),
        false,
        findings,
    );
    check_failure_domains(&spec.at("failureDomainDataTemplates"), namespace(object), findings);
}

fn namespace<'a>(object: &Node<'a>) -> &'a str {
    object.at("metadata").at("namespace").text_or_empty()
}

/// `is_machine`: the Go provider refuses foreign Secrets on machines, but lets templates of such machines pass.
fn check_spec(spec: &Node<'_>, image_path: &str, namespace: &str, is_machine: bool, findings: &mut Findings) {
    image::check(spec, image_path, findings);
    for secret in ["userData", "metaData", "networkData"] {
        reference::check_secret(&spec.at(secret), namespace, is_machine, findings);
    }
    reference::check_data_template(&spec.at("dataTemplate"), namespace, findings);
    selector::check(&spec.at("hostSelector"), findings);
}

/// The data template of each failure domain: one a domain, and one that can be used.
fn check_failure_domains(list: &Node<'_>, namespace: &str, findings: &mut Findings) {
    let mut seen = BTreeSet::new();
    for item in list.items() {
        let domain = item.at("failureDomain");
        match domain.text() {
            None => {
                let detail = "name the failure domain whose machines get this data template";
                findings.newer.push(FieldError::required(Rule::FailureDomain, domain.path(), detail));
            }
            Some(name) if !seen.insert(name) => {
                let detail = "a failure domain has one data template: remove one of the entries";
                findings.newer.push(FieldError::duplicate(
                    Rule::FailureDomainTwice,
                    domain.path(),
                    name,
                    detail,
                ));
            }
            Some(_) => {}
        }
        let template = item.at("dataTemplate");
        if template.at("name").text().is_none() {
            let detail = "name the Metal3DataTemplate of this failure domain";
            findings.newer.push(FieldError::required(
                Rule::FailureDomain,
                template.at("name").path(),
                detail,
            ));
        }
        reference::check_data_template(&template, namespace, findings);
    }
}
