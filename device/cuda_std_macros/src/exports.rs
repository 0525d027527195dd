//! Instantiations: the cartesian product of the attribute's lists.

use crate::attribute::{Attribute, Group};
use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Error, Expr, ExprLit, GenericParam, Ident, ItemFn, Lit, Result};

/// One exported value of a generic parameter.
#[derive(Clone)]
pub struct Value {
    /// The generic parameter.
    pub parameter: Ident,
    /// As written: a type, an integer or a bool.
    pub tokens: TokenStream,
    /// Its part of the entry's name.
    pub suffix: String,
    /// Whether it is a type.
    pub is_type: bool,
}

/// One instantiation.
pub struct Instance {
    /// The entry's symbol.
    pub entry: String,
    /// The module: kernel and scalar type.
    pub module: String,
    /// Values in the order of the generic parameters.
    pub values: Vec<Value>,
    /// Largest block, smallest number of blocks a multiprocessor.
    pub launch_bounds: Option<(u32, u32)>,
}

impl Instance {
    /// The type that replaces the generic parameter `name`.
    pub fn type_of(&self, name: &Ident) -> Option<&Value> {
        self.values.iter().find(|v| v.is_type && v.parameter == *name)
    }
}

/// All instantiations, in the order of the groups and lists.
pub fn instances(attribute: &Attribute, function: &ItemFn) -> Result<Vec<Instance>> {
    let mut all: Vec<Instance> = vec![];
    for group in &attribute.groups {
        for instance in group_instances(group, function)? {
            if all.iter().any(|other| other.entry == instance.entry) {
                let message = format!("`{}` is exported twice", instance.entry);
                return Err(Error::new_spanned(&function.sig.ident, message));
            }
            all.push(instance);
        }
    }
    Ok(all)
}

fn group_instances(group: &Group, function: &ItemFn) -> Result<Vec<Instance>> {
    let parameters = parameter_names(function)?;
    if let Some((key, _)) =
        group.exports.iter().find(|(key, _)| !parameters.iter().any(|(name, _)| *name == key))
    {
        return Err(Error::new_spanned(key, "the kernel has no generic parameter of this name"));
    }
    let mut products: Vec<Vec<Value>> = vec![vec![]];
    for (name, is_type) in parameters {
        let Some((_, list)) = group.exports.iter().find(|(key, _)| key == name) else {
            return Err(Error::new_spanned(
                name,
                format!("no list exports it: write `{name} = [...]` in #[kernel]"),
            ));
        };
        let values = list.iter().map(|e| value(name, e, is_type)).collect::<Result<Vec<_>>>()?;
        products = products
            .into_iter()
            .flat_map(|p| values.iter().map(move |v| p.iter().cloned().chain([v.clone()]).collect()))
            .collect();
    }
    let kernel = function.sig.ident.to_string();
    Ok(products.into_iter().map(|values| instance(&kernel, values, group.launch_bounds)).collect())
}

/// Generic parameters in order, and whether each is a type.
fn parameter_names(function: &ItemFn) -> Result<Vec<(&Ident, bool)>> {
    let names = function.sig.generics.params.iter().map(|parameter| match parameter {
        GenericParam::Type(t) => Ok((&t.ident, true)),
        GenericParam::Const(c) => Ok((&c.ident, false)),
        GenericParam::Lifetime(l) => Err(Error::new_spanned(l, "a kernel has no lifetimes")),
    });
    names.collect()
}

fn instance(kernel: &str, values: Vec<Value>, launch_bounds: Option<(u32, u32)>) -> Instance {
    let suffix: String = values.iter().map(|v| format!("_{}", v.suffix)).collect();
    let dtype = values.iter().find(|v| v.is_type).map(|v| format!("_{}", v.suffix)).unwrap_or_default();
    Instance { entry: format!("{kernel}{suffix}"), module: format!("{kernel}{dtype}"), values, launch_bounds }
}

fn value(parameter: &Ident, expr: &Expr, is_type: bool) -> Result<Value> {
    let (tokens, suffix) = match expr {
        Expr::Path(path) if is_type => {
            let name = path.path.segments.last().expect("a path has a segment").ident.to_string();
            match name.as_str() {
                "c32" => (quote!(::cuda_std::c32), name),
                "c64" => (quote!(::cuda_std::c64), name),
                _ => (expr.to_token_stream(), name),
            }
        }
        Expr::Lit(ExprLit { lit: Lit::Int(int), .. }) if !is_type => {
            (expr.to_token_stream(), int.base10_digits().to_string())
        }
        Expr::Lit(ExprLit { lit: Lit::Bool(bool), .. }) if !is_type => {
            let name = parameter.to_string().to_lowercase();
            (expr.to_token_stream(), if bool.value { name } else { format!("no{name}") })
        }
        _ if is_type => return Err(Error::new_spanned(expr, "a scalar type: f32, f64, c32, c64")),
        _ => return Err(Error::new_spanned(expr, "an integer or a bool")),
    };
    Ok(Value { parameter: parameter.clone(), tokens, suffix, is_type })
}
