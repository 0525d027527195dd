//! The shared libraries that a 64-bit little-endian ELF file asks for.

/// Type numbers of the ELF format.
const SECTION_DYNAMIC: u32 = 6;
const TAG_NEEDED: u64 = 1;
const DYNAMIC_ENTRY_BYTES: usize = 16;

struct Section {
    kind: u32,
    offset: usize,
    bytes: usize,
    link: usize,
}

/// Names in the DT_NEEDED entries; `None` where the file is not such an ELF file.
pub fn needed(file: &[u8]) -> Option<Vec<String>> {
    if file.get(..6)? != b"\x7fELF\x02\x01" {
        return None;
    }
    let sections = sections(file)?;
    let dynamic = sections.iter().find(|section| section.kind == SECTION_DYNAMIC)?;
    let names = sections.get(dynamic.link)?;
    let entries = file.get(dynamic.offset..dynamic.offset + dynamic.bytes)?;
    let entries = entries.chunks_exact(DYNAMIC_ENTRY_BYTES);
    let needed = entries.filter(|entry| u64_at(entry, 0) == Some(TAG_NEEDED));
    needed.map(|entry| text_at(file, names.offset + u64_at(entry, 8)? as usize)).collect()
}

fn sections(file: &[u8]) -> Option<Vec<Section>> {
    let table = u64_at(file, 40)? as usize;
    let (entry_bytes, count) = (u16_at(file, 58)? as usize, u16_at(file, 60)? as usize);
    let section = |index: usize| {
        let at = table + index * entry_bytes;
        Some(Section {
            kind: u32_at(file, at + 4)?,
            offset: u64_at(file, at + 24)? as usize,
            bytes: u64_at(file, at + 32)? as usize,
            link: u32_at(file, at + 40)? as usize,
        })
    };
    (0..count).map(section).collect()
}

fn text_at(file: &[u8], at: usize) -> Option<String> {
    let text = file.get(at..)?.split(|&byte| byte == 0).next()?;
    Some(String::from_utf8_lossy(text).into_owned())
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}
