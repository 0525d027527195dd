//! `#[kernel]`: PTX entries on the device, calls as data on the host, from one generic function.
//!
//! Documented at [`macro@kernel`].

mod attribute;
mod device;
mod exports;
mod host;
mod signature;

use proc_macro::TokenStream;
use quote::quote;
use syn::{ItemFn, Result, parse_macro_input};

/// Makes a function a kernel.
///
/// ```text
/// #[kernel(T = [f32, f64], P = [4, 8, 16, 32], VECTORS = [true, false], launch_bounds(128, 2))]
/// pub unsafe fn syev_cta<T: Real, const P: u32, const VECTORS: bool>(a: GlobalMut<T>, n: u32) { ... }
/// ```
///
/// Each list exports the generic parameter of that name; entries are the cartesian product, named
/// `syev_cta_f32_16_vectors` (a `bool` gives its name in lower case, or `no` and the name).
/// `launch_bounds(threads, blocks)` caps the block and asks for so many blocks a multiprocessor. Several lists
/// with bounds of their own stand in `group(...)` each.
///
/// Parameters are `Global<T>`, `GlobalMut<T>`, `u32`, `i32`, `u64`, `i64`, `usize`, `f32`, `f64` or a generic
/// scalar. References and slices are refused: the executor could not see through them, and `&mut` shared by
/// lanes is undefined.
///
/// * On the device it emits a `ptx-kernel` entry an instantiation and, as names of exported statics, what the
///   linker needs: parameter list, launch bounds, module.
/// * On the host it emits, beside the function, a module of the same name with `KERNEL` (what is known of it)
///   and `call` (packs arguments).
#[proc_macro_attribute]
pub fn kernel(attribute: TokenStream, item: TokenStream) -> TokenStream {
    let attribute = parse_macro_input!(attribute as attribute::Attribute);
    let function = parse_macro_input!(item as ItemFn);
    expand(attribute, function).unwrap_or_else(|error| error.to_compile_error()).into()
}

fn expand(attribute: attribute::Attribute, mut function: ItemFn) -> Result<proc_macro2::TokenStream> {
    let params = signature::params(&function)?;
    let instances = exports::instances(&attribute, &function)?;
    let device = device::entries(&function, &params, &instances);
    let host = host::module(&function, &params, &instances);
    function.attrs.push(syn::parse_quote!(#[cfg_attr(target_os = "cuda", inline(always))]));
    function.attrs.push(syn::parse_quote!(#[allow(clippy::missing_safety_doc)]));
    Ok(quote!(#function #device #host))
}
