//! Takes a seed, gives uids and name suffixes. The only source of randomness of the server, and it is not random:
//! the same seed gives the same sequence for ever, which is what makes a run replayable.

/// Kubernetes' suffix alphabet: no vowels and no characters that look like others, so no words appear by chance.
const SUFFIX_ALPHABET: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH: usize = 5;

/// A splitmix64 sequence.
pub(crate) struct Ids(u64);

impl Ids {
    /// Starts the sequence of `seed`; `stream` separates clusters so that they do not influence each other.
    pub(crate) fn new(seed: u64, stream: &str) -> Self {
        Self(seed ^ fnv1a(stream.as_bytes()))
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A uid with the shape of a version 4 UUID.
    pub(crate) fn uid(&mut self) -> String {
        let (high, low) = (self.next(), self.next());
        format!(
            "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
            high >> 32,
            (high >> 16) & 0xffff,
            high & 0xfff,
            0x8000 | ((low >> 48) & 0x3fff),
            low & 0xffff_ffff_ffff
        )
    }

    /// What `generateName` is completed with.
    pub(crate) fn suffix(&mut self) -> String {
        let mut bits = self.next();
        let base = SUFFIX_ALPHABET.len() as u64;
        (0..SUFFIX_LENGTH)
            .filter_map(|_| {
                let letter = SUFFIX_ALPHABET.get((bits % base) as usize);
                bits /= base;
                letter.map(|byte| char::from(*byte))
            })
            .collect()
    }
}

/// FNV-1a, 64 bits: enough to tell request bodies apart in a log, and free of dependencies.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uid_has_the_shape_of_a_version_four_uuid() {
        let mut ids = Ids::new(7, "");
        for _ in 0..100 {
            let uid = ids.uid();
            let parts: Vec<&str> = uid.split('-').collect();
            assert_eq!(parts.iter().map(|part| part.len()).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
            assert!(parts[2].starts_with('4') && "89ab".contains(&parts[3][..1]), "{uid}");
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_sequence_and_another_stream_another_one() {
        let first = |stream| Ids::new(1, stream).uid();
        assert_eq!(first("a"), first("a"));
        assert_ne!(first("a"), first("b"));
    }

    #[test]
    fn a_suffix_has_five_letters_of_the_alphabet() {
        let suffix = Ids::new(3, "").suffix();
        assert_eq!(suffix.len(), 5);
        assert!(suffix.bytes().all(|byte| SUFFIX_ALPHABET.contains(&byte)), "{suffix}");
    }
}
