//! `cargo xtask demo`: from a bare machine to the spectra of real molecules.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::npy::{self, Array};
use crate::process::{self, Failure, at, cargo, root, target_dir};
use crate::{progress, setup};

/// Molecules of the table: some that everybody knows.
const SHOWN: [&str; 12] =
    ["H2", "H2O", "NH3", "CH4", "CO2", "C2H4", "CH3OH", "CH3CH2OH", "CH3COOH", "C4H4NH", "C5H5N", "C6H6"];

/// Eigenvalues a row.
const COLUMNS: usize = 5;

/// Runs the command.
pub fn run() -> Result<(), Failure> {
    println!("== 1/3 tools");
    setup::ensure()?;
    println!("== 2/3 build (a few minutes the first time)");
    let mut build = cargo();
    build.args(["build", "--release", "--package", "batchlas-cli"]);
    progress::watching(|| process::run(&mut build))?;
    println!("== 3/3 eigenvalues and eigenvectors of 162 Coulomb matrices of 14 x 14");
    solve()
}

fn solve() -> Result<(), Failure> {
    let data = root().join("examples/data");
    let (input, output, plot) = (data.join("g2_coulomb.npy"), root().join("OUT.npz"), root().join("OUT.svg"));
    let mut batchlas = Command::new(target_dir().join("release/batchlas"));
    batchlas.arg("eigh").arg(&input).arg("-o").arg(&output).arg("--check").arg("--plot").arg(&plot);
    let summary = batchlas.current_dir(root()).stdout(Stdio::piped()).output();
    let summary = summary.map_err(at(Path::new(batchlas.get_program())))?;
    eprint!("{}", String::from_utf8_lossy(&summary.stderr));
    if !summary.status.success() {
        print!("{}", String::from_utf8_lossy(&summary.stdout));
        return Err(Failure::new(format!("{} ended with {}", process::shown(&batchlas), summary.status)));
    }
    let names_file = data.join("g2_coulomb_names.txt");
    let names = std::fs::read_to_string(&names_file).map_err(at(&names_file))?;
    let names: Vec<&str> = names.lines().collect();
    let matrices = npy::read(&input)?;
    let spectra = npy::read_from_archive(&output, "w")?;
    print!("{}", table(&names, &matrices, &spectra)?);
    println!("{}", String::from_utf8_lossy(&summary.stdout).trim_end());
    println!("all {} spectra: {}", names.len(), output.display());
    println!("their plot:      {}", plot.display());
    compare(&spectra)
}

/// The largest eigenvalues of some molecules.
fn table(names: &[&str], matrices: &Array, spectra: &Array) -> Result<String, Failure> {
    let (&[items, n], &[_, rows, _]) = (&spectra.shape[..], &matrices.shape[..]) else {
        return Err(Failure::new("results of an unexpected shape"));
    };
    if items != names.len() || n != rows {
        return Err(Failure::new("results of an unexpected shape"));
    }
    let mut text = format!(
        "\n{:<10} {:>5}   {COLUMNS} largest eigenvalues of the Coulomb matrix (atomic units)\n",
        "molecule", "atoms"
    );
    for name in SHOWN {
        let Some(item) = names.iter().position(|known| *known == name) else { continue };
        let matrix = &matrices.values[item * n * n..][..n * n];
        // Molecules with fewer atoms are padded with zeros.
        let atoms = (0..n).filter(|i| matrix[i * n + i] != 0.0).count();
        let spectrum = &spectra.values[item * n..][..n];
        text.push_str(&format!("{name:<10} {atoms:>5}  "));
        let mut real: Vec<f64> = spectrum.to_vec();
        // The padding's zeros are no eigenvalues of the molecule.
        real.sort_by(|a, b| b.abs().total_cmp(&a.abs()));
        real.truncate(atoms);
        real.sort_by(|a, b| b.total_cmp(a));
        for value in real.iter().take(COLUMNS) {
            text.push_str(&format!(" {value:>10.4}"));
        }
        text.push('\n');
    }
    text.push('\n');
    Ok(text)
}

/// The spectra against LAPACK's, which come with the data.
fn compare(spectra: &Array) -> Result<(), Failure> {
    let reference = npy::read(&root().join("examples/data/g2_coulomb_eigenvalues.npy"))?;
    let n = *spectra.shape.last().unwrap_or(&1);
    let worst = spectra.values.chunks(n).zip(reference.values.chunks(n)).map(|(ours, lapack)| {
        let scale = lapack.iter().fold(f64::MIN_POSITIVE, |largest, value| largest.max(value.abs()));
        ours.iter().zip(lapack).fold(0.0, |worst: f64, (a, b)| worst.max((a - b).abs() / scale))
    });
    let worst = worst.fold(0.0, f64::max);
    println!(
        "against LAPACK:  largest difference {worst:.1e}, relative to the largest eigenvalue of each molecule"
    );
    if worst <= 1e-10 { Ok(()) } else { Err(Failure::new("the eigenvalues differ from LAPACK's")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_the_table() {
        let mut matrices = vec![0.0; 2 * 9];
        matrices[9] = 0.5;
        matrices[13] = 0.5;
        let matrices = Array { shape: vec![2, 3, 3], values: matrices };
        let spectra = Array { shape: vec![2, 3], values: vec![0.0, 0.0, 0.0, -0.25, 0.0, 1.25] };
        let text = table(&["XY", "H2"], &matrices, &spectra).unwrap();
        assert!(text.contains("H2             2       1.2500    -0.2500\n"), "{text}");
        assert!(table(&["H2"], &matrices, &spectra).is_err());
    }

    #[test]
    fn shown_molecules_are_in_the_data() {
        let names = std::fs::read_to_string(root().join("examples/data/g2_coulomb_names.txt")).unwrap();
        for name in SHOWN {
            assert!(names.lines().any(|known| known == name), "{name}");
        }
    }
}
