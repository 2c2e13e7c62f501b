//! What a conversion kept in an annotation of an object that was read from a server as v1beta1.

use crate::text;

/// A Metal3MachineTemplate of this version whose annotation holds this, with an image at this address.
fn template(version: &str, annotation: &str, url: &str) -> String {
    format!(
        "apiVersion: infrastructure.cluster.x-k8s.io/{version}\nkind: Metal3MachineTemplate\nmetadata:\n  name: t\n  annotations:\n    cluster.x-k8s.io/conversion-data: '{annotation}'\n    owner: me\nspec:\n  nodeReuse: false\n  template:\n    spec:\n      image: {{url: {url}, checksum: \"http://x/i.sha256\", checksumType: \"\", format: raw}}\n      hostSelector: {{}}\n"
    )
}

/// What the server stores: labels of the machines, which v1beta1 has no place for.
const LABELS: &str = r#"{"spec":{"template":{"metadata":{"labels":{"rack":"a"}},"spec":{"image":{"checksum":"http://x/i.sha256","diskFormat":"raw","url":"http://x/i"}}}}}"#;

/// What the server stores where v1beta1 shows all of it.
const NOTHING_MORE: &str = r#"{"spec":{"template":{"spec":{"image":{"checksum":"http://x/i.sha256","diskFormat":"raw","url":"http://x/i"}}}}}"#;

/// Labels that only v1beta2 can show come back, reported; the annotation goes, and another one stays.
#[test]
fn what_v1beta1_could_not_show_comes_back_from_the_annotation() {
    let run = text("kept", &template("v1beta1", LABELS, "http://x/i"), 0);
    run.gives(&["    metadata:\n      labels:\n        rack: a\n", "    owner: me\n"]).reports(&[
        "spec.template.metadata: missing -> {\"labels\":{\"rack\":\"a\"}}",
        "stdin:6: Metal3MachineTemplate t: metadata.annotations[cluster.x-k8s.io/conversion-data]: ",
    ]);
    assert!(!run.documents.contains("conversion-data"), "{}", run.documents);
}

/// What was changed in v1beta1 stays as it was changed, beside what comes back.
#[test]
fn what_was_changed_in_v1beta1_stays_changed() {
    text("kept-changed", &template("v1beta1", LABELS, "http://x/other"), 0)
        .gives(&["url: http://x/other\n", "        rack: a\n"]);
}

/// An annotation that cannot be read may hold something: the user must decide, and it stays.
#[test]
fn an_annotation_that_cannot_be_read_is_for_the_user_to_decide() {
    for (name, annotation) in [("json", "{"), ("version", r#"{"apiVersion":"x/v1alpha5","spec":{}}"#)] {
        text(&format!("kept-unreadable-{name}"), &template("v1beta1", annotation, "http://x/i"), 1)
            .gives(&["conversion-data"])
            .reports(&["error: stdin:6: ", "write: read the object from its server as v1beta2"]);
    }
}

/// A document that says that it is of v1beta2 may have been read so or not: what the annotation holds beyond it is not
/// taken unasked. One that holds nothing beyond it goes.
#[test]
fn an_annotation_in_a_document_of_v1beta2_is_not_taken_unasked() {
    let document =
        |annotation| template("v1beta2", annotation, "http://x/i").replace("format: raw", "diskFormat: raw");
    text("kept-v1beta2", &document(LABELS), 1).reports(&[
        "says otherwise of spec.template.metadata",
        "write: apiVersion of v1beta1 if it was read so",
    ]);
    let run = text("kept-v1beta2-same", &document(NOTHING_MORE), 0);
    assert!(!run.documents.contains("conversion-data"), "{}", run.documents);
}

/// The kinds of Cluster API are converted by Cluster API: an annotation that holds more than the document is reported, one
/// that does not goes.
#[test]
fn an_annotation_of_cluster_api_is_reported_where_it_holds_more() {
    let cluster = |annotation: &str| {
        format!(
            "apiVersion: cluster.x-k8s.io/v1beta1\nkind: Cluster\nmetadata:\n  name: c\n  annotations:\n    cluster.x-k8s.io/conversion-data: '{annotation}'\nspec:\n  paused: true\n  infrastructureRef: {{apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: Metal3Cluster, name: c}}\n"
        )
    };
    let reference = r#""infrastructureRef":{"apiGroup":"infrastructure.cluster.x-k8s.io","kind":"Metal3Cluster","name":"c"}"#;
    let run = text("kept-capi-same", &cluster(&format!("{{\"spec\":{{{reference},\"paused\":true}}}}")), 0);
    assert!(!run.documents.contains("annotations"), "{}", run.documents);
    text(
        "kept-capi",
        &cluster(&format!(
            "{{\"spec\":{{{reference},\"availabilityGates\":[{{\"conditionType\":\"X\"}}]}}}}"
        )),
        1,
    )
    .reports(&["has fields that are not in the document and are not restored: spec.availabilityGates"]);
}
