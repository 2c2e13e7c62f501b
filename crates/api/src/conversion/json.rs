//! Small, total steps on JSON objects: what has an unexpected type is left as it is.

use serde_json::{Map, Value};

/// Members of a JSON object.
pub(super) type Object = Map<String, Value>;

/// The member as an object, if it is one.
pub(super) fn child<'a>(object: &'a mut Object, name: &str) -> Option<&'a mut Object> {
    object.get_mut(name)?.as_object_mut()
}

/// The member as an object, put there if it is absent or null.
pub(super) fn ensured<'a>(object: &'a mut Object, name: &str) -> Option<&'a mut Object> {
    set_default(object, name, Value::Object(Object::new()));
    child(object, name)
}

/// The objects in a list.
pub(super) fn each<'a>(object: &'a mut Object, list: &str) -> impl Iterator<Item = &'a mut Object> {
    let items = object.get_mut(list).and_then(Value::as_array_mut);
    items.into_iter().flatten().filter_map(Value::as_object_mut)
}

/// Takes a member out.
pub(super) fn take(object: &mut Object, name: &str) -> Option<Value> {
    object.shift_remove(name)
}

/// Takes a member out, and the object that holds it if that is then empty.
pub(super) fn take_from(object: &mut Object, parent: &str, name: &str) -> Option<Value> {
    let taken = child(object, parent).and_then(|parent| take(parent, name));
    drop_empty(object, parent);
    taken
}

/// Gives a member another name.
pub(super) fn rename(object: &mut Object, from: &str, to: &str) {
    if let Some(value) = take(object, from) {
        object.insert(to.to_owned(), value);
    }
}

/// Sets a member that is absent or null.
pub(super) fn set_default(object: &mut Object, name: &str, value: impl Into<Value>) {
    if object.get(name).is_none_or(Value::is_null) {
        object.insert(name.to_owned(), value.into());
    }
}

/// Removes members that are null, empty text, zero, false, an empty list or an empty object: the Go types of one
/// version cannot tell them from absent.
pub(super) fn drop_zero(object: &mut Object, names: &[&str]) {
    for name in names {
        if object.get(*name).is_some_and(is_zero) {
            object.shift_remove(*name);
        }
    }
}

/// Removes a member that is an empty object.
pub(super) fn drop_empty(object: &mut Object, name: &str) {
    if object.get(name).and_then(Value::as_object).is_some_and(Object::is_empty) {
        object.shift_remove(name);
    }
}

/// Whether the value says nothing.
pub(super) fn is_zero(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}

/// The same value with the members of every object in alphabetic order.
pub(super) fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let mut names: Vec<&String> = members.keys().collect();
            names.sort();
            let member = |name: &String| Some((name.clone(), sorted(members.get(name)?)));
            Value::Object(names.into_iter().filter_map(member).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}
