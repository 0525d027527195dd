//! Every parameter of the family `cta`, fixed: what the route names, and the shipped choice for the rest.

use kernels_tridiag::steqr_cta_decoupled as decoupled;

use super::choices::{FORMS, LAYOUTS, PARTITIONS, UPDATES};
use super::decisions::{Shipped, shipped};
use super::solve::place_of;
use super::{Form, Jobz, Layout, Partition, Problem, Update};
use crate::routes::Params;
use crate::scalar::Dtype;

/// How the family `cta` runs a problem.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Config {
    pub(super) form: Form,
    pub(super) update: Update,
    pub(super) layout: Layout,
    pub(super) partition: Partition,
    /// Warps a block; 0 for the decoupled form, which has its own blocks.
    pub(super) warps: u32,
    /// Rows of the vectors a lane of the decoupled form; 0 for the others.
    pub(super) rows: u32,
    /// Those of them that lie in shared memory.
    pub(super) shared: u32,
}

/// A tile, and what it computes.
struct Tile {
    dtype: Dtype,
    lanes: u32,
    vectors: bool,
}

/// What a route names.
struct Named {
    form: Option<Form>,
    update: Option<Update>,
    layout: Option<Layout>,
    partition: Option<Partition>,
    warps: u32,
    rows: u32,
    shared: Option<u32>,
}

impl Named {
    fn read(params: &Params) -> Self {
        Named {
            form: word(params, FORMS),
            update: word(params, UPDATES),
            layout: word(params, LAYOUTS),
            partition: word(params, PARTITIONS),
            warps: params.get("warps").unwrap_or(0),
            rows: params.get("rows").unwrap_or(0),
            shared: params.get("shared"),
        }
    }
}

fn word<W: std::str::FromStr>(params: &Params, words: &[&str]) -> Option<W> {
    params.word_at(place_of(words)).and_then(|word| word.parse().ok())
}

/// What is named, else what is possible, the shipped choice first.
fn options<W: Copy + PartialEq>(named: Option<W>, shipped: W, possible: &[W]) -> Vec<W> {
    if let Some(named) = named {
        return vec![named];
    }
    let mut options = possible.to_vec();
    options.sort_by_key(|x| *x != shipped);
    options
}

/// The updates that a form runs.
fn updates(form: Form) -> &'static [Update] {
    if form == Form::Decoupled { &[Update::Pg] } else { Update::ALL }
}

/// The partitions that a form runs on.
fn partitions(form: Form, lanes: u32) -> &'static [Partition] {
    match form {
        Form::Nested if lanes == 32 => Partition::ALL,
        Form::Lockstep => &[Partition::Warp],
        _ => &[Partition::Native],
    }
}

impl Config {
    /// The nearest to what ships that keeps to what the route names, or why nothing does.
    pub(super) fn resolve(problem: &Problem, params: &Params) -> Result<Self, String> {
        let named = Named::read(params);
        if ![0, 1, 2, 4].contains(&named.warps) {
            return Err(format!("warps is 0 (as measured), 1, 2 or 4, not {}", named.warps));
        }
        let row = shipped(problem.dtype, problem.n);
        let tile = Tile { dtype: problem.dtype, lanes: row.lanes, vectors: problem.jobz == Jobz::V };
        // Where no form is named, what the other forms say is nearer to what was asked than what `decoupled` lacks.
        let (mut reason, mut of_decoupled) = (None, None);
        for form in options(named.form, row.form, Form::ALL) {
            let preferred = if form == row.form { row.update } else { Update::Exp };
            for update in options(named.update, preferred, updates(form)) {
                for layout in options(named.layout, row.layout, Layout::ALL) {
                    for partition in options(named.partition, row.partition, partitions(form, row.lanes)) {
                        let warps = warps(form, row, named.warps);
                        let (rows, shared) = rows(form, &tile, &named);
                        let config = Config { form, update, layout, partition, warps, rows, shared };
                        match config.check(&tile, &named) {
                            Ok(()) => return Ok(config),
                            Err(why) if form == Form::Decoupled => of_decoupled = of_decoupled.or(Some(why)),
                            Err(why) => reason = reason.or(Some(why)),
                        }
                    }
                }
            }
        }
        Err(reason.or(of_decoupled).unwrap_or_default().to_owned())
    }

    /// Whether there is such a kernel.
    fn check(&self, tile: &Tile, named: &Named) -> Result<(), &'static str> {
        use {Form::*, Layout::*, Partition::*, Update::*};
        let Tile { lanes, vectors, .. } = *tile;
        match *self {
            Config { form: Decoupled, update: Exp, .. } => Err("decoupled runs the update pg only"),
            Config { form: Decoupled, layout: Interleaved, .. } => {
                Err("decoupled keeps vectors in registers: it has no interleaved layout")
            }
            Config { form: Decoupled, partition: Warp, .. } => {
                Err("decoupled meets at barriers of the block: it has no partition of the warp")
            }
            Config { form: Decoupled, .. } if named.warps > 0 => {
                Err("decoupled has blocks of its own size: it takes no warps")
            }
            Config { form: Decoupled, rows, shared, .. } if !built_rows(tile).contains(&(rows, shared)) => {
                Err(
                    "decoupled is built for some numbers of rows, and of those in shared memory: all rows for n up to 8 \
                 and for values only; rows=4, rows=2 or (f64) rows=4,shared=2 for n up to 16; above rows=4,shared=2, \
                 rows=2, and rows=4 (f32) or rows=1 (f64)",
                )
            }
            Config { form: Nested | Flat | Lockstep, .. } if named.rows > 0 || named.shared.is_some() => {
                Err("rows and shared are of the form decoupled: in the others a lane holds one row")
            }
            Config { layout: Interleaved, .. } if !vectors => {
                Err("interleaved is a layout of vectors, and values only have none")
            }
            Config { layout: Interleaved, .. } if lanes == 32 => {
                Err("interleaved is for several items a warp: n is at most 16")
            }
            Config { layout: Interleaved, update: Pg, .. } => {
                Err("interleaved is built for the update exp only")
            }
            Config { form: Nested, partition: Warp, .. } if lanes < 32 => {
                Err("nested on the partition warp needs n above 16: below, the tiles of a warp diverge")
            }
            Config { form: Flat, partition: Warp, .. } => {
                Err("flat runs on the partition native: its tiles settle by themselves")
            }
            Config { form: Lockstep, partition: Native, .. } => {
                Err("lockstep votes with the whole warp: it runs on the partition warp")
            }
            _ => Ok(()),
        }
    }

    /// All of it as a route names it.
    pub(super) fn params(&self) -> Params {
        let mut params = Params::default();
        params.set_word(place_of(FORMS), self.form.word());
        params.set_word(place_of(UPDATES), self.update.word());
        if self.form == Form::Decoupled {
            params.set("rows", self.rows);
            if self.shared > 0 {
                params.set("shared", self.shared);
            }
        } else {
            params.set_word(place_of(LAYOUTS), self.layout.word());
            params.set_word(place_of(PARTITIONS), self.partition.word());
            params.set("warps", self.warps);
        }
        params
    }
}

/// A multiplier was measured for the form that ships.
fn warps(form: Form, row: &Shipped, named: u32) -> u32 {
    match (form, named) {
        (Form::Decoupled, _) => 0,
        (_, 0) if form == row.form => row.warps,
        (_, 0) => 1,
        _ => named,
    }
}

/// Rows a lane, and those of them in shared memory, for which the decoupled form has a kernel.
fn built_rows(tile: &Tile) -> &'static [(u32, u32)] {
    match (tile.lanes, tile.vectors, tile.dtype) {
        (4, ..) => &[(4, 0)],
        (8, ..) => &[(8, 0)],
        (16, false, _) => &[(16, 0)],
        (16, true, Dtype::F32) => &[(4, 0), (2, 0)],
        (16, true, _) => &[(4, 0), (2, 0), (4, 2)],
        (_, false, _) => &[(32, 0)],
        (_, true, Dtype::F32) => &[(4, 0), (2, 0), (4, 2)],
        (_, true, _) => &[(2, 0), (1, 0), (4, 2)],
    }
}

/// What is named, else the kernel's own choice.
fn rows(form: Form, tile: &Tile, named: &Named) -> (u32, u32) {
    match (form, named.rows) {
        (Form::Decoupled, 0) => {
            let own = decoupled::rows(tile.lanes as usize, tile.dtype.bytes(), tile.vectors);
            let (rows, shared) = (own.0 as u32, own.1 as u32);
            named.shared.map_or((rows, shared), |named| (if named > 0 { 4 } else { rows }, named))
        }
        (Form::Decoupled, rows) => (rows, named.shared.unwrap_or(0)),
        _ => (0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::steqr::OPERATION;
    use crate::ops::steqr::decisions::SHIPPED;
    use crate::routes::Candidate;

    fn resolve(n: usize, jobz: Jobz, text: &str) -> Result<String, String> {
        let candidate = Candidate::parse(&OPERATION, text).unwrap();
        let problem = Problem { dtype: Dtype::F32, n, batch: 1, jobz };
        Config::resolve(&problem, candidate.params()).map(|config| config.params().to_string())
    }

    #[test]
    fn what_ships_can_run_with_and_without_vectors() {
        for row in SHIPPED {
            for jobz in [Jobz::V, Jobz::N] {
                let problem = Problem { dtype: row.dtype, n: row.lanes as usize, batch: 1, jobz };
                let config = Config::resolve(&problem, &Params::default()).unwrap();
                assert_eq!((config.form, config.update), (row.form, row.update), "{row:?}");
                if jobz == Jobz::V && row.form != Form::Decoupled {
                    assert_eq!((config.layout, config.partition), (row.layout, row.partition), "{row:?}");
                    assert_eq!(config.warps, row.warps);
                }
            }
        }
    }

    #[test]
    fn what_is_not_named_follows_what_is() {
        for (n, jobz, text, wanted) in [
            (8, Jobz::V, "cta:lockstep", "lockstep,exp,private,warp,warps=1"),
            (32, Jobz::V, "cta:flat", "flat,exp,private,native,warps=1"),
            (8, Jobz::V, "cta:decoupled", "decoupled,pg,rows=8"),
            (17, Jobz::V, "cta:decoupled,rows=4", "decoupled,pg,rows=4"),
            (17, Jobz::V, "cta:decoupled,shared=2", "decoupled,pg,rows=4,shared=2"),
            (17, Jobz::V, "cta:decoupled,rows=4,shared=2", "decoupled,pg,rows=4,shared=2"),
            (32, Jobz::N, "cta:nested,native,warps=4", "nested,exp,private,native,warps=4"),
            (16, Jobz::V, "cta:nested,interleaved,warps=2", "nested,exp,interleaved,native,warps=2"),
        ] {
            assert_eq!(resolve(n, jobz, text).as_deref(), Ok(wanted), "n={n} {text}");
        }
        // A complete route is its own answer.
        for text in ["flat,pg,private,native,warps=2", "decoupled,pg,rows=2"] {
            assert_eq!(resolve(9, Jobz::V, &format!("cta:{text}")).as_deref(), Ok(text));
        }
    }

    #[test]
    fn impossible_combinations_say_why() {
        for (n, jobz, text, word) in [
            (8, Jobz::V, "cta:decoupled,exp", "update pg only"),
            (8, Jobz::V, "cta:decoupled,interleaved", "no interleaved"),
            (8, Jobz::V, "cta:decoupled,warp", "no partition"),
            (8, Jobz::V, "cta:decoupled,warps=2", "no warps"),
            (17, Jobz::V, "cta:decoupled,rows=8", "rows=4 (f32)"),
            (17, Jobz::V, "cta:decoupled,rows=2,shared=2", "shared memory"),
            (17, Jobz::N, "cta:decoupled,rows=4", "values only"),
            (8, Jobz::V, "cta:flat,shared=2", "of the form decoupled"),
            (8, Jobz::V, "cta:flat,rows=4", "of the form decoupled"),
            (8, Jobz::N, "cta:interleaved", "values only"),
            (17, Jobz::V, "cta:interleaved", "at most 16"),
            (8, Jobz::V, "cta:interleaved,pg", "exp only"),
            (16, Jobz::V, "cta:nested,warp", "n above 16"),
            (32, Jobz::V, "cta:flat,warp", "native"),
            (32, Jobz::V, "cta:lockstep,native", "whole warp"),
            (32, Jobz::V, "cta:warps=3", "1, 2 or 4"),
        ] {
            let reason = resolve(n, jobz, text).unwrap_err();
            assert!(reason.contains(word), "n={n} {text}: {reason}");
        }
    }

    #[test]
    fn every_number_of_rows_has_its_kernel() {
        let entries = decoupled::steqr_cta_decoupled::KERNEL.entries;
        let mut known = 0;
        for (dtype, lanes) in SHIPPED.iter().map(|row| (row.dtype, row.lanes)) {
            for vectors in [false, true] {
                for (rows, shared) in built_rows(&Tile { dtype, lanes, vectors }) {
                    let what = if vectors { "vectors" } else { "novectors" };
                    let name = format!("steqr_cta_decoupled_{dtype}_{lanes}_{rows}_{shared}_{what}");
                    assert!(entries.iter().any(|entry| entry.name == name), "{name}");
                    known += 1;
                }
            }
        }
        assert_eq!(known, entries.len());
    }
}
