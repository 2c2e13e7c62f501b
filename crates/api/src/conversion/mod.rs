//! Conversion between v1beta2, the hub that is stored, and v1beta1.
//!
//! Takes and gives JSON, so that a member that this build does not know is passed on instead of being dropped. Every
//! step is total: whatever is given, the answer is an object or an error, never a panic.
//!
//! On the way to v1beta1 the stored object is kept in an annotation where v1beta1 cannot show all of it (always, for the
//! four kinds whose annotation other programs know). On the way back a three-way merge returns what v1beta1 did not show,
//! while every change made in v1beta1 stays.

mod cluster;
mod data;
mod data_template;
pub mod duration;
mod json;
mod machine;
mod merge;
mod network_data;
mod reference;
mod remediation;
mod schema;
mod status;
mod stored;
mod time;

use serde_json::Value;
use thiserror::Error;

use self::json::{Object, take};
use crate::{v1beta1, v1beta2};

/// Why an object cannot be given in another version.
#[derive(Debug, Error)]
pub enum ConversionError {
    /// Not JSON members with `apiVersion` and `kind`.
    #[error("an object needs the members apiVersion and kind, both text")]
    NotAnObject,
    /// The metadata is no object, so that nothing can be kept in it.
    #[error("metadata must be an object")]
    Metadata,
    /// Not one of the provider's kinds.
    #[error("{kind} of {api_version} cannot be converted: it is none of the kinds of {group}", group = v1beta2::GROUP)]
    Kind {
        /// The kind that was given.
        kind: String,
        /// The version that was given.
        api_version: String,
    },
    /// No such version.
    #[error("{api_version} is not served: {known_hub} and {known_spoke} are", known_hub = v1beta2::API_VERSION, known_spoke = v1beta1::API_VERSION)]
    Version {
        /// The version that was given or asked for.
        api_version: String,
    },
    /// The annotation does not hold what a conversion wrote.
    #[error(
        "annotation cluster.x-k8s.io/conversion-data is not a JSON object: {source}; remove the annotation"
    )]
    StoredData {
        /// What the parser says.
        source: serde_json::Error,
    },
    /// A duration that cannot be read.
    #[error("{path}: {found} is not a duration such as \"5m0s\" or \"300s\"")]
    Timeout {
        /// Where it stands.
        path: String,
        /// What stands there.
        found: String,
    },
}

/// Gives `object` in another version of its kind; `to` is an `apiVersion` such as
/// `infrastructure.cluster.x-k8s.io/v1beta1`. An object that is already in that version is given back as it is.
///
/// # Errors
/// If the object is of another kind or version, or if the older version holds something that cannot be read.
pub fn convert(object: Value, to: &str) -> Result<Value, ConversionError> {
    let Value::Object(mut object) = object else { return Err(ConversionError::NotAnObject) };
    let text = |name: &str| object.get(name).and_then(Value::as_str).map(str::to_owned);
    let (Some(from), Some(kind)) = (text("apiVersion"), text("kind")) else {
        return Err(ConversionError::NotAnObject);
    };
    if from == to {
        return Ok(Value::Object(object));
    }
    let Some(kind) = KINDS.iter().find(|it| it.name == kind) else {
        return Err(ConversionError::Kind { kind, api_version: from });
    };
    match (from.as_str(), to) {
        (v1beta1::API_VERSION, v1beta2::API_VERSION) => kind.to_hub(&mut object)?,
        (v1beta2::API_VERSION, v1beta1::API_VERSION) => kind.to_spoke(&mut object)?,
        (v1beta1::API_VERSION | v1beta2::API_VERSION, _) => {
            return Err(ConversionError::Version { api_version: to.to_owned() });
        }
        _ => return Err(ConversionError::Version { api_version: from }),
    }
    object.insert("apiVersion".to_owned(), Value::String(to.to_owned()));
    Ok(Value::Object(object))
}

/// Gives an object that has the form of v1beta2 already, but was read in v1beta1 and still carries the annotation, with
/// what v1beta1 did not show of it and without the annotation. What the object says otherwise than was shown stays.
///
/// # Errors
/// If the object is of another kind, or if the annotation holds something that cannot be read.
pub fn restore(object: Value) -> Result<Value, ConversionError> {
    let Value::Object(mut object) = object else { return Err(ConversionError::NotAnObject) };
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (kind, api_version) = (text("kind"), text("apiVersion"));
    let Some(kind) = KINDS.iter().find(|it| it.name == kind) else {
        return Err(ConversionError::Kind { kind, api_version });
    };
    let hub = stored::take_off(&mut object)?;
    kind.bring_back(&mut object, hub)?;
    Ok(Value::Object(object))
}

/// How one kind is converted.
struct Kind {
    name: &'static str,
    up: fn(&mut Object) -> Result<(), ConversionError>,
    down: fn(&mut Object),
    /// Whether the stored object is always kept in the annotation: other programs expect it there.
    always_kept: bool,
    /// Whether Go's kind has a status, so that even an empty one is kept.
    has_status: bool,
    /// Takes out of the stored object what does not come back.
    settle: fn(&mut Object),
}

const fn kept(
    name: &'static str,
    up: fn(&mut Object) -> Result<(), ConversionError>,
    down: fn(&mut Object),
    has_status: bool,
    settle: fn(&mut Object),
) -> Kind {
    Kind { name, up, down, always_kept: true, has_status, settle }
}

const fn plain(
    name: &'static str,
    up: fn(&mut Object) -> Result<(), ConversionError>,
    down: fn(&mut Object),
) -> Kind {
    Kind { name, up, down, always_kept: false, has_status: true, settle: |_| {} }
}

/// A step that cannot fail.
macro_rules! sure {
    ($step:path) => {
        |object| {
            $step(object);
            Ok(())
        }
    };
}

const KINDS: [Kind; 9] = [
    kept("Metal3Cluster", sure!(cluster::up), cluster::down, true, cluster::settle),
    kept(
        "Metal3ClusterTemplate",
        sure!(cluster::template_up),
        cluster::template_down,
        false,
        cluster::template_settle,
    ),
    kept("Metal3Machine", sure!(machine::up), machine::down, true, |_| {}),
    kept(
        "Metal3MachineTemplate",
        sure!(machine::template_up),
        machine::template_down,
        false,
        machine::template_settle,
    ),
    plain("Metal3DataTemplate", sure!(data_template::up), data_template::down),
    plain("Metal3DataClaim", sure!(data::claim_up), data::claim_down),
    plain("Metal3Data", sure!(data::up), data::down),
    plain("Metal3Remediation", remediation::up, remediation::down),
    plain("Metal3RemediationTemplate", remediation::template_up, remediation::template_down),
];

impl Kind {
    fn to_spoke(&self, object: &mut Object) -> Result<(), ConversionError> {
        let mut hub = object.clone();
        (self.down)(object);
        if self.always_kept || schema::hides_something(self.name, &hub) {
            take(&mut hub, "metadata");
            if self.always_kept {
                self.complete(&mut hub);
            }
            stored::put(object, hub)?;
        }
        Ok(())
    }

    /// Go writes both parts even if they are empty.
    fn complete(&self, hub: &mut Object) {
        json::ensured(hub, "spec");
        if self.has_status {
            json::ensured(hub, "status");
        }
    }

    fn to_hub(&self, object: &mut Object) -> Result<(), ConversionError> {
        let hub = stored::take_off(object)?;
        (self.up)(object)?;
        if let Some(status) = object.get_mut("status") {
            time::to_utc(status);
        }
        self.bring_back(object, hub)
    }

    /// Merges what was stored into what came back, which is in the form of v1beta2.
    fn bring_back(&self, object: &mut Object, hub: Option<Object>) -> Result<(), ConversionError> {
        if let Some(mut hub) = hub {
            (self.settle)(&mut hub);
            let shown = self.as_shown(&hub)?;
            let merged = merge::members(&shown, &hub, object);
            object.retain(|name, _| HEAD.contains(&name.as_str()));
            object.extend(merged.into_iter().filter(|(name, _)| !HEAD.contains(&name.as_str())));
        }
        Ok(())
    }

    /// The stored object after a way to v1beta1 and back, through a server that knows no other member than we do.
    fn as_shown(&self, hub: &Object) -> Result<Object, ConversionError> {
        let mut shown = hub.clone();
        (self.down)(&mut shown);
        schema::prune(self.name, v1beta1::VERSION, &mut shown);
        (self.up)(&mut shown)?;
        Ok(shown)
    }
}

/// What every object has and no merge touches.
const HEAD: [&str; 3] = ["apiVersion", "kind", "metadata"];
