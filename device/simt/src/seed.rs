//! The seed that permutes the order of lanes, warps and blocks.

/// Environment variable that holds the seed: decimal, or hexadecimal after `0x`.
pub const SEED_VARIABLE: &str = "BATCHLAS_SIMT_SEED";

/// The seed where the environment names none.
pub const DEFAULT_SEED: u64 = 1;

/// A value of [`SEED_VARIABLE`] that is no number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeedError {
    /// The text found.
    pub text: String,
}

impl std::fmt::Display for SeedError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{SEED_VARIABLE}={:?} is no seed: expected a number such as 7 or 0x2a", self.text)
    }
}

impl std::error::Error for SeedError {}

/// The seed of the environment, or [`DEFAULT_SEED`]; an empty value counts as unset.
///
/// # Errors
/// [`SeedError`] where the variable is set to anything but a number of 64 bits.
pub fn seed_from_env() -> Result<u64, SeedError> {
    match std::env::var_os(SEED_VARIABLE) {
        None => Ok(DEFAULT_SEED),
        Some(text) if text.is_empty() => Ok(DEFAULT_SEED),
        Some(text) => parse(&text.to_string_lossy()),
    }
}

/// `count` different seeds for a test to run through; the first is [`seed_from_env`]'s.
///
/// # Errors
/// As [`seed_from_env`].
pub fn seeds(count: u64) -> Result<Vec<u64>, SeedError> {
    let first = seed_from_env()?;
    Ok((0..count).map(|k| first.wrapping_add(k.wrapping_mul(0x9E37_79B9))).collect())
}

fn parse(text: &str) -> Result<u64, SeedError> {
    let digits = text.trim();
    let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => digits.parse(),
    };
    value.map_err(|_| SeedError { text: text.to_owned() })
}

/// Pseudo-random numbers (xorshift64*): the same for the same seed and stream.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mixed = (seed ^ stream.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15))
            .wrapping_mul(0xBF58_476D_1CE4_E5B9);
        Self((mixed ^ (mixed >> 31)) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    /// A number below `bound`, which is not 0.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        (((self.next() >> 32) * u64::from(bound)) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_are_decimal_or_hexadecimal() {
        assert_eq!(parse("7"), Ok(7));
        assert_eq!(parse(" 0x2a "), Ok(42));
        assert_eq!(parse("0XFFFFFFFFFFFFFFFF"), Ok(u64::MAX));
    }

    #[test]
    fn a_typo_is_an_error_that_shows_it() {
        for text in ["", "seven", "-1", "0x", "1e3", "18446744073709551616"] {
            let error = parse(text).unwrap_err();
            assert_eq!(error.text, text);
            assert!(error.to_string().contains("BATCHLAS_SIMT_SEED"));
        }
    }

    #[test]
    fn several_seeds_differ() {
        let all = seeds(5).unwrap();
        assert_eq!(all.len(), 5);
        assert_eq!(all.iter().collect::<std::collections::HashSet<_>>().len(), 5);
    }
}
