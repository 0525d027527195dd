//! GPU architectures.

use std::fmt;
use std::str::FromStr;

use crate::BuildError;

/// A GPU architecture that PTX is made for: `sm_80` and newer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arch(u32);

const KNOWN: &[u32] = &[80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121];

impl Arch {
    /// Ampere data centre; the base that every newer GPU runs.
    pub const SM_80: Arch = Arch(80);
    /// Ada.
    pub const SM_89: Arch = Arch(89);
    /// Hopper.
    pub const SM_90: Arch = Arch(90);
    /// Blackwell data centre.
    pub const SM_100: Arch = Arch(100);
    /// Blackwell desktop.
    pub const SM_120: Arch = Arch(120);

    /// The number in the name: 90 of `sm_90`.
    pub fn number(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}", self.0)
    }
}

impl FromStr for Arch {
    type Err = BuildError;

    fn from_str(text: &str) -> Result<Self, BuildError> {
        let number = text.strip_prefix("sm_").and_then(|digits| digits.parse().ok());
        number.filter(|n| KNOWN.contains(n)).map(Arch).ok_or_else(|| BuildError::Arch(text.to_owned()))
    }
}

/// The known architectures, for messages.
pub(crate) fn known() -> String {
    KNOWN.iter().map(|n| Arch(*n).to_string()).collect::<Vec<_>>().join(", ")
}

/// Architectures where nothing else is asked for.
pub const DEFAULT_ARCHS: &[Arch] = &[Arch::SM_80, Arch::SM_90];

/// Reads a list such as `sm_80,sm_90`: sorted, without doubles, never empty.
pub fn parse_list(text: &str) -> Result<Vec<Arch>, BuildError> {
    let mut archs = text.split(',').map(|word| word.trim().parse()).collect::<Result<Vec<Arch>, _>>()?;
    archs.sort_unstable();
    archs.dedup();
    Ok(archs)
}

/// `BATCHLAS_ARCHS`, or the default where it is not set or empty.
pub fn from_env() -> Result<Vec<Arch>, BuildError> {
    match std::env::var("BATCHLAS_ARCHS") {
        Ok(text) if text.is_empty() => Ok(DEFAULT_ARCHS.to_vec()),
        Ok(text) => parse_list(&text)
            .map_err(|error| BuildError::Environment { name: "BATCHLAS_ARCHS", problem: error.to_string() }),
        Err(std::env::VarError::NotPresent) => Ok(DEFAULT_ARCHS.to_vec()),
        Err(error) => Err(BuildError::Environment { name: "BATCHLAS_ARCHS", problem: error.to_string() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_sorted_and_unique() {
        assert_eq!(parse_list("sm_90, sm_80,sm_90").unwrap(), [Arch::SM_80, Arch::SM_90]);
    }

    #[test]
    fn typos_are_errors_that_name_the_known() {
        for text in ["sm90", "sm_81", "", "sm_80,", "90", "compute_90", "sm_90a"] {
            let error = parse_list(text).unwrap_err().to_string();
            assert!(error.contains("sm_80, sm_86"), "{text}: {error}");
        }
    }
}
