//! Golden vectors of the network data renderer.

#[path = "support/render.rs"]
mod render;
mod support;

use capm3_api::v1beta2::Metal3DataTemplateSpec;
use capm3_domain::render::render_network_data;

#[test]
fn golden_render_networkdata() {
    support::run("render-networkdata", |case| {
        let spec = Metal3DataTemplateSpec {
            network_data: case.optional_input("networkData")?,
            ..Metal3DataTemplateSpec::default()
        };
        render::judge(case, "networkData", &spec, |inputs| {
            spec.network_data.as_ref().map(|network_data| render_network_data(network_data, inputs))
        })
    });
}
