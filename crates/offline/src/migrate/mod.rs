//! Older documents in, documents of v1beta2 out, with every change reported.
//!
//! Takes documents as they were read, of any version and with the slips that people make; gives the same documents in
//! the form of v1beta2. The form of a document decides, not its `apiVersion`. Where two readings would differ in
//! effect it guesses neither: the problem is reported. Its own output it leaves as it is.

mod cluster_api;
mod data;
mod data_template;
mod draft;
mod forms;
mod identity;
mod infra_cluster;
mod kept;
mod machine;
mod metadata;
mod names;
mod owners;
mod path;
mod pool_prefix;
mod portable;
mod refusals;
mod report;
mod scalar;
mod secret;
mod shape;
mod syntax;
mod tables;
mod texts;
mod walk;
mod yaml;

use capm3_engine::manifests::Document;
pub use report::{Change, Migration, Problem, Severity, SourcePlace};
pub use texts::migrate_texts;
pub use yaml::to_yaml;

use self::{draft::Draft, identity::Family, owners::Owners, path::Path, shape::Shapes};

/// What the user wants beyond the form of v1beta2.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Remove members that no version knows instead of asking.
    pub prune: bool,
    /// Write only what the reference implementation knows too: pools instead of inline ranges.
    pub portable: bool,
}

/// Brings documents to the form of v1beta2.
pub fn migrate(documents: &[Document], options: Options) -> Migration {
    let shapes = Shapes::of_own_kinds();
    let input = Input { documents, owners: Owners::among(documents) };
    let mut migration = Migration::default();
    for document in documents {
        let mut draft = Draft::new(document);
        let family = one(&mut draft, shapes, &input, options);
        let pools = if options.portable { portable::convert(&mut draft, documents) } else { vec![] };
        if !matches!(family, Family::Foreign | Family::Own { is_fragment: true }) {
            refusals::report(&mut draft);
        }
        draft.changes.sort_by_key(|change| change.place.line);
        draft.problems.sort_by_key(|problem| problem.place.line);
        migration.documents.push(draft.value);
        migration.documents.extend(pools);
        migration.changes.append(&mut draft.changes);
        migration.problems.append(&mut draft.problems);
    }
    migration
}

/// What documents may need to know of each other.
struct Input<'a> {
    documents: &'a [Document],
    owners: Owners,
}

fn one(draft: &mut Draft<'_>, shapes: &Shapes, input: &Input<'_>, options: Options) -> Family {
    let family = identity::establish(draft, shapes);
    if family == Family::Foreign {
        return family;
    }
    metadata::check(draft, options.prune);
    if family == Family::Neighbour {
        return family;
    }
    draft.remove(&Path::of("status"), "controllers write it; what is in a file is not used");
    match family {
        Family::Foreign | Family::Neighbour => {}
        Family::ClusterApi => {
            cluster_api::convert(draft);
            kept::compare(draft);
        }
        Family::Secret => secret::convert(draft),
        Family::Own { is_fragment } => own(draft, shapes, input, options, is_fragment),
    }
    input.owners.repair(draft);
    family
}

/// One of the provider's kinds.
fn own(draft: &mut Draft<'_>, shapes: &Shapes, input: &Input<'_>, options: Options, is_fragment: bool) {
    to_shape(draft, shapes, options);
    if kept::restore(draft) {
        // A server of another build may have stored what this one does not know.
        to_shape(draft, shapes, options);
    }
    let kind = draft.text("kind").to_owned();
    match kind.as_str() {
        "Metal3Machine" => machine::check(draft, "spec", is_fragment),
        "Metal3MachineTemplate" => machine::check(draft, "spec.template.spec", is_fragment),
        "Metal3Data" => data::complete_and_check(draft),
        "Metal3DataTemplate" => {
            data_template::check(draft);
            pool_prefix::settle(draft, input.documents);
        }
        _ => {}
    }
}

/// Gives a document the members of v1beta2; one that has them stays as it is.
fn to_shape(draft: &mut Draft<'_>, shapes: &Shapes, options: Options) {
    machine::lift_provider_spec(draft);
    infra_cluster::cloud_provider(draft);
    if let Some(shape) = shapes.of(draft.text("kind")) {
        walk::walk(draft, &Path::default(), shape, options.prune);
    }
}
