//! The host half: a module beside the kernel with `KERNEL` and `call`.

use crate::exports::Instance;
use crate::signature::{Kind, Param};
use proc_macro2::TokenStream;
use quote::quote;
use syn::{GenericParam, ItemFn};

/// The module.
pub fn module(function: &ItemFn, params: &[Param], instances: &[Instance]) -> TokenStream {
    let (visibility, kernel) = (&function.vis, &function.sig.ident);
    let name = kernel.to_string();
    let docs = format!("Host side of the kernel `{name}`.");
    let info = info(&name, params, instances);
    let call = call(function, params, instances);
    quote! {
        #[cfg(not(target_os = "cuda"))]
        #[doc = #docs]
        #visibility mod #kernel {
            #[allow(unused_imports)]
            use super::*;
            #info
            #call
        }
    }
}

fn info(name: &str, params: &[Param], instances: &[Instance]) -> TokenStream {
    let entries = instances.iter().map(|i| {
        let (entry, module) = (&i.entry, &i.module);
        let bounds = match i.launch_bounds {
            Some((max, min)) => quote!(Some((#max, #min))),
            None => quote!(None),
        };
        quote!(::cuda_std::launch::Entry { name: #entry, module: #module, bounds: #bounds })
    });
    let params = params.iter().map(|p| {
        let name = p.name.to_string();
        let kind = match p.kind {
            Kind::Global => quote!(Global),
            Kind::GlobalMut => quote!(GlobalMut),
            Kind::Scalar(_) | Kind::Generic(_) => quote!(Scalar),
        };
        quote!(::cuda_std::launch::ParamInfo { name: #name, kind: ::cuda_std::launch::ParamKind::#kind })
    });
    quote! {
        /// What is known of the kernel at compile time.
        pub static KERNEL: ::cuda_std::launch::KernelInfo = ::cuda_std::launch::KernelInfo {
            name: #name,
            krate: env!("CARGO_CRATE_NAME"),
            file: file!(),
            line: line!(),
            entries: &[#(#entries),*],
            params: &[#(#params),*],
        };
    }
}

fn call(function: &ItemFn, params: &[Param], instances: &[Instance]) -> TokenStream {
    let kernel = &function.sig.ident;
    let (generics, arguments, where_clause) = function.sig.generics.split_for_impl();
    let turbofish = arguments.as_turbofish();
    let keys: Vec<TokenStream> = function.sig.generics.params.iter().map(key).collect();
    let arms = instances.iter().enumerate().map(|(index, instance)| {
        let patterns = instance.values.iter().map(|v| {
            let (tokens, suffix) = (&v.tokens, &v.suffix);
            if v.is_type { quote!(#suffix) } else { quote!(#tokens) }
        });
        quote!((#(#patterns,)*) => Some(#index),)
    });
    let fallback = if keys.is_empty() { quote!() } else { quote!(_ => None,) };
    let (names, types): (Vec<_>, Vec<_>) = params.iter().map(|p| (&p.name, &p.ty)).unzip();
    let labels = params.iter().map(|p| p.name.to_string());
    let docs = format!("Packs a call of `{kernel}`; fails where the instantiation is not exported.");
    quote! {
        #[doc = #docs]
        #[allow(unused_parens)]
        pub fn call #generics (#(#names: #types),*)
            -> ::core::result::Result<::cuda_std::launch::Call, ::cuda_std::launch::NoEntry> #where_clause
        {
            let __entry: Option<usize> = match (#(#keys,)*) { #(#arms)* #fallback };
            let __params = vec![#(::cuda_std::launch::KernelParam::param(#names, #labels)),*];
            // SAFETY: only the executor calls it, for a launch whose submitter answered for the views.
            let __lane = ::std::sync::Arc::new(move || unsafe { super::#kernel #turbofish (#(#names),*) });
            ::cuda_std::launch::new_call(&KERNEL, __entry, || format!("{:?}", (#(#keys,)*)), __params, __lane)
        }
    }
}

/// What tells instantiations apart at run time: a type's name or a constant's value.
fn key(parameter: &GenericParam) -> TokenStream {
    match parameter {
        GenericParam::Type(t) => {
            let name = &t.ident;
            quote!(<#name as ::cuda_std::export::ExportName>::NAME)
        }
        GenericParam::Const(c) => {
            let name = &c.ident;
            quote!(#name)
        }
        GenericParam::Lifetime(_) => unreachable!("exports::instances refuses lifetimes"),
    }
}
