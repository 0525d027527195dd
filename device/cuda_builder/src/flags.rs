//! Ways to make code that differ from the one that ships: what an A/B run builds its second set of kernels with.

use std::fmt;
use std::str::FromStr;

use crate::BuildError;

/// Loops of up to this many instructions are unrolled: register arrays need it.
const UNROLL: u32 = 100_000;

/// How code is made. The default is what ships.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flags {
    /// Whether cubins go with the PTX. Without them the driver compiles the PTX, which is the same file.
    pub cubin: bool,
    /// Whether LLVM and the assembler may join a product and a sum into a fused multiply-add.
    pub contraction: bool,
    /// Level of LLVM's optimiser, 1 to 3.
    pub level: u32,
    /// Most instructions of a loop that LLVM's optimiser unrolls.
    pub unroll: u32,
}

impl Default for Flags {
    fn default() -> Self {
        Self { cubin: true, contraction: false, level: 3, unroll: UNROLL }
    }
}

impl Flags {
    /// Those that change the PTX, as a part of a file's name; empty where it is what ships.
    pub(crate) fn variant(&self) -> String {
        let of_ptx = Self { cubin: true, ..*self };
        if of_ptx == Self::default() { String::new() } else { format!("-{of_ptx}").replace([',', '='], "-") }
    }

    pub(crate) fn of_opt(&self) -> [String; 2] {
        [format!("-passes=default<O{}>,globaldce", self.level), format!("-unroll-threshold={}", self.unroll)]
    }

    /// Without contraction LLVM emits `add.rn` and `mul.rn`, which `ptxas` and the driver leave alone too.
    pub(crate) fn of_llc(&self) -> &'static [&'static str] {
        if self.contraction {
            &["-O3", "-fp-contract=fast", "-nvptx-fma-level=2"]
        } else {
            &["-O3", "-fp-contract=off", "-nvptx-fma-level=0"]
        }
    }
}

/// Words with commas between, as [`Flags::from_str`] reads them; `default` for what ships.
impl fmt::Display for Flags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = Self::default();
        let mut words = vec![];
        words.extend((!self.cubin).then(|| "no-cubin".to_owned()));
        words.extend(self.contraction.then(|| "contraction".to_owned()));
        words.extend((self.level != default.level).then(|| format!("O{}", self.level)));
        words.extend((self.unroll != default.unroll).then(|| format!("unroll={}", self.unroll)));
        f.write_str(if words.is_empty() { "default" } else { "" })?;
        f.write_str(&words.join(","))
    }
}

impl FromStr for Flags {
    type Err = BuildError;

    fn from_str(text: &str) -> Result<Self, BuildError> {
        let mut flags = Self::default();
        for word in text.split(',').map(str::trim) {
            match (word, word.split_once('=')) {
                ("default", _) => {}
                ("no-cubin", _) => flags.cubin = false,
                ("contraction", _) => flags.contraction = true,
                ("O1" | "O2" | "O3", _) => flags.level = u32::from(word.as_bytes()[1] - b'0'),
                (_, Some(("unroll", count))) => {
                    flags.unroll = count.parse().map_err(|_| BuildError::Flag(word.to_owned()))?;
                }
                _ => return Err(BuildError::Flag(word.to_owned())),
            }
        }
        Ok(flags)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip() {
        for text in ["default", "no-cubin", "contraction", "O2", "no-cubin,contraction,O1,unroll=300"] {
            assert_eq!(text.parse::<Flags>().unwrap().to_string(), text);
        }
        assert_eq!("default, O3".parse::<Flags>().unwrap(), Flags::default());
        for text in ["", "cubin", "O4", "O", "unroll", "unroll=", "unroll=-1", "contraction,,O2"] {
            let error = text.parse::<Flags>().unwrap_err().to_string();
            assert!(error.contains("no-cubin, contraction, O1, O2, O3, unroll=N"), "{text}: {error}");
        }
    }

    #[test]
    fn what_changes_the_ptx_lies_elsewhere() {
        let variant = |text: &str| text.parse::<Flags>().unwrap().variant();
        assert_eq!((variant("default"), variant("no-cubin")), (String::new(), String::new()));
        assert_eq!(variant("no-cubin,contraction,unroll=300"), "-contraction-unroll-300");
    }
}
