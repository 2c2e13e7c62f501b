//! The user data of a machine: where it comes from, and whether it is there.
//!
//! A Machine that names neither a Secret nor a bootstrap object will never get user data, so it is not waited for if the
//! Metal3Machine has its own.

use capm3_api::{metadata::MetadataExt, neighbours::Machine, reference::SecretRef, v1beta2::Metal3Machine};

/// Whether the machine knows its user data: the Machine has it, or names none and the Metal3Machine has its own.
///
/// ```
/// use capm3_domain::user_data::has_user_data;
///
/// let own = serde_json::from_str(r#"{"spec": {"userData": {"name": "s"}}}"#).unwrap();
/// let machine = |bootstrap: &str| {
///     serde_json::from_str(&format!(r#"{{"spec": {{"bootstrap": {bootstrap}}}}}"#)).unwrap()
/// };
/// assert!(has_user_data(&own, &machine("{}")));
/// assert!(has_user_data(&own, &machine(r#"{"dataSecretName": "b"}"#)));
/// assert!(!has_user_data(&own, &machine(r#"{"configRef": {"name": "c"}}"#)));
/// ```
pub fn has_user_data(metal3_machine: &Metal3Machine, machine: &Machine) -> bool {
    let names_none = !machine.spec.bootstrap.names_any();
    let own = metal3_machine.spec.user_data.as_ref();
    machine.bootstrap_is_ready() || names_none && own.is_some_and(|own| !own.name_str().is_empty())
}

/// The Secret with the user data: that of the Machine; the Metal3Machine's own only where the Machine names none.
pub fn user_data_secret(metal3_machine: &Metal3Machine, machine: &Machine) -> Option<SecretRef> {
    let bootstrap = &machine.spec.bootstrap;
    let of_config = || bootstrap.config_ref.as_ref().and_then(|config| config.name.clone());
    let name = bootstrap.data_secret_name.clone().or_else(of_config);
    match name {
        Some(name) => Some(SecretRef::new(machine.metadata.namespace_str(), name)),
        None => metal3_machine.spec.user_data.clone(),
    }
}
