//! What a kernel crate tells the linker beside its code.
//!
//! rustc passes exported names to the linker, so `#[kernel]` exports statics whose *names* carry data:
//!
//! - `__cuda_std_sig__<types>__<entry>`: the host's parameter types, joined by `_`, as PTX names them
//!   without the dot (`u64_u64_u32`);
//! - `__cuda_std_bounds__<max>_<min>__<entry>`: launch bounds, threads a block at most and blocks a
//!   multiprocessor at least;
//! - `__cuda_std_module__<module>__<entry>`: the PTX module that holds the entry.
//!
//! All are optional: an entry without them has no checked signature, no bounds, and lives in the module
//! named after its crate. The linker writes the result as comment lines at the head of the linked IR.

use crate::BuildError;

const PREFIX: &str = "__cuda_std_";
const HEAD: &str = "; cuda_builder entry ";

/// One PTX entry and what was said about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryDecl {
    /// Name in PTX.
    pub name: String,
    /// PTX module, `None` for the crate's own.
    pub module: Option<String>,
    /// Parameter types on the host, as `.u64`.
    pub signature: Option<Vec<String>>,
    /// Threads a block at most, blocks a multiprocessor at least.
    pub bounds: Option<(u32, u32)>,
}

impl EntryDecl {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), module: None, signature: None, bounds: None }
    }

    /// The entry as one comment line of IR.
    pub fn to_line(&self) -> String {
        let module = self.module.as_deref().unwrap_or("-");
        let signature =
            self.signature.as_ref().map_or("-".to_owned(), |types| format!("({})", types.join(",")));
        let bounds = self.bounds.map_or("-".to_owned(), |(max, min)| format!("{max},{min}"));
        format!("{HEAD}{} {module} {signature} {bounds}", self.name)
    }

    /// Reads [`EntryDecl::to_line`] back; `None` for any other line.
    pub fn from_line(line: &str) -> Option<Self> {
        let mut words = line.strip_prefix(HEAD)?.split(' ');
        let mut decl = Self::new(words.next()?);
        decl.module = Some(words.next()?).filter(|word| *word != "-").map(str::to_owned);
        decl.signature = match words.next()? {
            "-" => None,
            "()" => Some(vec![]),
            list => Some(list.trim_matches(['(', ')']).split(',').map(str::to_owned).collect()),
        };
        decl.bounds = match words.next()? {
            "-" => None,
            pair => {
                let (max, min) = pair.split_once(',')?;
                Some((max.parse().ok()?, min.parse().ok()?))
            }
        };
        Some(decl)
    }
}

/// Whether an exported name is a marker.
pub fn is_marker(symbol: &str) -> bool {
    symbol.starts_with(PREFIX)
}

/// Joins entry names and markers; sorted by name.
pub fn collect(entries: &[String], markers: &[String]) -> Result<Vec<EntryDecl>, BuildError> {
    let mut decls: Vec<EntryDecl> = entries.iter().map(|name| EntryDecl::new(name)).collect();
    decls.sort_by(|a, b| a.name.cmp(&b.name));
    for marker in markers {
        apply(&mut decls, marker)?;
    }
    Ok(decls)
}

fn apply(decls: &mut [EntryDecl], marker: &str) -> Result<(), BuildError> {
    let bad = |what: &str| BuildError::Marker(format!("marker `{marker}` {what}"));
    let body = marker.strip_prefix(PREFIX).ok_or_else(|| bad("has no known prefix"))?;
    let (kind, rest) = body.split_once("__").ok_or_else(|| bad("has no kind"))?;
    let (decl, value) = owner(decls, rest).ok_or_else(|| bad("names no exported kernel"))?;
    match kind {
        "sig" => {
            let types = value.split('_').filter(|word| !word.is_empty());
            decl.signature = Some(types.map(|word| format!(".{word}")).collect());
        }
        "bounds" => {
            let pair =
                value.split_once('_').and_then(|(max, min)| Some((max.parse().ok()?, min.parse().ok()?)));
            decl.bounds = Some(pair.ok_or_else(|| bad("holds no two numbers"))?);
        }
        "module" => decl.module = Some(value.to_owned()),
        _ => return Err(bad("is of an unknown kind")),
    }
    Ok(())
}

/// The entry whose name ends the marker, and what stands before it. Names may hold `__` themselves, so
/// the longest entry that fits is taken.
fn owner<'d, 't>(decls: &'d mut [EntryDecl], rest: &'t str) -> Option<(&'d mut EntryDecl, &'t str)> {
    let fits = |decl: &EntryDecl| rest.strip_suffix(&decl.name).and_then(|head| head.strip_suffix("__"));
    let best =
        (0..decls.len()).filter(|&i| fits(&decls[i]).is_some()).max_by_key(|&i| decls[i].name.len())?;
    let value = fits(&decls[best])?;
    Some((&mut decls[best], value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strings(list: &[&str]) -> Vec<String> {
        list.iter().map(|s| (*s).to_owned()).collect()
    }

    #[test]
    fn markers_reach_their_entries() {
        let entries = strings(&["toy_f64", "toy_f32", "my__odd", "odd", "plain"]);
        let markers = strings(&[
            "__cuda_std_sig__u64_u64_u32__toy_f32",
            "__cuda_std_bounds__128_2__toy_f32",
            "__cuda_std_module__toy_f32__toy_f32",
            "__cuda_std_sig____my__odd",
        ]);
        let decls = collect(&entries, &markers).unwrap();
        let names: Vec<_> = decls.iter().map(|d| d.name.as_str()).collect();
        assert_eq!(names, ["my__odd", "odd", "plain", "toy_f32", "toy_f64"]);
        assert_eq!(decls[0].signature.as_deref(), Some(&[][..]));
        assert_eq!(decls[1].signature, None);
        assert_eq!(decls[3].signature.as_deref().unwrap(), [".u64", ".u64", ".u32"]);
        assert_eq!(decls[3].bounds, Some((128, 2)));
        assert_eq!(decls[3].module.as_deref(), Some("toy_f32"));
        for decl in &decls {
            assert_eq!(EntryDecl::from_line(&decl.to_line()).as_ref(), Some(decl));
        }
    }

    #[test]
    fn bad_markers_are_named() {
        for marker in ["__cuda_std_sig__u32__gone", "__cuda_std_bounds__x_2__k", "__cuda_std_what__1__k"] {
            let error = collect(&strings(&["k"]), &strings(&[marker])).unwrap_err().to_string();
            assert!(error.contains(marker), "{error}");
        }
    }
}
