//! An object carries what a conversion to an older version left on it.

use capm3_api::{
    metadata::MetadataExt,
    v1beta2::{
        Metal3Cluster, Metal3Data, Metal3DataClaim, Metal3DataTemplate, Metal3Machine, Metal3MachineTemplate,
        Metal3Remediation,
    },
    vocabulary::annotation,
};
use capm3_engine::Object;

use super::{Finding, Repair, Rule, Severity, Step, View};

pub(in crate::audit) const RULE: Rule = Rule {
    code: "CAPM3-C066",
    severity: Severity::Info,
    title: "annotation of the conversion left on a stored object",
    why: "cluster.x-k8s.io/conversion-data is for objects read in an older version. Copied onto a stored object, by a manifest \
          that was exported in v1beta1 and applied again, it is large and says nothing any more.",
    repair: "The annotation is removed.",
    find,
};

fn find(view: &View<'_>) -> Vec<Finding> {
    [
        left::<Metal3Cluster>(view),
        left::<Metal3MachineTemplate>(view),
        left::<Metal3Machine>(view),
        left::<Metal3DataTemplate>(view),
        left::<Metal3DataClaim>(view),
        left::<Metal3Data>(view),
        left::<Metal3Remediation>(view),
    ]
    .concat()
}

fn left<K: Object>(view: &View<'_>) -> Vec<Finding> {
    let report = |object: &K| {
        let value = object.meta().annotation(annotation::CONVERSION_DATA)?;
        let finding = Finding::on(object, "carries an annotation of the conversion from an older version")
            .fact(
                object,
                &format!("metadata.annotations[{}]", annotation::CONVERSION_DATA),
                format!("{} bytes", value.len()),
            );
        let step = Step::unannotate(object, annotation::CONVERSION_DATA);
        Some(finding.repair(Repair::fix("remove the annotation", [step])))
    };
    view.not_deleting::<K>().iter().filter_map(|object| report(object)).collect()
}
