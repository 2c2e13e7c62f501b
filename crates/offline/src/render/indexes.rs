//! The data template and the index of each machine: what its data says, else the lowest free index.

use std::collections::BTreeMap;

use capm3_api::{
    metadata::MetadataExt,
    reference::ObjectRef,
    v1beta2::{Metal3Data, Metal3DataSpec, Metal3DataTemplate},
};
use capm3_domain::{
    data_template::{correction, machine_template_name},
    index::{FreeIndexes, Index, data_name, name_prefix, space_of_data, space_of_template},
};
use capm3_engine::{ObjectKey, manifests::Problem};

use super::{
    case::Case,
    site::{Located, Site},
};

/// Gives each machine its data template, and its data with an index.
pub(super) fn give<'d>(site: &'d Site<'d>, cases: &mut [Case<'d>]) {
    let mut books = Books::of(site);
    // What is given out already is entered before anything new is.
    for case in cases.iter_mut().filter(|case| case.problem.is_none()) {
        choose_template(site, case);
    }
    for case in cases.iter_mut().filter(|case| case.problem.is_none()) {
        if let Some(template) = case.template {
            books.give(site, template, case);
        }
    }
}

/// The template by claim or rack, as the controllers set it.
fn choose_template<'d>(site: &'d Site<'d>, case: &mut Case<'d>) {
    let template = machine_template_name(&case.machine).map(|name| case.here(name));
    let template = template.and_then(|key| site.machine_templates.get(&key)).map(|found| &found.object);
    let claim = site.claims.get(&case.key()).map(|found| &found.object);
    if let Some(correction) = correction(&case.machine, case.host.as_ref(), template, claim) {
        case.machine.spec.data_template = correction.to;
    }
    let Some(reference) = case.machine.spec.data_template.clone() else { return };
    let home = case.machine.metadata.namespace_str();
    let namespace = reference.namespace.as_deref().filter(|namespace| !namespace.is_empty());
    if namespace.is_some_and(|namespace| namespace != home) {
        let message = format!("a data template must be in the machine's namespace {home}");
        return case.fail("spec.dataTemplate.namespace", message);
    }
    let key = case.here(reference.name_str());
    match site.data_templates.get(&key) {
        Some(template) => case.template = Some(template),
        None => case.problem = Some(missing_template(site, case, &key)),
    }
}

/// At the line that names the template: in the machine of the files, else in the template that the machine is made from.
fn missing_template(site: &Site<'_>, case: &Case<'_>, key: &ObjectKey) -> Problem {
    let message = format!("machine {}: Metal3DataTemplate {key} is not in the files; add it", case.name());
    let made_from = machine_template_name(&case.machine).map(|name| case.here(name));
    let made_from = made_from.and_then(|key| site.machine_templates.get(&key));
    let Some(found) = made_from else { return case.origin.problem("spec.dataTemplate", message) };
    let rows = found.object.spec.failure_domain_data_templates.iter();
    let row = rows.enumerate().find(|(_, row)| row.data_template.name_str() == key.name);
    match row {
        Some((row, _)) => {
            let field = format!("spec.failureDomainDataTemplates[{row}].dataTemplate");
            found.document.problem(&field, message)
        }
        None => found.document.problem("spec.template.spec.dataTemplate", message),
    }
}

/// Which indexes are given out, and to whom.
struct Books<'d> {
    by_claim: BTreeMap<ObjectKey, Vec<&'d Metal3Data>>,
    free: BTreeMap<ObjectKey, FreeIndexes>,
}

impl<'d> Books<'d> {
    fn of(site: &'d Site<'d>) -> Self {
        let mut books = Self { by_claim: BTreeMap::new(), free: BTreeMap::new() };
        for (key, found) in &site.datas {
            let data = &found.object;
            let here = |name: &str| ObjectKey::new(&key.namespace, name);
            if let Some(claim) = &data.spec.claim {
                books.by_claim.entry(here(claim.name_str())).or_default().push(data);
            }
            let Some(index) = data.spec.index.and_then(Index::new) else { continue };
            // It counts in the space of its own key and in that of the template that it names.
            let template = data.spec.template.as_ref().map(|template| here(template.name_str()));
            let template = template.and_then(|key| site.data_templates.get(&key));
            let spaces = [space_of_data(data), template.map(|found| space_of_template(&found.object))];
            for space in spaces.into_iter().flatten() {
                books.free.entry(here(space)).or_default().take(index);
            }
        }
        books
    }

    fn give(&mut self, site: &Site<'_>, template: &Located<'_, Metal3DataTemplate>, case: &mut Case<'_>) {
        let key = template.document.key();
        let claimed = self.by_claim.get(&case.key()).into_iter().flatten();
        let is_of = |data: &&&Metal3Data| {
            let of = data.spec.template.as_ref().map(|template| template.name_str());
            of == Some(key.name.as_str()) && !data.metadata.is_deleting()
        };
        if let Some(data) = claimed.into_iter().find(is_of) {
            case.data = Some((*data).clone());
            return;
        }
        let claim = site.claims.get(&case.key()).map(|found| &found.object);
        let of_machine = case.machine.status.rendered_data.as_ref();
        let named = of_machine.or_else(|| claim.and_then(|claim| claim.status.rendered_data.as_ref()));
        if let Some(named) = named.map(|named| case.here(named.name_str())) {
            match site.datas.get(&named) {
                Some(found) => case.data = Some(found.object.clone()),
                None => {
                    case.fail("", format!("Metal3Data {named}, which it uses, is not in the files; add it"))
                }
            }
            return;
        }
        match self.next(site, &template.object) {
            Some(index) => case.data = Some(data_of(&template.object, case, index)),
            None => case.fail("", format!("every index of Metal3DataTemplate {key} is in use")),
        }
    }

    /// The lowest free index whose name nobody else has.
    fn next(&mut self, site: &Site<'_>, template: &Metal3DataTemplate) -> Option<Index> {
        let namespace = template.metadata.namespace_str();
        let free = self.free.entry(ObjectKey::new(namespace, space_of_template(template))).or_default();
        loop {
            let index = free.take_lowest()?;
            let name = data_name(prefix_of(template), index);
            if !site.datas.contains_key(&ObjectKey::new(namespace, name)) {
                return Some(index);
            }
        }
    }
}

fn prefix_of(template: &Metal3DataTemplate) -> &str {
    name_prefix(space_of_template(template), template.metadata.name_str())
}

fn data_of(template: &Metal3DataTemplate, case: &Case<'_>, index: Index) -> Metal3Data {
    let namespace = template.metadata.namespace_str();
    let mut data = Metal3Data {
        spec: Metal3DataSpec {
            index: Some(index.get()),
            template: Some(ObjectRef::new(namespace, template.metadata.name_str())),
            claim: Some(ObjectRef::new(namespace, case.name())),
            ..Metal3DataSpec::default()
        },
        ..Metal3Data::default()
    };
    data.metadata.name = Some(data_name(prefix_of(template), index));
    data.metadata.namespace = Some(namespace.to_owned());
    data
}
