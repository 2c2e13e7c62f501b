//! The only source of chance: a small seeded generator (splitmix64) for everything that must be the same in every run,
//! and the operating system for names that nobody may guess.

use std::{
    fs::File,
    io::{self, Read},
};

use parking_lot::Mutex;

/// Random bytes of the operating system.
const SYSTEM: &str = "/dev/urandom";
/// Bytes of a name that nobody can guess.
const UNGUESSABLE_BYTES: usize = 16;

/// 32 hexadecimal digits that nobody can guess. They differ from run to run, so they must not reach any object.
pub fn unguessable() -> io::Result<String> {
    let mut bytes = [0; UNGUESSABLE_BYTES];
    File::open(SYSTEM)?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A random UUID, for the identity of a process.
pub fn uuid() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open(SYSTEM)?.read_exact(&mut bytes)?;
    let bits = u128::from_be_bytes(bytes) & !(0xF << 76) & !(0x3 << 62) | (0x4 << 76) | (0x2 << 62);
    let (high, low) = (bits >> 64, bits & u128::from(u64::MAX));
    let (node, clock) = (low & 0xFFFF_FFFF_FFFF, low >> 48);
    Ok(format!(
        "{:08x}-{:04x}-{:04x}-{clock:04x}-{node:012x}",
        high >> 32,
        high >> 16 & 0xFFFF,
        high & 0xFFFF
    ))
}

/// A seeded generator; equal seeds give equal sequences.
#[derive(Debug)]
pub struct Rng {
    state: Mutex<u64>,
}

/// Alphabet of generated name suffixes: no vowels and no look-alikes, so no words and no misreading.
const SUFFIX_ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";

impl Rng {
    /// A generator for a seed.
    pub fn seeded(seed: u64) -> Self {
        Self { state: Mutex::new(seed) }
    }

    /// The next number.
    pub fn next(&self) -> u64 {
        let mut state = self.state.lock();
        *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = *state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `bound`, or 0 when the bound is 0.
    pub fn below(&self, bound: u64) -> u64 {
        self.next().checked_rem(bound).unwrap_or(0)
    }

    /// Five characters for a generated name.
    pub fn suffix(&self) -> String {
        (0..5)
            .filter_map(|_| {
                let at = usize::try_from(self.below(SUFFIX_ALPHABET.len() as u64)).ok()?;
                SUFFIX_ALPHABET.get(at).map(|b| char::from(*b))
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_seeds_give_equal_sequences_and_others_differ() {
        let (a, b, c) = (Rng::seeded(1), Rng::seeded(1), Rng::seeded(2));
        let of = |r: &Rng| (0..4).map(|_| r.suffix()).collect::<Vec<_>>();
        let first = of(&a);
        assert_eq!(first, of(&b));
        assert_ne!(first, of(&c));
        assert!(first.iter().all(|s| s.len() == 5));
    }

    #[test]
    fn a_uuid_has_the_form_of_a_random_one() {
        let (a, b) = (uuid().unwrap(), uuid().unwrap());
        assert_ne!(a, b);
        let lengths: Vec<usize> = a.split('-').map(str::len).collect();
        assert_eq!(lengths, [8, 4, 4, 4, 12], "{a}");
        assert!(a.as_bytes()[14] == b'4' && b"89ab".contains(&a.as_bytes()[19]), "{a}");
    }

    #[test]
    fn what_nobody_may_guess_is_long_and_never_the_same() {
        let (a, b) = (unguessable().unwrap(), unguessable().unwrap());
        assert_ne!(a, b);
        assert!(a.len() == 32 && a.bytes().all(|byte| byte.is_ascii_hexdigit()), "{a}");
    }
}
