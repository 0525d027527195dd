//! A hash of bytes that is the same on every machine.

/// 64-bit FNV-1a of each slice's bytes, as 16 hexadecimal digits.
pub(crate) fn of_bytes(parts: &[&[u8]]) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in parts.iter().copied().flatten() {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_values() {
        assert_eq!(of_bytes(&[]), "cbf29ce484222325");
        assert_eq!(of_bytes(&[b"foobar"]), "85944171f73967e8");
        assert_eq!(of_bytes(&[b"foo", b"bar"]), "85944171f73967e8");
    }
}
