//! Reads what a kernel became: PTX and the assembler's report; [`crate::sass`] reads machine code.

use std::collections::BTreeMap;

/// Instructions counted by kind, in a fixed order of kinds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mix {
    /// All instructions.
    pub total: u32,
    counts: BTreeMap<&'static str, u32>,
}

impl Mix {
    pub(crate) fn add(&mut self, kind: &'static str) {
        self.total += 1;
        *self.counts.entry(kind).or_default() += 1;
    }

    /// Instructions of one kind (`"shuffle"`, `"barrier"`, `"matrix"`, ...; see [`Mix::iter`]).
    pub fn count(&self, kind: &str) -> u32 {
        self.counts.get(kind).copied().unwrap_or(0)
    }

    /// Kinds that occur, with their counts, in alphabetical order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u32)> + '_ {
        self.counts.iter().map(|(kind, count)| (*kind, *count))
    }
}

/// What the assembler says of one entry.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Resources {
    /// Registers a thread.
    pub registers: u32,
    /// Stack frame in bytes a thread: local memory.
    pub stack_bytes: u32,
    /// Bytes of spill stores.
    pub spill_store_bytes: u32,
    /// Bytes of spill loads.
    pub spill_load_bytes: u32,
    /// Static shared memory in bytes a block; dynamic shared memory is the launch's.
    pub shared_bytes: u32,
}

/// One entry of a PTX module.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PtxEntry {
    /// Name.
    pub name: String,
    /// Parameter types, as `.u64`.
    pub params: Vec<String>,
    /// Instructions by kind.
    pub mix: Mix,
    /// Bytes of local memory declared.
    pub local_bytes: u32,
    /// Functions called and not inlined.
    pub calls: Vec<String>,
}

/// The entries of a PTX text, in its order.
pub fn parse_ptx(text: &str) -> Vec<PtxEntry> {
    let mut entries: Vec<PtxEntry> = vec![];
    let mut place = Place::Outside;
    let mut statement = String::new();
    for line in text.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        if let Some(head) = line.split(".entry ").nth(1) {
            let name = head.split(['(', ' ']).next().unwrap_or_default();
            entries.push(PtxEntry { name: name.to_owned(), ..PtxEntry::default() });
            place = Place::Head;
        } else if line.contains(".func ") {
            // Its body is no entry's.
            place = Place::Outside;
        }
        let Some(entry) = entries.last_mut() else { continue };
        place = match (place, line) {
            (Place::Head, "{") => Place::Body(1),
            (Place::Head, _) => {
                let param = line.strip_prefix(".param ").and_then(|rest| rest.split_whitespace().next());
                entry.params.extend(param.map(str::to_owned));
                Place::Head
            }
            // A call stands in braces of its own.
            (Place::Body(depth), "{") => Place::Body(depth + 1),
            (Place::Body(1), "}") => Place::Outside,
            (Place::Body(depth), "}") => Place::Body(depth - 1),
            (Place::Body(depth), _) if !line.ends_with(':') => {
                // One instruction may take several lines, and a line of inline assembly hold several.
                for (index, part) in line.split(';').enumerate() {
                    if index > 0 {
                        body_statement(entry, statement.trim());
                        statement.clear();
                    }
                    statement.push(' ');
                    statement.push_str(part);
                }
                Place::Body(depth)
            }
            (place, _) => place,
        };
    }
    entries
}

#[derive(Clone, Copy)]
enum Place {
    Outside,
    Head,
    Body(u32),
}

fn body_statement(entry: &mut PtxEntry, statement: &str) {
    if statement.starts_with(".local ") {
        entry.local_bytes += local_size(statement);
        return;
    }
    // Inline assembly may open a scope; a guard such as `@%p1` stands before the instruction.
    let code = statement.trim_start_matches(['{', '}', ' ']);
    let code =
        if code.starts_with('@') { code.split_once(' ').map_or("", |(_, code)| code.trim()) } else { code };
    if !code.starts_with(|c: char| c.is_ascii_lowercase()) {
        return;
    }
    let opcode = code.split([' ', '\t']).next().unwrap_or_default();
    if opcode == "call" || opcode.starts_with("call.") {
        entry.calls.extend(callee(code));
    }
    entry.mix.add(ptx_kind(opcode));
}

fn local_size(statement: &str) -> u32 {
    let digits = statement.rsplit('[').next().and_then(|tail| tail.split(']').next());
    digits.and_then(|digits| digits.parse().ok()).unwrap_or(1)
}

fn callee(code: &str) -> Option<String> {
    let operands = code.split_once([' ', '\t'])?.1.trim();
    let after_result = match operands.strip_prefix('(') {
        Some(rest) => rest.split_once(')')?.1.trim_start_matches(',').trim(),
        None => operands,
    };
    let name = after_result.split([',', ' ']).next()?;
    Some(name.to_owned()).filter(|name| !name.is_empty())
}

fn ptx_kind(opcode: &str) -> &'static str {
    let mut words = opcode.split('.');
    let stem = words.next().unwrap_or_default();
    let has = |word: &str| opcode.split('.').any(|w| w == word);
    match stem {
        "ld" | "ldu" | "st" => memory_kind(stem, &has),
        "atom" | "red" if has("global") || has("shared") => "atomic",
        "atom" | "red" => "generic memory",
        "cp" => "async copy",
        "shfl" => "shuffle",
        "vote" => "vote",
        "activemask" => "active mask",
        "match" => "match",
        "redux" => "reduction",
        "bar" | "barrier" if opcode.starts_with("bar.warp") => "warp sync",
        "bar" | "barrier" => "barrier",
        "mma" | "wmma" | "wgmma" | "ldmatrix" => "matrix",
        "bra" | "brx" => "branch",
        "call" => "call",
        "div" | "rem" if has("u64") || has("s64") => "64-bit integer division",
        "div" | "rem" if has("u32") || has("s32") || has("u16") || has("s16") => "integer division",
        "div" | "sqrt" | "rsqrt" | "rcp" if has("f64") => "f64 division or root",
        "div" | "sqrt" | "rsqrt" | "rcp" if has("f32") => "f32 division or root",
        _ if has("f64") => "f64",
        _ if has("f32") => "f32",
        _ => "other",
    }
}

fn memory_kind(stem: &str, has: &dyn Fn(&str) -> bool) -> &'static str {
    let load = stem != "st";
    match (has("global"), has("shared"), has("local"), has("param")) {
        (true, ..) if load => "global load",
        (true, ..) => "global store",
        (_, true, ..) if load => "shared load",
        (_, true, ..) => "shared store",
        (_, _, true, _) if load => "local load",
        (_, _, true, _) => "local store",
        (_, _, _, true) => "parameter",
        _ => "generic memory",
    }
}

/// Reads what `ptxas -v` prints.
pub fn parse_ptxas(log: &str) -> BTreeMap<String, Resources> {
    let mut all: BTreeMap<String, Resources> = BTreeMap::new();
    let mut current = String::new();
    for line in log.lines() {
        if let Some(rest) = line.split("Compiling entry function '").nth(1) {
            current = rest.split('\'').next().unwrap_or_default().to_owned();
            all.entry(current.clone()).or_default();
        }
        let Some(entry) = all.get_mut(&current) else { continue };
        if line.contains("bytes stack frame") {
            entry.stack_bytes = before(line, "bytes stack frame");
            entry.spill_store_bytes = before(line, "bytes spill stores");
            entry.spill_load_bytes = before(line, "bytes spill loads");
        } else if line.contains(" registers") {
            entry.registers = before(line, "registers");
            entry.shared_bytes = before(line, "bytes smem");
        }
    }
    all
}

/// The number that stands before some words.
fn before(line: &str, words: &str) -> u32 {
    let head = line.find(words).map(|at| &line[..at]);
    head.and_then(|head| head.split_whitespace().next_back()).and_then(|n| n.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = "\
.version 7.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 __cuda_std_shared[];
	// .globl	toy_f32
.visible .entry toy_f32(
	.param .u64 .ptr .align 1 toy_f32_param_0,
	.param .u32 toy_f32_param_1
)
.maxntid 128
.minnctapersm 2
{
	.local .align 8 .b8 	__local_depot0[24];
	.reg .pred 	%p<2>;
	ld.param.b64 	%rd1, [toy_f32_param_0];
	mov.u32 	%r1, %tid.x;
	bar.sync 	0;
	@%p1 bra 	$L__BB0_2;
	ld.global.b32 	%r2, [%rd1];
	add.rn.f32 	%r3, %r2, %r2;
	shfl.sync.bfly.b32 	%r4, %r3, 1, 31, -1;
	{ // callseq 0, 0
	.param .b32 param0;
	call.uni (retval0),
	helper,
	(
	param0
	);
	} // callseq 0
	mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64
		{%rd1, %rd2},
		{%rd3}, {%rd4},
		{%rd5, %rd6};
	// begin inline asm
	{ .reg .b64 t; mov.u64 t, 1; mov.u64 %rd9, t; }
	// end inline asm
	st.shared.b32 	[%r7], %r3;
$L__BB0_2:
	ret;
}
.func helper()
{
	bar.sync 0;
}
.visible .entry none()
{
	ret;
}
";

    #[test]
    fn ptx_entries() {
        let entries = parse_ptx(PTX);
        assert_eq!(entries.len(), 2);
        let toy = &entries[0];
        assert_eq!((toy.name.as_str(), toy.local_bytes), ("toy_f32", 24));
        assert_eq!(toy.params, [".u64", ".u32"]);
        assert_eq!(toy.calls, ["helper"]);
        assert_eq!(toy.mix.total, 13);
        for kind in [
            "matrix",
            "barrier",
            "branch",
            "global load",
            "f32",
            "shuffle",
            "call",
            "shared store",
            "parameter",
        ] {
            assert_eq!(toy.mix.count(kind), 1, "{kind}");
        }
        assert_eq!((entries[1].name.as_str(), entries[1].mix.total), ("none", 1));
        assert!(entries[1].params.is_empty());
    }

    #[test]
    fn assembler_report() {
        let log = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'a' for 'sm_90'
ptxas info    : Function properties for a
    16 bytes stack frame, 12 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 40 registers, used 1 barriers, 16 bytes cumulative stack size, 1024 bytes smem, 380 bytes cmem[0]
ptxas info    : Compile time = 3.1 ms
ptxas info    : Compiling entry function 'b' for 'sm_90'
ptxas info    : Function properties for b
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers, used 0 barriers
";
        let all = parse_ptxas(log);
        let a = Resources {
            registers: 40,
            stack_bytes: 16,
            spill_store_bytes: 12,
            spill_load_bytes: 8,
            shared_bytes: 1024,
        };
        assert_eq!(all["a"], a);
        assert_eq!(all["b"], Resources { registers: 8, ..Resources::default() });
    }
}
