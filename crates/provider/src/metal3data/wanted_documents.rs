//! Which of the two documents are wanted: those of the template that the user did not replace by a Secret of his own.

use capm3_api::{
    metadata::MetadataExt,
    reference::SecretRef,
    v1beta2::{Metal3Data, Metal3DataTemplate, Metal3DataTemplateSpec, Metal3Machine},
    vocabulary::finalizer,
};
use capm3_domain::render::{
    Content, Inputs, RenderError, render_meta_data, render_network_data, secret_name,
};

use crate::finalizers::add_finalizer;

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

/// Whether the machine asks for data of the template of that name.
pub(crate) fn asks_for(machine: &Metal3Machine, template: &str) -> bool {
    machine.spec.data_template.as_ref().is_some_and(|asked| asked.name_str() == template)
}

/// Puts the finalizer on data and names its Secrets. Both are stored before anything hangs on them: with the data itself if
/// its machine is seen then, else by the controller of the data. `spec` is that of [`wanted_spec`].
pub(crate) fn hold(data: &mut Metal3Data, spec: &Metal3DataTemplateSpec, machine: &Metal3Machine) {
    add_finalizer(&mut data.metadata, finalizer::DATA);
    let namespace = data.metadata.namespace_str().to_owned();
    for content in wanted_documents(spec) {
        let name = secret_name(content, data, machine.metadata.name_str());
        let slot = match content {
            Content::MetaData => &mut data.spec.meta_data,
            Content::NetworkData => &mut data.spec.network_data,
        };
        *slot = Some(SecretRef::new(namespace.as_str(), name));
    }
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
