//! Data templates that would give the same addresses out.

use capm3_api::v1beta2::Metal3DataTemplate;
use capm3_domain::render::{inline_limit, overlap};
use capm3_engine::{Memory, manifests::Problem};

use super::site::{Located, Site};

/// A warning for each pair of templates whose inline ranges overlap, at the place of the later one.
pub(super) fn find(site: &Site<'_>, memory: &Memory) -> Vec<Problem> {
    let mut ranged: Vec<Located<'_, Metal3DataTemplate>> = site.all(memory);
    ranged.retain(|found| inline_limit(&found.object.spec).is_some());
    let mut warnings = Vec::new();
    for (position, later) in ranged.iter().enumerate() {
        for earlier in ranged.iter().take(position) {
            if let Some(overlap) = overlap(&later.object, &earlier.object) {
                warnings.push(later.document.problem("spec", overlap));
            }
        }
    }
    warnings
}
