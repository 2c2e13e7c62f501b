//! Whether `spec.dataTemplate` of a machine has to be rewritten, and to what.

use std::fmt;

use capm3_api::{
    metadata::MetadataExt,
    neighbours::BareMetalHost,
    reference::ObjectRef,
    v1beta2::{Metal3DataClaim, Metal3Machine, Metal3MachineTemplate},
};

use super::{data_template_for, domain_key, maps_domains};
use crate::host::has_image;

/// A new value for `spec.dataTemplate`. Prints as a sentence for the event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Correction {
    /// What the machine has now.
    pub from: Option<ObjectRef>,
    /// What it should have.
    pub to: Option<ObjectRef>,
    /// The failure domain that decided; none if no domain did.
    pub domain: Option<String>,
    /// Whether it is what the machine claimed already.
    pub is_claimed: bool,
}

impl fmt::Display for Correction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = |reference: &Option<ObjectRef>| match reference {
            Some(reference) => format!("\"{}\"", reference.name_str()),
            None => "none".to_owned(),
        };
        write!(f, "data template changed from {} to {}", name(&self.from), name(&self.to))?;
        match &self.domain {
            _ if self.is_claimed => f.write_str(", which the claim of this machine names"),
            Some(domain) => write!(f, " for failure domain \"{domain}\""),
            None => Ok(()),
        }
    }
}

/// Whether the machine's `spec.dataTemplate` has to be rewritten before the next step.
///
/// Until a claim exists or the host has an image, the rack decides ([`data_template_for`]). From then on the claim does: a rewrite of the
/// machine by others is put right, and changes of mapping, domain or host have no effect. A machine whose template
/// maps no domains is left alone throughout.
///
/// ```
/// use capm3_api::v1beta2::{Metal3Machine, Metal3MachineTemplate};
/// use capm3_domain::data_template::correction;
///
/// let machine: Metal3Machine = serde_json::from_str(r#"{"spec": {"failureDomain": "rack1"}}"#).unwrap();
/// let template: Metal3MachineTemplate = serde_json::from_str(r#"{"spec": {
///     "failureDomainDataTemplates": [{"failureDomain": "rack1", "dataTemplate": {"name": "dt-rack1"}}]}}"#).unwrap();
/// let correction = correction(&machine, None, Some(&template), None).unwrap();
/// assert_eq!(
///     correction.to_string(),
///     "data template changed from none to \"dt-rack1\" for failure domain \"rack1\""
/// );
/// ```
pub fn correction(
    machine: &Metal3Machine,
    host: Option<&BareMetalHost>,
    template: Option<&Metal3MachineTemplate>,
    claim: Option<&Metal3DataClaim>,
) -> Option<Correction> {
    let template = template.filter(|template| maps_domains(template))?;
    let (to, domain) = match claim {
        Some(claim) => (Some(claim.spec.template.clone()?), None),
        // Rendered data without a claim in sight: the claim is being moved or deleted, so nothing may shift now.
        None if machine.status.rendered_data.is_some() => return None,
        // A host that has an image does not read its data again.
        None if host.is_some_and(has_image) => return None,
        None => {
            (data_template_for(machine, host, Some(template)), domain_key(machine, host).map(str::to_owned))
        }
    };
    let from = machine.spec.data_template.clone();
    let namespace = machine.metadata.namespace_str();
    (!same(&from, &to, namespace)).then_some(Correction { from, to, domain, is_claimed: claim.is_some() })
}

/// Whether two references name the same object, seen from a namespace.
fn same(a: &Option<ObjectRef>, b: &Option<ObjectRef>, namespace: &str) -> bool {
    let resolved = |reference: &Option<ObjectRef>| {
        reference.as_ref().map(|reference| {
            let given = reference.namespace.as_deref().filter(|given| !given.is_empty());
            (given.unwrap_or(namespace).to_owned(), reference.name_str().to_owned())
        })
    };
    resolved(a) == resolved(b)
}

#[cfg(test)]
mod tests {
    use capm3_api::vocabulary::label;
    use serde_json::json;

    use super::*;

    fn machine(domain: &str, data_template: serde_json::Value) -> Metal3Machine {
        serde_json::from_value(json!({
            "metadata": {"name": "m", "namespace": "ns"},
            "spec": {"failureDomain": domain, "dataTemplate": data_template}
        }))
        .unwrap()
    }

    fn template() -> Metal3MachineTemplate {
        serde_json::from_value(json!({
            "metadata": {"name": "t", "namespace": "ns"},
            "spec": {
                "template": {"spec": {"dataTemplate": {"name": "dt"}}},
                "failureDomainDataTemplates": [{"failureDomain": "rack1", "dataTemplate": {"name": "dt-rack1"}}]
            }
        }))
        .unwrap()
    }

    fn claim(template: &str) -> Metal3DataClaim {
        serde_json::from_value(json!({"spec": {"template": {"name": template, "namespace": "ns"}}})).unwrap()
    }

    fn target(correction: Option<Correction>) -> Option<String> {
        Some(correction?.to?.name_str().to_owned())
    }

    #[test]
    fn before_the_claim_the_rack_decides() {
        let to = |domain: &str, held: serde_json::Value| {
            target(correction(&machine(domain, held), None, Some(&template()), None))
        };
        assert_eq!(to("rack1", json!({"name": "dt"})).as_deref(), Some("dt-rack1"));
        assert_eq!(to("rack9", json!({"name": "dt-rack1"})).as_deref(), Some("dt"));
        assert_eq!(to("rack1", json!({"name": "dt-rack1"})), None, "same, namespace left out");
        assert_eq!(to("rack9", json!({"name": "dt", "namespace": "ns"})), None, "same, namespace written");
    }

    #[test]
    fn a_host_in_another_rack_is_reported_in_the_event() {
        let host: BareMetalHost =
            serde_json::from_value(json!({"metadata": {"labels": {label::FAILURE_DOMAIN: "rack1"}}}))
                .unwrap();
        let machine = machine("rack9", json!({"name": "dt"}));
        let correction = correction(&machine, Some(&host), Some(&template()), None).unwrap();
        assert_eq!(
            correction.to_string(),
            "data template changed from \"dt\" to \"dt-rack1\" for failure domain \"rack1\""
        );
    }

    #[test]
    fn once_a_claim_exists_it_is_the_truth() {
        let machine = machine("rack1", json!({"name": "dt"}));
        assert_eq!(correction(&machine, None, Some(&template()), Some(&claim("dt"))), None);
        let put_back = correction(&machine, None, Some(&template()), Some(&claim("dt-old")));
        assert_eq!(
            put_back.as_ref().map(ToString::to_string).as_deref(),
            Some("data template changed from \"dt\" to \"dt-old\", which the claim of this machine names")
        );
        assert_eq!(target(put_back).as_deref(), Some("dt-old"));
    }

    #[test]
    fn rendered_data_freezes_the_reference_though_no_claim_is_seen() {
        let mut machine = machine("rack1", json!({"name": "dt"}));
        machine.status.rendered_data = Some(ObjectRef::new("ns", "dt-0"));
        assert_eq!(correction(&machine, None, Some(&template()), None), None);
    }

    /// It would get an index and addresses that its node never hears of.
    #[test]
    fn a_machine_whose_host_has_an_image_stays_as_it_is() {
        for payload in
            [json!({"image": {"url": "http://image"}}), json!({"customDeploy": {"method": "install"}})]
        {
            let host: BareMetalHost = serde_json::from_value(
                json!({"metadata": {"labels": {label::FAILURE_DOMAIN: "rack1"}}, "spec": payload}),
            )
            .unwrap();
            let machine = machine("", serde_json::Value::Null);
            assert_eq!(correction(&machine, Some(&host), Some(&template()), None), None, "{payload}");
            let mut blank = host.clone();
            (blank.spec.image, blank.spec.custom_deploy) = (None, None);
            assert!(correction(&machine, Some(&blank), Some(&template()), None).is_some());
        }
    }

    #[test]
    fn without_a_mapping_nothing_is_ever_rewritten() {
        let machine = machine("rack1", json!({"name": "other"}));
        let mut bare = template();
        bare.spec.failure_domain_data_templates.clear();
        for template in [None, Some(&bare)] {
            assert_eq!(correction(&machine, None, template, None), None);
            assert_eq!(correction(&machine, None, template, Some(&claim("dt"))), None);
        }
    }
}
