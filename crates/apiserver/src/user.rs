//! The one user there is: everybody who is let in is this one, and may do everything.

use std::fmt;

use parking_lot::Mutex;

/// The tokens of the user: one for each listener.
#[derive(Default)]
pub(crate) struct Tokens(Mutex<Vec<String>>);

impl Tokens {
    pub(crate) fn add(&self, token: &str) {
        self.0.lock().push(token.to_owned());
    }

    /// Whether it is one of them.
    pub(crate) fn contains(&self, given: &str) -> bool {
        self.0.lock().iter().fold(false, |found, token| found | is_same(given.as_bytes(), token.as_bytes()))
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tokens(secret)")
    }
}

/// Compares without telling by its duration how much was right.
pub(crate) fn is_same(given: &[u8], secret: &[u8]) -> bool {
    given.len() == secret.len() && given.iter().zip(secret).fold(0, |diff, (a, b)| diff | (a ^ b)) == 0
}

/// The name of the user.
pub(crate) const NAME: &str = "capm3-admin";
/// The group that may do everything.
pub(crate) const MASTERS: &str = "system:masters";
/// The group of all authenticated users.
pub(crate) const AUTHENTICATED: &str = "system:authenticated";
