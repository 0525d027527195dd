//! The device half: a `ptx-kernel` entry for each instantiation, and the markers that the linker reads.

use crate::exports::Instance;
use crate::signature::{Kind, Param};
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};
use syn::ItemFn;

/// Entries and markers of all instantiations.
pub fn entries(function: &ItemFn, params: &[Param], instances: &[Instance]) -> TokenStream {
    let entries = instances.iter().map(|instance| entry(&function.sig.ident, params, instance));
    let markers = instances.iter().flat_map(|instance| {
        let entry = &instance.entry;
        let mut names = vec![
            format!("__cuda_std_sig__{}__{entry}", ptx_signature(params, instance)),
            format!("__cuda_std_module__{}__{entry}", instance.module),
        ];
        names.extend(
            instance.launch_bounds.map(|(max, min)| format!("__cuda_std_bounds__{max}_{min}__{entry}")),
        );
        names
    });
    let markers = markers.map(|name| {
        let name = format_ident!("{name}");
        quote!(#[unsafe(no_mangle)] #[allow(non_upper_case_globals)] pub static #name: u8 = 0;)
    });
    quote!(#[cfg(target_os = "cuda")] const _: () = { #(#entries)* #(#markers)* };)
}

fn entry(kernel: &Ident, params: &[Param], instance: &Instance) -> TokenStream {
    let symbol = &instance.entry;
    let aliases = instance.values.iter().filter(|v| v.is_type).map(|v| {
        let (name, ty) = (&v.parameter, &v.tokens);
        quote!(#[allow(dead_code)] type #name = #ty;)
    });
    let arguments = instance.values.iter().map(|v| &v.tokens);
    let generics = if instance.values.is_empty() { quote!() } else { quote!(::<#(#arguments),*>) };
    let raw = params.iter().map(raw);
    let rebuilt = params.iter().map(rebuilt);
    let names = params.iter().map(|p| &p.name);
    quote! {
        const _: () = {
            #(#aliases)*
            // Under a name of its own: the entry of a kernel without lists has the kernel's.
            #[unsafe(export_name = #symbol)]
            pub unsafe extern "ptx-kernel" fn __cuda_std_entry(#(#raw),*) {
                #(#rebuilt)*
                // SAFETY: the launch answers for the views, as the kernel's own contract says.
                unsafe { #kernel #generics (#(#names),*) }
            }
        };
    }
}

fn raw(param: &Param) -> TokenStream {
    let (name, ty) = (&param.name, &param.ty);
    let len = format_ident!("__{}_len", name);
    match &param.kind {
        // Erased, since `T::Real` cannot be written of a type alias; the kernel's signature infers the element.
        Kind::Global => quote!(#name: *const u8, #len: usize),
        Kind::GlobalMut => quote!(#name: *mut u8, #len: usize),
        Kind::Scalar(_) | Kind::Generic(_) => quote!(#name: #ty),
    }
}

fn rebuilt(param: &Param) -> TokenStream {
    let name = &param.name;
    let len = format_ident!("__{}_len", name);
    let view = match param.kind {
        Kind::Global => quote!(::cuda_std::Global),
        Kind::GlobalMut => quote!(::cuda_std::GlobalMut),
        Kind::Scalar(_) | Kind::Generic(_) => return quote!(),
    };
    quote! {
        // SAFETY: address and length come from a view of the same type on the host.
        let #name = unsafe { #view::from_raw_parts(#name.cast(), #len) };
    }
}

/// The `.param` types in order, joined by `_`.
fn ptx_signature(params: &[Param], instance: &Instance) -> String {
    let types = params.iter().flat_map(|param| match &param.kind {
        Kind::Global | Kind::GlobalMut => vec!["u64".to_string(), "u64".to_string()],
        Kind::Scalar(name) => vec![name.to_string()],
        Kind::Generic(name) => vec![instance.type_of(name).map(|v| v.suffix.clone()).unwrap_or_default()],
    });
    types.collect::<Vec<_>>().join("_")
}
