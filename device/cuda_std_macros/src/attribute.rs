//! Parses `T = [f32, f64], P = [4, 8], launch_bounds(128, 2)`, or several such lists in `group(...)`.

use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, Ident, LitInt, Result, Token, bracketed, parenthesized};

/// The attribute's arguments: one group, or several.
pub struct Attribute {
    /// Lists whose cartesian products are exported.
    pub groups: Vec<Group>,
}

/// Lists of exported values, and what holds for their product.
pub struct Group {
    /// Generic parameter and its exported values, in order.
    pub exports: Vec<(Ident, Vec<Expr>)>,
    /// Largest block, smallest number of blocks a multiprocessor.
    pub launch_bounds: Option<(u32, u32)>,
}

impl Parse for Attribute {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let grouped = input.fork().parse::<Ident>().is_ok_and(|first| first == "group");
        if !grouped {
            return Ok(Attribute { groups: vec![input.parse()?] });
        }
        let mut groups = vec![];
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            if key != "group" {
                return Err(Error::new_spanned(key, "write `group(...)` here too"));
            }
            let list;
            parenthesized!(list in input);
            groups.push(list.parse()?);
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(Attribute { groups })
    }
}

impl Parse for Group {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let mut attribute = Group { exports: vec![], launch_bounds: None };
        while !input.is_empty() {
            let key: Ident = input.parse()?;
            if key == "launch_bounds" {
                attribute.launch_bounds = Some(launch_bounds(&key, input)?);
            } else {
                input.parse::<Token![=]>()?;
                let list;
                bracketed!(list in input);
                let values = Punctuated::<Expr, Token![,]>::parse_terminated(&list)?;
                if values.is_empty() {
                    return Err(Error::new_spanned(key, "an empty list exports nothing"));
                }
                attribute.exports.push((key, values.into_iter().collect()));
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(attribute)
    }
}

fn launch_bounds(key: &Ident, input: ParseStream<'_>) -> Result<(u32, u32)> {
    let list;
    parenthesized!(list in input);
    let values = Punctuated::<LitInt, Token![,]>::parse_terminated(&list)?;
    let numbers = values.iter().map(LitInt::base10_parse).collect::<Result<Vec<u32>>>()?;
    match numbers[..] {
        [threads] if (1..=1024).contains(&threads) => Ok((threads, 1)),
        [threads, blocks] if (1..=1024).contains(&threads) && (1..=32).contains(&blocks) => {
            Ok((threads, blocks))
        }
        _ => Err(Error::new_spanned(key, "launch_bounds(threads <= 1024, blocks <= 32)")),
    }
}
