//! The value checks of one schema node: what a string, a number or any value must satisfy. `validate` walks the
//! object and asks them.

use serde_json::{Number, Value};

use super::{
    Rules, Schema,
    path::Path,
    validate::{Compared, body, check, invalid},
};
use crate::field::{FieldError, quote, show};

impl Rules {
    /// Checks that apply to values of any type.
    pub(super) fn check(&self, value: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
        if let Some(allowed) = &self.allowed
            && !allowed.contains(value)
        {
            errors.push(FieldError::not_supported(path.text(), &show(value), allowed));
        }
        self.check_combinations(value, path, errors);
    }

    fn check_combinations(&self, value: &Value, path: &Path<'_>, errors: &mut Vec<FieldError>) {
        let fails = |schema: &Schema| {
            let mut errors = Vec::new();
            check(schema, Compared { new: value, old: None }, path, false, &mut errors);
            errors
        };
        let mut complain = |text: &str| {
            let at = path.text();
            errors.push(FieldError::invalid(at.clone(), "\"\"", &format!("{at:?} {text}")));
        };
        if !self.any_of.is_empty() && self.any_of.iter().all(|schema| !fails(schema).is_empty()) {
            complain("must validate at least one schema (anyOf)");
        }
        if !self.one_of.is_empty() {
            match self.one_of.iter().filter(|schema| fails(schema).is_empty()).count() {
                0 => complain("must validate one and only one schema (oneOf). Found none valid"),
                1 => {}
                n => complain(&format!(
                    "must validate one and only one schema (oneOf). Found {n} valid alternatives"
                )),
            }
        }
        if self.not.as_ref().is_some_and(|schema| fails(schema).is_empty()) {
            complain("must not validate the schema (not)");
        }
        let unmet: Vec<FieldError> = self.all_of.iter().flat_map(fails).collect();
        if !unmet.is_empty() {
            complain("must validate all the schemas (allOf)");
            errors.extend(unmet);
        }
    }

    pub(super) fn check_text(&self, text: &str, path: &Path<'_>, errors: &mut Vec<FieldError>) {
        if self.min_length.is_some() || self.max_length.is_some() {
            let length = text.chars().count() as u64;
            if let Some(max) = self.max_length.filter(|max| length > *max) {
                errors.push(FieldError::too_long(path.text(), max));
            }
            if let Some(min) = self.min_length.filter(|min| length < *min) {
                errors.push(invalid(path, &quote(text), &format!("should be at least {min} chars long")));
            }
        }
        if let Some(pattern) = self.pattern.as_ref().filter(|pattern| !pattern.matches(text)) {
            errors.push(invalid(path, &quote(text), &format!("should match '{}'", pattern.source)));
        }
        if let Some(format) = self.format.filter(|format| !format.fits_text(text)) {
            let complaint = body(path, &format!("must be of type {}: {text:?}", format.name()));
            errors.push(FieldError::type_invalid(path.text(), &quote(text), &complaint));
        }
    }

    pub(super) fn check_number(&self, number: &Number, path: &Path<'_>, errors: &mut Vec<FieldError>) {
        let Some(value) = number.as_f64() else { return };
        let mut complain = |complaint: String| errors.push(invalid(path, &number.to_string(), &complaint));
        if let Some(max) = self.maximum {
            if max.exclusive && value >= max.limit {
                complain(format!("should be less than {}", max.limit));
            } else if value > max.limit {
                complain(format!("should be less than or equal to {}", max.limit));
            }
        }
        if let Some(min) = self.minimum {
            if min.exclusive && value <= min.limit {
                complain(format!("should be greater than {}", min.limit));
            } else if value < min.limit {
                complain(format!("should be greater than or equal to {}", min.limit));
            }
        }
        if let Some(factor) =
            self.multiple_of.filter(|factor| *factor != 0.0 && (value / factor).fract() != 0.0)
        {
            complain(format!("should be a multiple of {factor}"));
        }
        if let Some(format) = self.format.filter(|format| !format.fits_integer(value)) {
            complain(format!("must be of type {}: {:?}", format.name(), number.to_string()));
        }
    }
}
