//! What a kernel may take as parameters.

use syn::{Error, FnArg, Ident, ItemFn, Pat, PathArguments, Result, Type};

/// A parameter of the kernel.
pub struct Param {
    /// Its name.
    pub name: Ident,
    /// Its type as written.
    pub ty: Type,
    /// How it is passed.
    pub kind: Kind,
}

/// How a parameter is passed.
pub enum Kind {
    /// `Global<E>`: address and length.
    Global,
    /// `GlobalMut<E>`: the same, writable.
    GlobalMut,
    /// A scalar named so in PTX (`u32`, `u64`, `f32`, `f64`).
    Scalar(&'static str),
    /// A scalar whose type is the generic parameter of this name.
    Generic(Ident),
}

/// The parameters, or an error that says what to write instead.
pub fn params(function: &ItemFn) -> Result<Vec<Param>> {
    let signature = &function.sig;
    if signature.unsafety.is_none() {
        return Err(Error::new_spanned(
            signature.fn_token,
            "a kernel is `unsafe fn`: its launch answers for the views",
        ));
    }
    if !matches!(signature.output, syn::ReturnType::Default) {
        return Err(Error::new_spanned(
            &signature.output,
            "a kernel returns nothing: write through a `GlobalMut`",
        ));
    }
    signature.inputs.iter().map(|input| param(function, input)).collect()
}

fn param(function: &ItemFn, input: &FnArg) -> Result<Param> {
    let FnArg::Typed(typed) = input else {
        return Err(Error::new_spanned(input, "a kernel is a free function"));
    };
    let Pat::Ident(pattern) = &*typed.pat else {
        return Err(Error::new_spanned(&typed.pat, "a kernel parameter is a plain name"));
    };
    let name = pattern.ident.clone();
    if name.to_string().starts_with("__") {
        return Err(Error::new_spanned(&name, "names that begin with `__` are the macro's"));
    }
    Ok(Param { name, kind: kind(function, &typed.ty)?, ty: (*typed.ty).clone() })
}

fn kind(function: &ItemFn, ty: &Type) -> Result<Kind> {
    let Type::Path(path) = ty else {
        return Err(Error::new_spanned(ty, refusal(ty)));
    };
    let segment = path.path.segments.last().expect("a path has a segment");
    match (segment.ident.to_string().as_str(), &segment.arguments) {
        ("Global", PathArguments::AngleBracketed(args)) => element(ty, args).map(|()| Kind::Global),
        ("GlobalMut", PathArguments::AngleBracketed(args)) => element(ty, args).map(|()| Kind::GlobalMut),
        ("u32" | "i32", PathArguments::None) => Ok(Kind::Scalar("u32")),
        ("u64" | "i64" | "usize", PathArguments::None) => Ok(Kind::Scalar("u64")),
        ("f32", PathArguments::None) => Ok(Kind::Scalar("f32")),
        ("f64", PathArguments::None) => Ok(Kind::Scalar("f64")),
        (name, PathArguments::None) if function.sig.generics.type_params().any(|t| t.ident == name) => {
            Ok(Kind::Generic(segment.ident.clone()))
        }
        _ => Err(Error::new_spanned(ty, refusal(ty))),
    }
}

fn element(ty: &Type, args: &syn::AngleBracketedGenericArguments) -> Result<()> {
    match args.args.first() {
        Some(syn::GenericArgument::Type(_)) if args.args.len() == 1 => Ok(()),
        _ => Err(Error::new_spanned(ty, "a view names its element type")),
    }
}

fn refusal(ty: &Type) -> &'static str {
    match ty {
        Type::Reference(r) if r.mutability.is_some() => {
            "`&mut` promises that no other lane touches the memory: take a `GlobalMut<T>`"
        }
        Type::Reference(_) | Type::Slice(_) | Type::Ptr(_) => {
            "the executor cannot see through pointers and references: take a `Global<T>` or `GlobalMut<T>`"
        }
        Type::Array(_) | Type::Tuple(_) => {
            "a parameter indexed at run time falls to local memory: take scalars"
        }
        _ => {
            "kernel parameters are Global<T>, GlobalMut<T>, u32, i32, u64, i64, usize, f32, f64 or a generic scalar"
        }
    }
}
