//! References under the name that their type has in one arm of a choice by type.

use std::any::Any;

/// The same reference under the name that its type has in this arm.
pub(crate) fn cast<T: 'static, U: 'static>(x: &T) -> &U {
    (x as &dyn Any).downcast_ref().expect("DTYPE names the type")
}

/// As [`cast`].
pub(crate) fn cast_mut<T: 'static, U: 'static>(x: &mut T) -> &mut U {
    (x as &mut dyn Any).downcast_mut().expect("DTYPE names the type")
}
