//! The two documents of one machine, or what is wrong with them and where.

use capm3_api::neighbours::BareMetalHost;
use capm3_domain::render::{Content, Inputs, Problem as Cause, RenderError, secret_name};
use capm3_engine::manifests::Problem;
use capm3_provider::metal3data::{render as render_half, wanted_documents, wanted_spec};

use super::{Rendered, case::Case};

/// Renders what the machine's template asks for.
pub(super) fn render(case: Case<'_>) -> Result<Rendered, Problem> {
    let (mut meta_data, mut network_data) = (None, None);
    if let (None, Some(template), Some(data)) = (&case.problem, &case.template, &case.data) {
        let spec = wanted_spec(&template.object, Some(&case.machine));
        let inputs = Inputs { data, objects: case.objects(), addresses: &case.addresses };
        for content in wanted_documents(&spec) {
            let document = render_half(content, &spec, &inputs);
            let document = document.map_err(|error| render_problem(&case, &error))?;
            match content {
                Content::MetaData => meta_data = Some(document),
                Content::NetworkData => network_data = Some(document),
            }
        }
    }
    let data = case.data.clone().unwrap_or_default();
    let secret = |content| case.here(&secret_name(content, &data, case.name()));
    let rendered = Rendered {
        namespace: Some(case.key().namespace),
        name: case.name().to_owned(),
        host: case.host_name().map(str::to_owned),
        data_template: case.template.as_ref().map(|template| template.document.key().name),
        index: data.spec.index,
        meta_data,
        network_data,
        nics: case.host.as_ref().and_then(inspected_nics),
        meta_data_secret: secret(Content::MetaData),
        network_data_secret: secret(Content::NetworkData),
    };
    case.problem.map_or(Ok(rendered), Err)
}

/// MAC and name of each NIC of an inspected host.
pub(crate) fn inspected_nics(host: &BareMetalHost) -> Option<Vec<(String, String)>> {
    let nics = &host.status.hardware.as_ref()?.nics;
    Some(
        nics.iter()
            .filter_map(|nic| Some((nic.mac.as_deref()?.to_owned(), nic.name.as_deref()?.to_owned())))
            .collect(),
    )
}

/// A render error at its place in the template, with the machine and the way out.
pub(super) fn render_problem(case: &Case<'_>, error: &RenderError) -> Problem {
    let document = case.template.as_ref().map_or(case.origin, |template| template.document);
    let host = case.host_name().map(|host| format!(" on host {host}")).unwrap_or_default();
    let (item, found) = (error.item(), error.found());
    let item = if item.is_empty() { String::new() } else { format!(", {item}") };
    let found = if found.is_empty() { String::new() } else { format!(" ({found})") };
    let message =
        format!("machine {}{host}{item}: {}{found}; {}", case.name(), error.problem, way_out(error));
    document.problem(&error.field(), message)
}

/// What would help where there are files only; otherwise as on a cluster.
fn way_out(error: &RenderError) -> String {
    match &error.problem {
        Cause::MissingObject { .. } | Cause::MissingAnnotatedObject { .. } => {
            "add BareMetalHosts to the files".to_owned()
        }
        // Network cards are not invented, unlike in the simulation: the output must be what the node gets.
        Cause::NoNics => {
            "give the host with its status, or with annotation inspect.metal3.io/hardwaredetails".to_owned()
        }
        _ => error.way_out(),
    }
}
