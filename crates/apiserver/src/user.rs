//! The one user there is: everybody who is let in is this one, and may do everything.

/// The name of the user.
pub(crate) const NAME: &str = "capm3-admin";
/// The group that may do everything.
pub(crate) const MASTERS: &str = "system:masters";
/// The group of everybody who said who they are.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
