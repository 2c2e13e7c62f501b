//! The network data of each template: as an invented machine would get it, and as the machines of the files get it.

use std::collections::{BTreeMap, BTreeSet};

use capm3_api::{ipam::IpPool, v1beta2::Metal3DataTemplate};
use capm3_domain::{
    address::{AddressBook, AddressRequest, ClaimKind},
    cloud_init::Nics,
    lint::{
        Draft, Finding, MachineAddress, Manifests, NetworkData, ObjectId, Origin, Severity, is_nmstate,
        judge_addresses, judge_document, shape, sketch,
    },
    render::{Address, Inputs, PoolRef, Problem, RenderError, network_data_value},
};
use capm3_engine::ObjectKey;
use serde_json::Value;

use super::Options;
use crate::render::{Case, inspected_nics, wanted_spec};

/// What the rules about documents find.
pub(super) fn judge(manifests: &Manifests<'_>, cases: &[Case<'_>], options: &Options) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut of_template: BTreeMap<ObjectKey, Judge<'_>> = BTreeMap::new();
    for (namespace, name, template) in manifests.data_templates.iter() {
        let mut judge = Judge { id: template.id, template: &template.object, options, seen: BTreeSet::new() };
        let sketched = sketch(&template.object, |pool| first_address(manifests, namespace, pool));
        match sketched {
            Ok(Some(document)) => findings.extend(judge.sketched(&document)),
            Ok(None) => {}
            Err(error) => findings.push(failed(template.id, &error)),
        }
        of_template.insert(ObjectKey::new(namespace, name), judge);
    }
    findings.extend(of_secrets(manifests, options));
    let mut addresses = Vec::new();
    for case in cases {
        let Some(located) = &case.template else { continue };
        if let Some(judge) = of_template.get_mut(&located.document.key()) {
            findings.extend(judge.machine(case, &mut addresses));
        }
    }
    findings.extend(judge_addresses(&addresses, options.rules));
    findings
}

/// Network data of the user goes to the host as it is.
fn of_secrets(manifests: &Manifests<'_>, options: &Options) -> Vec<Finding> {
    let mut findings = Vec::new();
    for given in &manifests.user_network_data {
        let Ok(document) = &given.document else { continue };
        if !is_nmstate(document) {
            let nics = Nics::assumed(document);
            let data = NetworkData::new(document, &nics);
            let origin = Origin::Secret(&given.field);
            findings.extend(judge_document(&data, &options.targets, given.id, &origin, options.rules));
        }
    }
    findings
}

/// What a pool of the files gives to its first claim.
fn first_address(manifests: &Manifests<'_>, namespace: &str, pool: &PoolRef) -> Option<Address> {
    let pool: &IpPool =
        manifests.pools.get(namespace, &pool.name).filter(|_| pool.is_metal3())?.object.as_ref();
    let given =
        AddressBook::new(&pool.spec).choose(&AddressRequest::new(ClaimKind::IpClaim, "any"), 0).ok()?;
    Some(Address {
        address: given.address.to_string(),
        prefix: given.prefix,
        gateway: given.gateway.unwrap_or_default(),
        dns_servers: given.dns_servers,
    })
}

/// The documents of one template.
struct Judge<'a> {
    id: ObjectId,
    template: &'a Metal3DataTemplate,
    options: &'a Options,
    /// Shapes that were judged already.
    seen: BTreeSet<String>,
}

impl Judge<'_> {
    fn sketched(&mut self, document: &Value) -> Vec<Finding> {
        let nics = Nics::assumed(document);
        let data = NetworkData::new(document, &nics);
        self.seen.insert(shape(&data));
        self.document(&data)
    }

    fn machine(&mut self, case: &Case<'_>, addresses: &mut Vec<MachineAddress>) -> Vec<Finding> {
        let Some(data) = &case.data else { return Vec::new() };
        let spec = wanted_spec(self.template, Some(&case.machine));
        let Some(network_data) = &spec.network_data else { return Vec::new() };
        if case.problem.is_some() {
            return Vec::new();
        }
        let inputs = Inputs { data, objects: case.objects(), addresses: &case.addresses };
        let document = match network_data_value(network_data, &inputs) {
            Ok(document) => document,
            Err(error) if is_of_machine(&error.problem) => {
                return vec![failed(self.id, &error).of_machine(case.name())];
            }
            // What only the cluster can tell, such as the NICs of a host that is not inspected yet.
            Err(_) => return Vec::new(),
        };
        addresses.extend(self.addresses(&document, case));
        let known = case.host.as_ref().and_then(inspected_nics);
        let nics = known.clone().map_or_else(|| Nics::assumed(&document), Nics::new);
        let mut data = NetworkData::new(&document, &nics);
        if known.is_some() {
            data = data.of_inspected_host();
        }
        // Machines that were rendered alike are judged once.
        if !self.seen.insert(shape(&data)) {
            return Vec::new();
        }
        self.document(&data).into_iter().map(|finding| finding.of_machine(case.name())).collect()
    }

    fn addresses(&self, document: &Value, case: &Case<'_>) -> Vec<MachineAddress> {
        let origin = Origin::Template(&self.template.spec);
        let networks = document.get("networks").and_then(Value::as_array).into_iter().flatten().enumerate();
        let address = |(number, network): (usize, &Value)| {
            let address = network.get("ip_address")?.as_str()?.to_owned();
            let field = origin.field(&format!("networks[{number}].ip_address"));
            let key = case.key();
            Some(MachineAddress {
                namespace: key.namespace,
                machine: key.name,
                address,
                object: self.id,
                field,
            })
        };
        networks.filter_map(address).collect()
    }

    fn document(&self, data: &NetworkData<'_>) -> Vec<Finding> {
        let origin = Origin::Template(&self.template.spec);
        judge_document(data, &self.options.targets, self.id, &origin, self.options.rules)
    }
}

/// Whether a machine of the files cannot be rendered because of what the files say.
fn is_of_machine(problem: &Problem) -> bool {
    matches!(
        problem,
        Problem::NoSuchNic { .. }
            | Problem::NoBootMac { .. }
            | Problem::BadMac { .. }
            | Problem::MissingAnnotation { .. }
    )
}

/// A template that cannot be rendered, under the code that the controllers report.
fn failed(id: ObjectId, error: &RenderError) -> Finding {
    let (item, found) = (error.item(), error.found());
    let item = if item.is_empty() { String::new() } else { format!("{item}: ") };
    let found = if found.is_empty() { String::new() } else { format!(" ({found})") };
    let draft = Draft::new(error.field(), format!("{item}{}{found}", error.problem)).help(error.way_out());
    Finding::of_code(error.problem.code(), Severity::Error, id, draft)
}
