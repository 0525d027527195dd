//! The ways to run the iteration, and their words in routes.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// Defines a set of ways with their words.
macro_rules! choices {
    (
        $(#[$meta:meta])*
        $visibility:vis enum $name:ident, $list:ident, $what:literal {
            $($(#[$variant_meta:meta])* $variant:ident = $word:literal,)*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        $visibility enum $name {
            $($(#[$variant_meta])* $variant,)*
        }

        /// The words, in the order of the variants.
        pub(super) const $list: &[&str] = &[$($word),*];

        impl $name {
            /// Every one, in the order of reports.
            pub const ALL: &[$name] = &[$($name::$variant),*];

            /// The word in routes and options.
            pub const fn word(self) -> &'static str {
                match self {
                    $($name::$variant => $word,)*
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(self.word())
            }
        }

        impl FromStr for $name {
            type Err = Error;

            fn from_str(text: &str) -> Result<Self, Error> {
                let wanted = text.to_ascii_lowercase();
                let found = $name::ALL.iter().copied().find(|x| x.word() == wanted);
                let unknown = || format!(concat!("unknown ", $what, " '{}': one of {}"), text, $list.join(", "));
                found.ok_or_else(|| Error::argument(unknown()))
            }
        }
    };
}

choices! {
    /// How the lanes of a warp go through the iteration of the family `cta`.
    ///
    /// Nested, flat and lockstep give the same bits.
    pub enum Form, FORMS, "form" {
        /// LAPACK's loops; the tiles of a warp meet where loops end.
        Nested = "nested",
        /// The sweep moved out of the loops: the tiles of a warp chase together.
        Flat = "flat",
        /// Every step under a vote of the whole warp.
        Lockstep = "lockstep",
        /// A lane chases a matrix by itself, then the warp applies the rotations.
        Decoupled = "decoupled",
    }
}

choices! {
    /// How a sweep updates the matrix.
    pub enum Update, UPDATES, "update" {
        /// Each rotation as an explicit similarity.
        Exp = "exp",
        /// The recurrence of Parlett and Gray, as dsteqr has it.
        Pg = "pg",
    }
}

choices! {
    /// How the eigenvalue of the leading 2x2 block that a sweep shifts by is computed.
    #[derive(Default)]
    pub enum Shift, SHIFTS, "shift" {
        /// dsteqr's formula.
        #[default]
        Lapack = "lapack",
        /// The root of the characteristic polynomial.
        Wilkinson = "wilkinson",
    }
}

choices! {
    /// Where the vectors of a tile lie in shared memory.
    pub enum Layout, LAYOUTS, "layout" {
        /// Each tile's by themselves.
        Private = "private",
        /// Those of a warp's tiles side by side, in different banks.
        Interleaved = "interleaved",
    }
}

choices! {
    /// Which lanes a collective names.
    pub enum Partition, PARTITIONS, "partition" {
        /// Those of the tile.
        Native = "native",
        /// Those of the warp.
        Warp = "warp",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_round_trip() {
        for form in Form::ALL {
            assert_eq!(form.to_string().parse::<Form>().unwrap(), *form);
        }
        assert_eq!("PG".parse::<Update>().unwrap(), Update::Pg);
        let text = "rayleigh".parse::<Shift>().unwrap_err().to_string();
        assert_eq!(text, "unknown shift 'rayleigh': one of lapack, wilkinson");
    }
}
