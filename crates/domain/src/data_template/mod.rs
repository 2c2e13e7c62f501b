//! Which Metal3DataTemplate a machine gets: its rack decides.
//!
//! Takes the machine, the host it stands on and the Metal3MachineTemplate it was made from, gives a reference. Must
//! not look at what is rendered: once a claim exists its template is the truth, whatever changes later.

mod correction;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::BareMetalHost,
    reference::ObjectRef,
    v1beta2::{Metal3Machine, Metal3MachineTemplate},
    vocabulary::{MACHINE_TEMPLATE_GROUP_KIND, annotation, label},
};

pub use correction::{Correction, correction};

/// Name of the Metal3MachineTemplate that the machine was made from, in the machine's namespace. The control plane's
/// present template may be a newer one, so only the machine's own record counts.
///
/// ```
/// use capm3_domain::data_template::machine_template_name;
///
/// let machine = serde_json::from_str(r#"{"metadata": {"annotations": {
///     "cluster.x-k8s.io/cloned-from-name": "workers",
///     "cluster.x-k8s.io/cloned-from-groupkind": "Metal3MachineTemplate.infrastructure.cluster.x-k8s.io"}}}"#).unwrap();
/// assert_eq!(machine_template_name(&machine), Some("workers"));
/// ```
pub fn machine_template_name(machine: &Metal3Machine) -> Option<&str> {
    let kind = machine.metadata.annotation(annotation::CLONED_FROM_GROUP_KIND)?;
    let name = machine.metadata.annotation(annotation::CLONED_FROM_NAME)?;
    (kind == MACHINE_TEMPLATE_GROUP_KIND && !name.is_empty()).then_some(name)
}

/// The failure domain that counts: where the host really stands, or else where the machine was meant to be.
pub fn domain_key<'a>(machine: &'a Metal3Machine, host: Option<&'a BareMetalHost>) -> Option<&'a str> {
    let real = host.and_then(|host| host.metadata.label(label::FAILURE_DOMAIN));
    let filled = |domain: &&str| !domain.is_empty();
    let assigned = machine.spec.failure_domain.as_deref();
    real.filter(filled).or(assigned.filter(filled))
}

/// The data template that the machine should have as long as no claim exists. Before a host is taken `host` is none
/// and the assigned domain decides. Without a template, or with one that maps no domains, the machine keeps what it
/// has.
///
/// ```
/// use capm3_api::v1beta2::{Metal3Machine, Metal3MachineTemplate};
/// use capm3_domain::data_template::data_template_for;
///
/// let machine: Metal3Machine = serde_json::from_str(r#"{"spec": {"failureDomain": "rack1"}}"#).unwrap();
/// let template: Metal3MachineTemplate = serde_json::from_str(r#"{"metadata": {"namespace": "ns"}, "spec": {
///     "failureDomainDataTemplates": [{"failureDomain": "rack1", "dataTemplate": {"name": "dt-rack1"}}]}}"#).unwrap();
/// let reference = data_template_for(&machine, None, Some(&template)).unwrap();
/// assert_eq!((reference.name_str(), reference.namespace.as_deref()), ("dt-rack1", Some("ns")));
/// ```
pub fn data_template_for(
    machine: &Metal3Machine,
    host: Option<&BareMetalHost>,
    template: Option<&Metal3MachineTemplate>,
) -> Option<ObjectRef> {
    let mapping = template.filter(|template| maps_domains(template));
    let Some(template) = mapping else {
        return machine.spec.data_template.clone();
    };
    let rows = &template.spec.failure_domain_data_templates;
    let row = domain_key(machine, host).and_then(|key| rows.iter().find(|row| row.failure_domain == key));
    match row {
        Some(row) => Some(with_namespace(&row.data_template, template)),
        None => template.spec.template.spec.data_template.clone(),
    }
}

/// Whether the template maps failure domains at all: a machine made from such a template may get a data template
/// later although it has none now, so its host must not be written before that is settled.
pub fn maps_domains(template: &Metal3MachineTemplate) -> bool {
    !template.spec.failure_domain_data_templates.is_empty()
}

fn with_namespace(reference: &ObjectRef, template: &Metal3MachineTemplate) -> ObjectRef {
    let given = reference.namespace.clone().filter(|namespace| !namespace.is_empty());
    ObjectRef {
        name: reference.name.clone(),
        namespace: given.or_else(|| template.metadata.namespace.clone().map(Into::into)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn machine(domain: &str, data_template: serde_json::Value) -> Metal3Machine {
        let domain = (!domain.is_empty()).then_some(domain);
        serde_json::from_value(json!({
            "metadata": {"name": "m", "namespace": "ns"},
            "spec": {"failureDomain": domain, "dataTemplate": data_template}
        }))
        .unwrap()
    }

    fn host(domain: Option<&str>) -> BareMetalHost {
        let labels = domain.map(|domain| json!({label::FAILURE_DOMAIN: domain}));
        serde_json::from_value(json!({"metadata": {"name": "h", "labels": labels}})).unwrap()
    }

    /// A template with rack1 and rack2, and this default.
    fn template(default: serde_json::Value) -> Metal3MachineTemplate {
        serde_json::from_value(json!({
            "metadata": {"name": "t", "namespace": "ns"},
            "spec": {
                "template": {"spec": {"dataTemplate": default}},
                "failureDomainDataTemplates": [
                    {"failureDomain": "rack1", "dataTemplate": {"name": "dt-rack1"}},
                    {"failureDomain": "rack2", "dataTemplate": {"name": "dt-rack2", "namespace": "ns"}}
                ]
            }
        }))
        .unwrap()
    }

    /// Assigned domain, host (`-` none yet, `` without label), expected name, for a template with default `dt`.
    const TABLE: &[(&str, &str, &str, &str)] = &[
        ("rack1", "-", "dt-rack1", "mapped, before a host is taken"),
        ("rack1", "rack1", "dt-rack1", "host where it was meant to be"),
        ("rack1", "rack2", "dt-rack2", "host in another rack than assigned"),
        ("", "rack2", "dt-rack2", "no assigned domain, labelled host"),
        ("rack1", "", "dt-rack1", "host without label"),
        ("rack9", "-", "dt", "unmapped"),
        ("rack1", "rack9", "dt", "host in an unmapped rack"),
        ("", "-", "dt", "no domain at all, before a host is taken"),
        ("", "", "dt", "no domain at all"),
    ];

    #[test]
    fn the_rack_of_the_host_decides_then_the_assigned_one_then_the_default() {
        for (assigned, label, expected, why) in TABLE {
            let machine = machine(assigned, json!({"name": "held now"}));
            let host = (*label != "-").then(|| host(Some(*label).filter(|l| !l.is_empty())));
            let found = data_template_for(&machine, host.as_ref(), Some(&template(json!({"name": "dt"}))));
            assert_eq!(found.unwrap().name_str(), *expected, "{why}");
        }
    }

    #[test]
    fn an_empty_label_is_no_domain() {
        let machine = machine("rack1", json!(null));
        let found = data_template_for(&machine, Some(&host(Some(""))), Some(&template(json!(null))));
        assert_eq!(found.unwrap().name_str(), "dt-rack1");
    }

    #[test]
    fn without_a_default_an_unmapped_machine_gets_none() {
        let template = template(json!(null));
        assert_eq!(data_template_for(&machine("rack9", json!({"name": "old"})), None, Some(&template)), None);
        let mapped = data_template_for(&machine("rack1", json!(null)), None, Some(&template));
        assert_eq!(mapped.unwrap().name_str(), "dt-rack1");
        assert!(maps_domains(&template));
    }

    #[test]
    fn without_template_or_mapping_the_machine_keeps_what_it_has() {
        let machine = machine("rack1", json!({"name": "own"}));
        let mut bare = template(json!({"name": "dt"}));
        bare.spec.failure_domain_data_templates.clear();
        for template in [None, Some(&bare)] {
            let found = data_template_for(&machine, Some(&host(Some("rack1"))), template);
            assert_eq!(found, machine.spec.data_template);
        }
    }

    #[test]
    fn the_namespace_is_that_of_the_machine_template() {
        let template = template(json!({"name": "dt"}));
        for rack in ["rack1", "rack2"] {
            let found = data_template_for(&machine(rack, json!(null)), None, Some(&template)).unwrap();
            assert_eq!(found.namespace.as_deref(), Some("ns"));
        }
    }

    #[test]
    fn control_plane_and_worker_machines_are_treated_alike() {
        for role in [label::CONTROL_PLANE, "cluster.x-k8s.io/deployment-name"] {
            let mut machine = machine("rack2", json!(null));
            machine.metadata.labels = Some([(role.to_owned(), String::new())].into());
            let found = data_template_for(&machine, None, Some(&template(json!(null))));
            assert_eq!(found.unwrap().name_str(), "dt-rack2");
        }
    }

    #[test]
    fn only_a_machine_made_from_our_kind_of_template_has_one() {
        let named = |name: &str, kind: &str| {
            let annotations =
                json!({annotation::CLONED_FROM_NAME: name, annotation::CLONED_FROM_GROUP_KIND: kind});
            let machine = serde_json::from_value(json!({"metadata": {"annotations": annotations}})).unwrap();
            machine_template_name(&machine).map(str::to_owned)
        };
        assert_eq!(named("t", MACHINE_TEMPLATE_GROUP_KIND).as_deref(), Some("t"));
        assert_eq!(named("t", "Other.example.com"), None);
        assert_eq!(named("", MACHINE_TEMPLATE_GROUP_KIND), None);
        assert_eq!(machine_template_name(&Metal3Machine::default()), None);
    }
}
