//! The forms of a family that matter for a shape: what a group stands for beside the family's usual form.

use batchlas::ops::Target;
use batchlas::{Dtype, Jobz};

use crate::cell::{Cell, Op, Reached};
use crate::routes::Asked;

/// How many forms a group brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Breadth {
    /// For a bench: what makes idle multiprocessors work. A table of times stays short.
    Short,
    /// For the tuner: every form that may be the fastest of a shape.
    Long,
}

/// Orders up to this have families of their own, and none of the forms is made for them.
const SMALL: usize = 32;

/// The arms of a cell: those asked for, and behind each family that a group named without parameters its forms that can
/// run the cell by other kernels than an arm before.
pub fn arms(cell: &Cell, target: &Target, asked: &[Asked], breadth: Breadth) -> Vec<Asked> {
    let of_arm = |arm: &Asked| if arm.of_group { forms(cell, target, &arm.route, breadth) } else { vec![] };
    let forms: Vec<Vec<String>> = asked.iter().map(of_arm).collect();
    if forms.iter().all(Vec::is_empty) {
        return asked.to_vec();
    }
    let same = |route: &str| cell.reached(target, route).ok().map(|reached| kernels(cell, &reached));
    let mut known: Vec<String> = asked.iter().filter_map(|arm| same(&arm.route)).collect();
    let mut arms = vec![];
    for (arm, forms) in asked.iter().zip(forms) {
        arms.push(arm.clone());
        for route in forms {
            if let Some(kernels) = same(&route).filter(|kernels| !known.contains(kernels)) {
                known.push(kernels);
                arms.push(Asked { route, of_group: true });
            }
        }
    }
    arms
}

/// Forms of a family to try, without regard to what can run and what comes to the same.
fn forms(cell: &Cell, target: &Target, family: &str, breadth: Breadth) -> Vec<String> {
    let with = |parts: &[&str]| parts.iter().map(|part| format!("{family}:{part}")).collect();
    match (cell.op, family, breadth) {
        (Op::Syev, "blocked", _) if cell.n > SMALL => blocked(cell, target, breadth),
        (Op::Stedc, "levels", Breadth::Long) => with(&["rows=2", "rows=4", "rows=8"]),
        (Op::Stebz, "bisect", Breadth::Long) => with(&[
            "values=1",
            "values=2",
            "values=4",
            "values=1,staged=0",
            "values=2,staged=0",
            "values=4,staged=0",
        ]),
        _ => vec![],
    }
}

/// Grids, and for the tuner no columns in one launch, half and twice the usual warps, and narrow panels. A tail between none and the
/// usual one, the most that there is, was measured faster nowhere.
fn blocked(cell: &Cell, target: &Target, breadth: Breadth) -> Vec<String> {
    let mut forms = vec![];
    if breadth == Breadth::Long {
        forms.push("blocked:tail=0".to_owned());
        let usual = cell.reached(target, "blocked").ok().and_then(|usual| usual.params.get("warps"));
        forms.extend(usual.iter().flat_map(|w| [w / 2, w * 2]).map(|w| format!("blocked:warps={w}")));
        forms.push("blocked:nb=16".to_owned());
    }
    // Which of them the device holds at once is for the family to say.
    forms.extend((1..8).map(|power| format!("blocked:grid={}", 1 << power)));
    forms
}

/// A name that routes share whose kernels are the same for a cell: the route reached, without parameters that have no
/// effect there.
pub fn kernels(cell: &Cell, reached: &Reached) -> String {
    let Cell { op, dtype, n, jobz, .. } = *cell;
    let get = |name: &str| reached.params.get(name).map(|value| value as usize);
    match (op, reached.family) {
        (Op::Syev, "blocked") => {
            let (Some(nb), Some(tail)) = (get("nb"), get("tail")) else { return sorted(reached) };
            let rest = tail_columns(n, nb, tail);
            if rest == n {
                return format!("{} in one launch", reached.family);
            }
            let part = |name: &str| get(name).unwrap_or(0);
            format!("{} {nb} {} {} {rest}", reached.family, part("warps"), part("grid"))
        }
        (Op::Stedc, "levels") => {
            let most = rows(dtype, n, jobz);
            format!("{} {}", reached.family, get("rows").unwrap_or(most).min(most))
        }
        _ => sorted(reached),
    }
}

/// The route, whatever the order in which parameters were given.
fn sorted(reached: &Reached) -> String {
    let params = reached.params.to_string();
    let mut parts: Vec<&str> = params.split(',').collect();
    parts.sort_unstable();
    format!("{} {}", reached.family, parts.join(" "))
}

/// Columns that `blocked` reduces by one launch at the end: what is left when no more panel is needed.
fn tail_columns(n: usize, nb: usize, tail: usize) -> usize {
    let left = (0..n).step_by(nb.max(1)).map(|first| n - first);
    left.into_iter().find(|left| *left <= tail).unwrap_or(0)
}

/// Rows of a thread that the largest merge of `levels` has work for.
fn rows(dtype: Dtype, n: usize, jobz: Jobz) -> usize {
    let most = if dtype == Dtype::F32 { 8 } else { 4 };
    match n.div_ceil(2) {
        _ if jobz == Jobz::N => 2,
        0..=32 => 2,
        33..=64 => 4,
        _ => most,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes;
    use batchlas::Arch;

    fn names(cell: &Cell, text: &str, breadth: Breadth) -> Vec<String> {
        let asked = routes::parse(cell.op.operation(), text).unwrap();
        let target = Target::assumed(Arch(90));
        arms(cell, &target, &asked, breadth).into_iter().map(|arm| arm.route).collect()
    }

    #[cfg(feature = "simt")]
    #[test]
    fn grids_are_for_idle_batches_and_other_forms_for_the_tuner() {
        let of = |n, batch, breadth| {
            let mut all = names(&Cell { n, batch, dtype: Dtype::F64, ..Cell::default() }, "native", breadth);
            all.retain(|route| route.starts_with("blocked"));
            all
        };
        let grids = |most: u32| {
            (1..8).map(|p| 1 << p).filter(move |g| *g <= most).map(|g| format!("blocked:grid={g}"))
        };
        let and = |first: &[&str], most| -> Vec<String> {
            first.iter().map(|x| (*x).to_owned()).chain(grids(most)).collect()
        };
        assert_eq!(of(300, 1, Breadth::Short), and(&["blocked"], 128));
        assert_eq!(of(300, 16, Breadth::Short), and(&["blocked"], 8));
        assert_eq!(of(300, 1000, Breadth::Short), ["blocked"]);
        let long = ["blocked", "blocked:tail=0", "blocked:warps=4", "blocked:warps=16", "blocked:nb=16"];
        assert_eq!(of(300, 1000, Breadth::Long), long);
        assert_eq!(of(300, 16, Breadth::Long), and(&long, 8));
        // All in one launch: the panels' parameters have nothing to say.
        assert_eq!(of(64, 1, Breadth::Long), ["blocked", "blocked:tail=0"]);
        assert_eq!(of(64, 1, Breadth::Short), ["blocked"]);
        assert_eq!(of(8, 1, Breadth::Long), ["blocked"], "small orders have families of their own");
    }

    #[cfg(feature = "simt")]
    #[test]
    fn forms_of_tridiagonal_solvers_are_for_the_tuner() {
        let cell = |op, dtype, n, jobz| Cell { op, dtype, n, jobz, batch: 4, ..Cell::default() };
        let dc = |dtype, n, jobz| names(&cell(Op::Stedc, dtype, n, jobz), "native", Breadth::Long);
        assert_eq!(dc(Dtype::F32, 300, Jobz::V), ["levels", "levels:rows=2", "levels:rows=4", "cpu"]);
        assert_eq!(dc(Dtype::F64, 300, Jobz::V), ["levels", "levels:rows=2", "cpu"]);
        assert_eq!(dc(Dtype::F32, 100, Jobz::V), ["levels", "levels:rows=2", "cpu"]);
        assert_eq!(dc(Dtype::F32, 60, Jobz::V), ["levels", "cpu"]);
        assert_eq!(dc(Dtype::F32, 300, Jobz::N), ["levels", "cpu"]);
        let bisect = |n| names(&cell(Op::Stebz, Dtype::F32, n, Jobz::N), "native", Breadth::Long);
        let wanted =
            ["", ":values=1", ":values=2", ":values=1,staged=0", ":values=2,staged=0", ":values=4,staged=0"];
        assert_eq!(bisect(300)[..6], wanted.map(|form| format!("bisect{form}")));
        assert!(!bisect(20).contains(&"bisect:values=1".to_owned()), "the usual one, there");
        let short = names(&cell(Op::Stebz, Dtype::F32, 300, Jobz::N), "native", Breadth::Short);
        assert_eq!(short, ["bisect", "cpu"]);
    }

    /// Routes that are called the same launch the same blocks, and others do not.
    #[cfg(feature = "simt")]
    #[test]
    fn what_is_the_same_is_what_the_executor_launched() {
        use batchlas::linalg::{
            EighOptions, EighTridiagonalOptions, Method, eigh_tridiagonal_with, eigh_with,
        };
        use batchlas::routes::Pin;
        use batchlas::{Batch, Queue};
        let queue = Queue::simt(1);
        let target = Target::of(&queue);
        let launched = |op: Op, n: usize, route: &str| -> Vec<(&'static str, u32, u32)> {
            let pin = Some(Pin::parse(op.operation(), route).unwrap());
            if op == Op::Syev {
                let a: Batch<f32> = Batch::from_fn(n, n, 1, |_, i, j| 1.0 / (1 + i + j) as f32);
                let options = EighOptions { jobz: Jobz::N, route: pin, ..EighOptions::default() };
                eigh_with(&queue, &a, &options).unwrap();
            } else {
                let d: Vec<f32> = (0..n).map(|k| (k % 7) as f32).collect();
                let options = EighTridiagonalOptions { method: Method::Dc, route: pin, ..Default::default() };
                eigh_tridiagonal_with(&queue, &d, &vec![1.0; n - 1], n, &options).unwrap();
            }
            let shape = |l: batchlas::LaunchRecord| (l.entry, l.config.grid, l.config.block);
            queue.take_launches().into_iter().map(shape).collect()
        };
        for (op, n, jobz, routes) in [
            (
                Op::Syev,
                40,
                Jobz::N,
                &["blocked", "blocked:tail=64", "blocked:warps=2", "blocked:nb=8", "blocked:tail=0"][..],
            ),
            (
                Op::Syev,
                130,
                Jobz::N,
                &["blocked:tail=64", "blocked:tail=64,nb=16", "blocked:tail=64,warps=4", "blocked:tail=128"],
            ),
            (Op::Stedc, 60, Jobz::V, &["levels", "levels:rows=2", "levels:rows=4"]),
            (Op::Stedc, 70, Jobz::V, &["levels", "levels:rows=2", "levels:rows=4"]),
        ] {
            let cell = Cell { op, n, jobz, ..Cell::default() };
            let of = |route: &&str| {
                (kernels(&cell, &cell.reached(&target, route).unwrap()), launched(op, n, route))
            };
            let all: Vec<_> = routes.iter().map(of).collect();
            for (x, y) in all.iter().flat_map(|x| all.iter().map(move |y| (x, y))) {
                assert_eq!(x.0 == y.0, x.1 == y.1, "{op} n={n}: {x:?} {y:?}");
            }
        }
    }

    #[test]
    fn a_named_family_is_itself_alone() {
        let cell = Cell { n: 300, ..Cell::default() };
        assert_eq!(names(&cell, "blocked,vendor", Breadth::Long)[0..2], ["blocked", "vendor:xsyev"]);
        assert_eq!(tail_columns(100, 32, 64), 36);
        assert_eq!(tail_columns(100, 32, 0), 0);
        assert_eq!(tail_columns(2048, 32, 128), 128);
    }
}
