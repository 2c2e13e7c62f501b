//! Metadata that makes a node without a usable name.

use capm3_api::v1beta2::MetaData;

use crate::{
    lint::{Check, Draft, Example, Manifests, ObjectId, Rule, Severity},
    validation::is_object_name,
    wait::Code,
};

pub(in crate::lint) const RULE: Rule = Rule {
    code: Code::new("CAPM3-L016"),
    title: "a host name or uuid in the metadata cannot work",
    severity: Severity::Error,
    why: "cloud-init names the node after `local-hostname`, `local_hostname`, `hostname` or `name`. A \
          name that is no DNS name is refused by the kernel or by Kubernetes. Of machines that all have \
          one name only the first joins. The key `uuid` hides the uid of the host, by which the Node is \
          found.",
    mend: "use small letters, digits and dashes, and an index or an object name so that each machine has \
          a name of its own",
    example: Example {
        wrong: r#"metaData:
  indexes: [{key: local-hostname, prefix: Worker_}]"#,
        right: r#"metaData:
  indexes: [{key: local-hostname, prefix: worker-}]"#,
    },
    check: Check::Manifests(check),
};

/// Keys that name the node.
const NAMES: [&str; 4] = ["local-hostname", "local_hostname", "hostname", "name"];

fn check(manifests: &Manifests<'_>) -> Vec<(ObjectId, Draft)> {
    let mut drafts = Vec::new();
    for (_, _, template) in manifests.data_templates.iter() {
        if let Some(meta_data) = &template.object.spec.meta_data {
            let found = of_strings(meta_data).into_iter().chain(of_indexes(meta_data));
            drafts.extend(found.map(|draft| (template.id, draft)));
        }
    }
    drafts
}

fn of_strings(meta_data: &MetaData) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for (number, item) in meta_data.strings.iter().enumerate() {
        let place = format!("spec.metaData.strings[{number}].value");
        if item.key == "uuid" {
            let message = "uuid is the same for all machines and hides the uid of the host";
            drafts.push(Draft::new(place, message).help("use another key"));
        } else if NAMES.contains(&item.key.as_str()) {
            drafts.push(match is_object_name(&item.value) {
                true => Draft::new(place, format!("all machines get the name {}", item.value)).warning(),
                false => Draft::new(place, format!("{:?} is no DNS name", item.value)),
            });
        }
    }
    drafts
}

fn of_indexes(meta_data: &MetaData) -> Vec<Draft> {
    let mut drafts = Vec::new();
    for (number, item) in meta_data.indexes.iter().enumerate() {
        let (prefix, suffix) =
            (item.prefix.as_deref().unwrap_or_default(), item.suffix.as_deref().unwrap_or_default());
        let name = format!("{prefix}0{suffix}");
        if NAMES.contains(&item.key.as_str()) && !is_object_name(&name) {
            let member = if is_object_name(&format!("{prefix}0")) { "suffix" } else { "prefix" };
            let place = format!("spec.metaData.indexes[{number}].{member}");
            drafts.push(Draft::new(place, format!("{name:?} is no DNS name")));
        }
    }
    drafts
}
