//! What a table may say of an operation: its keys, its families, their parameters.

use std::fmt;

/// An operation with more than one way to run it.
#[derive(Debug)]
pub struct Operation {
    /// Its name in tables, pins and reports.
    pub name: &'static str,
    /// The keys of a table row, in order: words first, then sizes.
    pub keys: &'static [Key],
    /// Every family that is known, built or not, in the order of reports.
    pub families: &'static [Family],
}

/// One key of a table row.
#[derive(Debug)]
pub enum Key {
    /// One of a few words, which a row must match.
    Word {
        /// The key's name.
        name: &'static str,
        /// The words.
        words: &'static [&'static str],
    },
    /// A size, for which the nearest row is taken.
    Size {
        /// The key's name.
        name: &'static str,
    },
}

impl Key {
    /// The key's name.
    pub fn name(&self) -> &'static str {
        match self {
            Key::Word { name, .. } | Key::Size { name } => name,
        }
    }
}

/// A way to run an operation.
#[derive(Debug)]
pub struct Family {
    /// Its name in tables and pins.
    pub name: &'static str,
    /// Who wrote it, and where it runs.
    pub kind: Kind,
    /// The parameters that a table or a pin may give.
    pub params: &'static [Param],
}

/// Who wrote a family, and where it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Kernels of ours, on a GPU or under the executor.
    Native,
    /// A routine of the GPU vendor's libraries.
    Vendor,
    /// The host's cores.
    Cpu,
}

/// A parameter of a family.
#[derive(Debug)]
pub enum Param {
    /// `name=value`
    Named {
        /// The name.
        name: &'static str,
        /// The least value.
        min: u32,
        /// The greatest value.
        max: u32,
    },
    /// `MxNxK`, without a name.
    Tile,
    /// One of these words, without a name. A family may take several such groups; no word is in two of them.
    Word(&'static [&'static str]),
}

impl Operation {
    /// A family by its name.
    pub fn family(&self, name: &str) -> Option<&'static Family> {
        self.families.iter().find(|f| f.name == name)
    }

    /// The names of all families.
    pub fn family_names(&self) -> Vec<String> {
        self.families.iter().map(|f| f.name.to_owned()).collect()
    }
}

/// A family with its parameters: `cta`, `blocked:nb=32`, `reg:128x128x8`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Candidate {
    family: Handle,
    params: Params,
}

/// A family compared by its name.
#[derive(Clone, Copy)]
struct Handle(&'static Family);

impl PartialEq for Handle {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

impl Eq for Handle {}

impl std::hash::Hash for Handle {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.0.name.hash(state);
    }
}

/// Values of a family's parameters. One that is not given is the plan's to choose.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Params {
    /// The words with the places of their groups among the family's parameters, in that order.
    words: Vec<(usize, &'static str)>,
    tile: Option<[u32; 3]>,
    named: Vec<(&'static str, u32)>,
}

impl Params {
    /// A named parameter's value, where it is given.
    pub fn get(&self, name: &str) -> Option<u32> {
        self.named.iter().find(|(n, _)| *n == name).map(|(_, value)| *value)
    }

    /// The tile, where it is given.
    pub fn tile(&self) -> Option<[u32; 3]> {
        self.tile
    }

    /// The first word that is given: the only one of a family with one group of words.
    pub fn word(&self) -> Option<&'static str> {
        self.words.first().map(|(_, word)| *word)
    }

    /// The word that is given of the group at this place among the family's parameters.
    pub fn word_at(&self, place: usize) -> Option<&'static str> {
        self.words.iter().find(|(at, _)| *at == place).map(|(_, word)| *word)
    }

    /// Gives the group at this place among the family's parameters a word.
    pub fn set_word(&mut self, place: usize, word: &'static str) {
        self.words.retain(|(at, _)| *at != place);
        let at = self.words.partition_point(|(at, _)| *at < place);
        self.words.insert(at, (place, word));
    }

    /// Gives the tile a value.
    pub fn set_tile(&mut self, tile: [u32; 3]) {
        self.tile = Some(tile);
    }

    /// Gives a named parameter a value.
    pub fn set(&mut self, name: &'static str, value: u32) {
        match self.named.iter_mut().find(|(n, _)| *n == name) {
            Some(entry) => entry.1 = value,
            None => self.named.push((name, value)),
        }
    }

    /// Whether nothing is given.
    pub fn is_empty(&self) -> bool {
        self.named.is_empty() && self.tile.is_none() && self.words.is_empty()
    }
}

impl fmt::Display for Params {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut parts: Vec<String> = self.words.iter().map(|(_, word)| (*word).to_owned()).collect();
        parts.extend(self.tile.iter().map(|[m, n, k]| format!("{m}x{n}x{k}")));
        parts.extend(self.named.iter().map(|(name, value)| format!("{name}={value}")));
        f.write_str(&parts.join(","))
    }
}

impl Candidate {
    /// A family with nothing said of its parameters.
    pub fn plain(family: &'static Family) -> Self {
        Candidate { family: Handle(family), params: Params::default() }
    }

    /// Reads `family` or `family:params` of an operation.
    ///
    /// # Errors
    /// What is wrong, in words that fit after a file and line.
    pub fn parse(operation: &Operation, text: &str) -> Result<Self, ParseError> {
        let (name, params) = match text.split_once(':') {
            Some((name, params)) => (name, Some(params)),
            None => (text, None),
        };
        let family =
            operation.family(name).ok_or_else(|| ParseError::UnknownFamily { name: name.to_owned() })?;
        let params = match params {
            None => Params::default(),
            Some(text) => parse_params(family, text).map_err(ParseError::Params)?,
        };
        Ok(Candidate { family: Handle(family), params })
    }

    /// The same family with these parameters, which are the family's own.
    pub(crate) fn with_params(&self, params: Params) -> Self {
        Candidate { family: self.family, params }
    }

    /// The family.
    pub fn family(&self) -> &'static Family {
        self.family.0
    }

    /// Its parameters as far as they are given.
    pub fn params(&self) -> &Params {
        &self.params
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.params.is_empty() {
            f.pad(self.family.0.name)
        } else {
            f.pad(&format!("{}:{}", self.family.0.name, self.params))
        }
    }
}

impl fmt::Debug for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Why a candidate could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// No family has this name.
    UnknownFamily {
        /// The name.
        name: String,
    },
    /// The parameters are wrong, and why.
    Params(String),
}

fn parse_params(family: &'static Family, text: &str) -> Result<Params, String> {
    let mut params = Params::default();
    for part in text.split(',') {
        match part.split_once('=') {
            Some((name, value)) => named(family, &mut params, name, value)?,
            None => unnamed(family, &mut params, part)?,
        }
    }
    Ok(params)
}

fn named(family: &Family, params: &mut Params, name: &str, value: &str) -> Result<(), String> {
    let known = family.params.iter().find_map(|p| match p {
        Param::Named { name: n, min, max } if *n == name => Some((*n, *min, *max)),
        _ => None,
    });
    let Some((name, min, max)) = known else {
        return Err(format!("'{}' has no parameter '{name}'; {}", family.name, describe(family)));
    };
    if params.get(name).is_some() {
        return Err(format!("parameter '{name}' is given twice"));
    }
    let number = number(value).filter(|v| (min..=max).contains(v));
    let number = number.ok_or_else(|| format!("'{name}={value}': {name} is a number from {min} to {max}"))?;
    params.set(name, number);
    Ok(())
}

/// A word or a tile, as the family takes them.
fn unnamed(family: &Family, params: &mut Params, text: &str) -> Result<(), String> {
    for (place, param) in family.params.iter().enumerate() {
        match param {
            Param::Word(words) => {
                if let Some(word) = words.iter().find(|w| **w == text) {
                    once(params.word_at(place).is_none(), text)?;
                    params.set_word(place, word);
                    return Ok(());
                }
            }
            Param::Tile => {
                if let Some(tile) = parse_tile(text) {
                    once(params.tile.is_none(), text)?;
                    params.tile = Some(tile);
                    return Ok(());
                }
            }
            Param::Named { .. } => {}
        }
    }
    Err(format!("'{text}' is no parameter of '{}'; {}", family.name, describe(family)))
}

fn once(is_first: bool, text: &str) -> Result<(), String> {
    if is_first { Ok(()) } else { Err(format!("'{text}' comes after another of its kind")) }
}

fn parse_tile(text: &str) -> Option<[u32; 3]> {
    let sizes: Vec<Option<u32>> = text.split('x').map(|s| number(s).filter(|v| *v > 0)).collect();
    match sizes[..] {
        [Some(m), Some(n), Some(k)] => Some([m, n, k]),
        _ => None,
    }
}

/// Digits only: no sign, no blank.
pub(super) fn number(text: &str) -> Option<u32> {
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) { None } else { text.parse().ok() }
}

fn describe(family: &Family) -> String {
    if family.params.is_empty() {
        return "it takes none".to_owned();
    }
    let names = family.params.iter().map(|p| match p {
        Param::Named { name, min, max } => format!("{name}={min}..{max}"),
        Param::Tile => "a tile like 128x128x8".to_owned(),
        Param::Word(words) => words.join(" or "),
    });
    format!("it takes {}", names.collect::<Vec<_>>().join(", "))
}
