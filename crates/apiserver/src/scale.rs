//! The scale subresource: an object of any kind seen as replicas and a selector. Takes and gives `autoscaling/v1`
//! documents; what may be written is decided by the update rules of the object itself.

use serde_json::{Map, Value, json};

use crate::{
    call::Call,
    field::FieldError,
    handler::Answer,
    meta::{self, str_at},
    negotiate::{self, Shape},
    patch::Patch,
    resource::ScalePaths,
    response,
    status::{ApiError, ApiResult},
    table,
    write::Outcome,
};

const API_VERSION: &str = "autoscaling/v1";

impl Call<'_> {
    fn paths(&self) -> ApiResult<&ScalePaths> {
        self.place.version.scale.as_ref().ok_or(ApiError::NoSuchResource)
    }

    pub(crate) fn get_scale(self) -> Answer {
        let key = self.place.key(self.place.name());
        let stored = self
            .cluster
            .with(|state| state.store.get(&key).cloned())
            .ok_or_else(|| self.place.not_found())?;
        self.show_scale(stored.value())
    }

    pub(crate) fn update_scale(self) -> Answer {
        let (scale, _) = self.decode()?;
        self.write_scale(|_| Ok(scale))
    }

    pub(crate) fn patch_scale(self) -> Answer {
        let kind = negotiate::patch_type(self.content_type);
        let (patch, _) = Patch::parse(kind, &self.place.resource, self.body)?;
        self.write_scale(|mut scale| patch.apply(&mut scale).map(|()| scale))
    }

    /// Writes back what `change` makes of the present scale.
    fn write_scale(&self, change: impl FnOnce(Value) -> ApiResult<Value>) -> Answer {
        let (paths, options) = (self.paths()?, self.write_options()?);
        let name = self.place.name();
        let outcome: Outcome = self.write(name, |writer| {
            let patch = |object: &mut Value| {
                let scale = change(of(object, paths))?;
                let replicas = check(&scale, name)?;
                if let Some(version) = meta::resource_version(&scale) {
                    meta::set(object, "resourceVersion", version);
                }
                set(object, &paths.spec_replicas, json!(replicas));
                Ok(())
            };
            writer.patch(&self.place, Vec::new(), options, patch, &Value::to_string)
        })?;
        self.show_scale(outcome.object.value())
    }

    fn show_scale(&self, object: Value) -> Answer {
        let version = &self.place.version.api_version;
        let object = if str_at(&object, "apiVersion") == version {
            object
        } else {
            self.cluster.env.convert(object, version).map_err(ApiError::Internal)?
        };
        let scale = of(&object, self.paths()?);
        if self.shape != Shape::Table {
            return Ok(response::value(200, &scale));
        }
        let columns = table::builtin_columns("autoscaling", "Scale");
        let metadata = json!({"resourceVersion": meta::text(&scale, "resourceVersion")});
        let row = table::row(&columns, scale, self.query.include, self.cluster.env.timestamp());
        Ok(response::value(200, &table::table(&metadata, Some(&columns), vec![row])))
    }
}

/// An object as a scale.
fn of(object: &Value, paths: &ScalePaths) -> Value {
    let number = |path: &[String]| read(object, path).and_then(Value::as_i64).unwrap_or_default();
    let mut metadata = Map::new();
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = meta::of(object).and_then(|metadata| metadata.get(field)) {
            metadata.insert(field.to_owned(), value.clone());
        }
    }
    let mut status = json!({"replicas": number(&paths.status_replicas)});
    let selector = paths.selector.as_ref().and_then(|path| read(object, path));
    if let (Some(selector), Some(status)) = (selector.and_then(Value::as_str), status.as_object_mut()) {
        status.insert("selector".to_owned(), selector.into());
    }
    json!({"kind": "Scale", "apiVersion": API_VERSION, "metadata": metadata,
        "spec": {"replicas": number(&paths.spec_replicas)}, "status": status})
}

/// The replicas a scale asks for.
fn check(scale: &Value, name: &str) -> ApiResult<i64> {
    if str_at(scale, "kind") != "Scale" || str_at(scale, "apiVersion") != API_VERSION {
        return Err(ApiError::bad_request("the request body must be an autoscaling/v1 Scale"));
    }
    let found = meta::name(scale);
    if !found.is_empty() && found != name {
        return Err(ApiError::BadRequest(format!(
            "the name of the object ({found}) does not match the name on the URL ({name})"
        )));
    }
    let replicas = match scale.get("spec").and_then(|spec| spec.get("replicas")) {
        None | Some(Value::Null) => 0,
        Some(replicas) => {
            replicas.as_i64().ok_or_else(|| ApiError::bad_request("spec.replicas must be an integer"))?
        }
    };
    if (0..=i64::from(i32::MAX)).contains(&replicas) {
        return Ok(replicas);
    }
    let error =
        FieldError::invalid("spec.replicas", &replicas.to_string(), "should be a non-negative integer");
    let subject = crate::status::Subject::new("autoscaling", "Scale", name);
    Err(ApiError::Invalid(Box::new(subject), vec![error]))
}

fn read<'v>(object: &'v Value, path: &[String]) -> Option<&'v Value> {
    path.iter().try_fold(object, |value, field| value.get(field))
}

/// Sets a field, making the objects on the way to it.
fn set(object: &mut Value, path: &[String], value: Value) {
    let Some((last, parents)) = path.split_last() else {
        return;
    };
    let mut place = object;
    for field in parents {
        let Some(fields) = place.as_object_mut() else { return };
        place = fields.entry(field.as_str()).or_insert_with(|| json!({}));
    }
    if let Some(fields) = place.as_object_mut() {
        fields.insert(last.clone(), value);
    }
}
