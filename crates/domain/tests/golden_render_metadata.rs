//! Golden vectors of the metadata renderer.

#[path = "support/render.rs"]
mod render;
mod support;

use capm3_api::v1beta2::Metal3DataTemplateSpec;
use capm3_domain::render::render_meta_data;

#[test]
fn golden_render_metadata() {
    support::run("render-metadata", |case| {
        let spec = Metal3DataTemplateSpec {
            meta_data: case.optional_input("metaData")?,
            ..Metal3DataTemplateSpec::default()
        };
        render::judge(case, "metaData", &spec, |inputs| {
            spec.meta_data.as_ref().map(|meta_data| render_meta_data(meta_data, inputs))
        })
    });
}
