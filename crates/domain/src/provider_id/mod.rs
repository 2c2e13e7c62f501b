//! provider_id
