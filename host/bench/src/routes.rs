//! Which families take part: all, native, the vendor's, or named ones.

use batchlas::ops::gemm;
use batchlas::routes::{Kind, Operation, Param, Pin};

/// An arm that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The route, as a pin takes it.
    pub route: String,
    /// Whether it came with a group, and is left out where it cannot run. A named one is an error then.
    pub of_group: bool,
}

/// Reads `all`, `native`, `vendor` and routes, separated by commas. The parameters of a route are joined by plus
/// signs, since commas separate routes: `cta:nested+pg+warps=2`.
///
/// A group has one arm for each family, or one for each word of the family's first group of words, such as the
/// forms of `cta` or the routines of `vendor`, or one for each tile of `gemm`. `all` is every family; `native` our kernels and, on the CPU, ours
/// there.
///
/// # Errors
/// A word that is no group and no route.
pub fn parse(operation: &'static Operation, text: &str) -> Result<Vec<Asked>, String> {
    let mut all: Vec<Asked> = Vec::new();
    for word in text.split(',').map(str::trim) {
        let arms = match word.to_ascii_lowercase().as_str() {
            "all" => group(operation, |_| true),
            "native" => group(operation, |kind| kind != Kind::Vendor),
            "vendor" => group(operation, |kind| kind == Kind::Vendor),
            _ => vec![Asked { route: named(operation, word)?, of_group: false }],
        };
        for arm in arms {
            if !all.iter().any(|a| a.route == arm.route) {
                all.push(arm);
            }
        }
    }
    if all.is_empty() {
        return Err(format!("{} has no families of {text}", operation.name));
    }
    Ok(all)
}

fn named(operation: &'static Operation, word: &str) -> Result<String, String> {
    let route = word.replace('+', ",");
    Pin::parse(operation, &route).map(|_| route).map_err(|e| e.to_string())
}

fn group(operation: &Operation, wanted: impl Fn(Kind) -> bool) -> Vec<Asked> {
    let families = operation.families.iter().filter(|f| wanted(f.kind));
    families
        .flat_map(|family| {
            let tiles = if operation.name == gemm::OPERATION.name { gemm::tiles(family.name) } else { &[] };
            if !tiles.is_empty() {
                return tiles.iter().map(|route| (*route).to_owned()).collect();
            }
            let words = family.params.iter().find_map(|p| match p {
                Param::Word(words) => Some(*words),
                _ => None,
            });
            match words {
                None => vec![family.name.to_owned()],
                Some(words) => words.iter().map(|word| format!("{}:{word}", family.name)).collect(),
            }
        })
        .map(|route| Asked { route, of_group: true })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use batchlas::ops::{steqr, syev};

    fn routes(operation: &'static Operation, text: &str) -> Vec<String> {
        parse(operation, text).unwrap().into_iter().map(|a| a.route).collect()
    }

    #[test]
    fn groups_are_spelled_out() {
        assert_eq!(routes(&syev::OPERATION, "vendor"), ["vendor:xsyev", "vendor:syevj"]);
        let all = routes(&syev::OPERATION, "all");
        assert!(all.contains(&"cta".to_owned()) && all.contains(&"cpu".to_owned()), "{all:?}");
        assert!(!routes(&syev::OPERATION, "native").iter().any(|r| r.starts_with("vendor")));
        let forms = routes(&steqr::OPERATION, "native");
        for form in ["cta:nested", "cta:flat", "cta:lockstep", "cta:decoupled", "wg", "cpu"] {
            assert!(forms.contains(&form.to_owned()), "{forms:?}");
        }
    }

    #[test]
    fn tiles_are_arms() {
        let all = routes(&gemm::OPERATION, "native");
        for route in ["direct", "reg:128x128x8", "reg:128x32x32", "wide:128x128x16", "cpu"] {
            assert!(all.contains(&route.to_owned()), "{all:?}");
        }
        assert!(!all.contains(&"reg".to_owned()));
    }

    #[test]
    fn names_and_groups_mix() {
        let mixed = parse(&syev::OPERATION, "cta, vendor,vendor:syevj,auto").unwrap();
        let routes: Vec<&str> = mixed.iter().map(|a| a.route.as_str()).collect();
        assert_eq!(routes, ["cta", "vendor:xsyev", "vendor:syevj", "auto"]);
        assert_eq!(mixed.iter().map(|a| a.of_group).collect::<Vec<_>>(), [false, true, true, false]);
        assert_eq!(routes_of("cta:nested+pg+warps=2,cta:flat"), ["cta:nested,pg,warps=2", "cta:flat"]);
    }

    fn routes_of(text: &str) -> Vec<String> {
        routes(&steqr::OPERATION, text)
    }

    #[test]
    fn unknown_words_are_named() {
        assert!(parse(&syev::OPERATION, "cta,ctx").unwrap_err().contains("'ctx'"));
        assert!(parse(&syev::OPERATION, "").is_err());
        assert!(parse(&steqr::OPERATION, "vendor").unwrap_err().contains("no families of vendor"));
    }
}
