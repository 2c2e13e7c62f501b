//! Data templates that would give the same addresses out.

use capm3_domain::render::{inline_limit, overlap};
use capm3_engine::manifests::Problem;

use super::site::{Located, Site};

/// A warning for each pair of templates whose inline ranges overlap, at the place of the later one.
pub(super) fn find(site: &Site<'_>) -> Vec<Problem> {
    let ranged: Vec<&Located<'_, _>> =
        site.data_templates.values().filter(|found| inline_limit(&found.object.spec).is_some()).collect();
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
