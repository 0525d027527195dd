//! The programs in `benches/`: a grid on the first GPU, a line of JSON an arm and cell on standard output.

use std::str::FromStr;
use std::time::Duration;

use batchlas::{Device, Queue};

use crate::grid::{Grid, sizes};
use crate::provenance::Provenance;
use crate::routes;

/// Runs a grid, changed by the program's arguments: `--dtype`, `--n`, `--batch`, `--jobz`, `--ops`, `--layout`, `--shift`,
/// `--routes`, `--rounds` and `--seconds`, each with a value as `batchlas bench` takes it.
///
/// Without a GPU it says so and does nothing: `cargo test --benches` starts it too.
///
/// # Panics
/// For an argument that is none.
pub fn main(mut grid: Grid) {
    let mut arguments = std::env::args().skip(1).filter(|a| a != "--bench");
    while let Some(name) = arguments.next() {
        let value = arguments.next().unwrap_or_else(|| panic!("{name} needs a value"));
        change(&mut grid, &name, &value).unwrap_or_else(|reason| panic!("{name}: {reason}"));
    }
    let queue = match Queue::new(Device::Cuda(0)) {
        Ok(queue) => queue,
        Err(error) => {
            eprintln!("skipped: {error}");
            return;
        }
    };
    eprintln!("{}", queue.device_name());
    let provenance = Provenance::of(&queue);
    for cell in grid.cells() {
        match grid.measure(&queue, &cell, &provenance, |_| ()) {
            Ok(rows) => rows.iter().for_each(|row| print!("{}", row.line())),
            Err(error) => eprintln!("{cell}: {error}"),
        }
    }
}

fn change(grid: &mut Grid, name: &str, value: &str) -> Result<(), String> {
    match name {
        "--dtype" => grid.dtypes = words(value)?,
        "--n" => grid.n = sizes(value)?,
        "--batch" => grid.batches = value.parse()?,
        "--jobz" => grid.jobz = words(value)?,
        "--ops" => grid.sides = words(value)?,
        "--layout" => grid.paddings = words(value)?,
        "--shift" => grid.shift = words(value)?[0],
        "--routes" => grid.asked = routes::parse(grid.op.operation(), value)?,
        "--rounds" => grid.effort.rounds = words(value)?[0],
        "--seconds" => {
            let seconds = words(value)?[0];
            let limit = Duration::try_from_secs_f64(seconds);
            grid.effort.limit = limit.map_err(|_| format!("{seconds} seconds are no time"))?;
        }
        _ => return Err("unknown option".to_owned()),
    }
    Ok(())
}

fn words<T: FromStr>(value: &str) -> Result<Vec<T>, String>
where
    T::Err: std::fmt::Display,
{
    value.split(',').map(|word| word.trim().parse().map_err(|e: T::Err| e.to_string())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::{Op, Padding, Sides};
    use crate::grid::Batches;
    use crate::race::Effort;
    use batchlas::ops::steqr::Shift;
    use batchlas::{Dtype, Jobz};

    #[test]
    fn arguments_change_the_grid() {
        let mut grid = Grid {
            op: Op::Steqr,
            dtypes: vec![Dtype::F32],
            n: vec![4],
            batches: Batches::List(vec![1]),
            jobz: vec![Jobz::V],
            sides: vec![Sides::default()],
            paddings: vec![Padding::Packed],
            shift: Shift::Lapack,
            asked: routes::parse(Op::Steqr.operation(), "all").unwrap(),
            effort: Effort::default(),
            memory: None,
        };
        for (name, value) in [
            ("--dtype", "f32,f64"),
            ("--n", "4..8:4"),
            ("--batch", "64,128"),
            ("--jobz", "V,N"),
            ("--layout", "packed,padded"),
            ("--shift", "wilkinson"),
            ("--routes", "cta:flat+pg,cpu"),
            ("--rounds", "3"),
            ("--seconds", "0.5"),
        ] {
            change(&mut grid, name, value).unwrap();
        }
        assert_eq!(grid.cells().len(), 2 * 2 * 2 * 2 * 2);
        assert_eq!((grid.effort.rounds, grid.effort.limit), (3, Duration::from_millis(500)));
        assert_eq!(grid.asked[0].route, "cta:flat,pg");
        assert_eq!(grid.shift, Shift::Wilkinson);
        for (name, value) in [("--dtype", "f16"), ("--no", "1"), ("--seconds", "-1"), ("--n", "a")] {
            assert!(change(&mut grid, name, value).is_err(), "{name}");
        }
    }
}
