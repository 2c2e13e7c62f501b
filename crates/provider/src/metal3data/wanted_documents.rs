//! Which of the two documents are wanted: those of the template that the user did not replace by a Secret of his own.

use capm3_api::v1beta2::{Metal3DataTemplate, Metal3DataTemplateSpec, Metal3Machine};
use capm3_domain::render::{Content, Inputs, RenderError, render_meta_data, render_network_data};

/// The template without the documents for which the machine names a Secret of the user: those are neither rendered nor do
/// they cost addresses.
pub fn wanted_spec(template: &Metal3DataTemplate, machine: Option<&Metal3Machine>) -> Metal3DataTemplateSpec {
    let mut spec = template.spec.clone();
    let given = |content: Content| {
        let secret = machine.and_then(|machine| match content {
            Content::MetaData => machine.spec.meta_data.as_ref(),
            Content::NetworkData => machine.spec.network_data.as_ref(),
        });
        secret.is_some_and(|secret| !secret.name_str().is_empty())
    };
    if given(Content::MetaData) {
        spec.meta_data = None;
    }
    if given(Content::NetworkData) {
        spec.network_data = None;
    }
    spec
}

/// The documents that a template asks for, metadata first.
pub fn wanted_documents(spec: &Metal3DataTemplateSpec) -> Vec<Content> {
    let meta_data = spec.meta_data.as_ref().map(|_| Content::MetaData);
    let network_data = spec.network_data.as_ref().map(|_| Content::NetworkData);
    meta_data.into_iter().chain(network_data).collect()
}

/// The document of a half; empty when the template has none.
pub fn render(
    content: Content,
    spec: &Metal3DataTemplateSpec,
    inputs: &Inputs<'_>,
) -> Result<String, RenderError> {
    let document = match content {
        Content::MetaData => spec.meta_data.as_ref().map(|m| render_meta_data(m, inputs)),
        Content::NetworkData => spec.network_data.as_ref().map(|n| render_network_data(n, inputs)),
    };
    document.unwrap_or_else(|| Ok(String::new()))
}
