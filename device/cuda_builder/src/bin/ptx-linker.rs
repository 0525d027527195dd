//! rustc's linker and wrapper for device code, as a program of its own.
//! Builds that start in a build script use the build script itself instead.

fn main() {
    if !cuda_builder::act_as_linker() {
        eprintln!("ptx-linker: started by cuda_builder only, as rustc's linker");
        std::process::exit(2);
    }
}
