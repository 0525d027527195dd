//! Machine code as `nvdisasm` lists it: instructions by kind.
//!
//! `ptxas` adds code of its own, which must not be taken for the kernel's: routines for the slow paths of
//! division and root (and, for sm_80, for collectives of lanes that do not arrive together), and behind the
//! kernel copies of such collectives, from the target of a `BRA.DIV` to the jump back.

use std::collections::BTreeMap;

use crate::audit::Mix;

/// Reads what `nvdisasm -c` prints: machine instructions of each entry, by kind. Those of routines that `ptxas`
/// added count as `"routine"`, its copies of collectives as `"collective wrapper"`.
pub fn parse(listing: &str) -> BTreeMap<String, Mix> {
    let mut all: BTreeMap<String, Mix> = BTreeMap::new();
    let mut current: Option<&mut Mix> = None;
    let mut wrappers: Vec<&str> = vec![];
    let mut place = Place::Kernel;
    for line in listing.lines() {
        if let Some(label) = label(line) {
            if let Some(entry) = label.strip_prefix(".text.") {
                current = Some(all.entry(entry.to_owned()).or_default());
                place = Place::Kernel;
                wrappers.clear();
            } else if label.contains("__internal_") {
                place = Place::Routine;
            } else if label.starts_with('$') {
                place = Place::Kernel;
            } else if place == Place::Kernel && wrappers.contains(&label) {
                place = Place::Wrapper;
            }
            continue;
        }
        let (Some(mix), Some(code)) = (current.as_deref_mut(), Instruction::read(line)) else { continue };
        mix.add(match (place, code.kind()) {
            (Place::Routine, _) => "routine",
            (Place::Wrapper, kind) if COLLECTIVES.contains(&kind) => "collective wrapper",
            (_, kind) => kind,
        });
        if code.opcode.starts_with("BRA.DIV") {
            wrappers.extend(code.target());
        }
        if place == Place::Wrapper && code.opcode == "BRA" && !code.guarded {
            place = Place::Kernel;
        }
    }
    all
}

/// Kinds that need several lanes.
const COLLECTIVES: [&str; 6] = ["shuffle", "vote", "active mask", "match", "reduction", "warp sync"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Kernel,
    /// A copy of collectives.
    Wrapper,
    /// A function of ptxas's own.
    Routine,
}

/// `.L_x_7:` at the beginning of a line.
fn label(line: &str) -> Option<&str> {
    line.strip_suffix(':').filter(|label| !label.starts_with([' ', '\t', '/']))
}

/// One machine instruction.
struct Instruction<'a> {
    /// Behind a predicate.
    guarded: bool,
    opcode: &'a str,
    operands: &'a str,
}

impl<'a> Instruction<'a> {
    /// Reads `/*0010*/  @!P0 DFMA R2, R4, R6, R8 ;`.
    fn read(line: &'a str) -> Option<Self> {
        let code = line.trim_start().strip_prefix("/*")?.split_once("*/")?.1;
        let code = code.split(';').next()?.trim();
        let guarded = code.starts_with('@');
        let code = if guarded { code.split_once(' ')?.1.trim_start() } else { code };
        let (opcode, operands) = code.split_once(' ').unwrap_or((code, ""));
        let is_code = opcode.starts_with(|c: char| c.is_ascii_uppercase());
        is_code.then_some(Self { guarded, opcode, operands: operands.trim() })
    }

    /// The label in ``UR4, `(.L_x_7)``.
    fn target(&self) -> Option<&'a str> {
        self.operands.split_once("`(")?.1.split(')').next()
    }

    fn kind(&self) -> &'static str {
        let (stem, modifiers) = self.opcode.split_once('.').unwrap_or((self.opcode, ""));
        match stem {
            "LDG" => "global load",
            "STG" => "global store",
            "LDS" => "shared load",
            "STS" => "shared store",
            "LDL" => "local load",
            "STL" => "local store",
            "LD" | "ST" | "ATOM" => "generic memory",
            "LDC" | "ULDC" | "LDCU" => "parameter",
            "ATOMG" | "ATOMS" | "RED" | "REDG" => "atomic",
            "LDGSTS" | "LDGDEPBAR" | "DEPBAR" => "async copy",
            "SHFL" => "shuffle",
            // The lanes that are here: no lane gives a value.
            "VOTE" | "VOTEU" if self.operands.ends_with("PT") && !self.operands.ends_with("!PT") => {
                "active mask"
            }
            "VOTE" | "VOTEU" => "vote",
            "MATCH" => "match",
            "REDUX" | "CREDUX" => "reduction",
            "WARPSYNC" => "warp sync",
            "BAR" => "barrier",
            "DMMA" | "HMMA" | "IMMA" | "LDSM" => "matrix",
            "BRA" | "BRX" | "BSSY" | "BSYNC" | "EXIT" | "BREAK" | "RET" => "branch",
            // Within the kernel: a way to lanes that come together later.
            "CALL" if self.target().is_some_and(|label| label.starts_with(".L_")) => "branch",
            "CALL" if self.operands.contains("__internal_") => "routine call",
            "CALL" => "call",
            "MUFU" if modifiers.starts_with("RCP64H") || modifiers.starts_with("RSQ64H") => {
                "f64 division or root"
            }
            "MUFU" if ["RCP", "RSQ", "SQRT"].iter().any(|op| modifiers.starts_with(op)) => {
                "f32 division or root"
            }
            "MUFU" => "approximation",
            "DADD" | "DMUL" | "DFMA" | "DSETP" => "f64",
            "FADD" | "FMUL" | "FFMA" | "FSETP" | "FMNMX" | "FSEL" | "FADD2" | "FMUL2" | "FFMA2" => "f32",
            "NOP" => "nop",
            _ => "other",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = "\
\t.target\tsm_90
//--------------------- .text.toy --------------------------
        .type           toy,@function
toy:
.text.toy:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
        /*0010*/              @!P0 DFMA R2, R4, R6, R8 ;
        /*0020*/                   VOTEU.ANY UR5, UPT, PT ;
        /*0030*/              @!P1 BRA.DIV UR4, `(.L_x_1) ;
.L_x_5:
        /*0040*/                   SHFL.BFLY PT, R2, R3, 0x1, 0x1f ;
        /*0050*/                   VOTE.ANY R10, PT, P0 ;
        /*0060*/                   VOTE.ANY P0, !PT ;
        /*0070*/                   MUFU.RCP64H R9, R5 ;
        /*0080*/                   CALL.REL.NOINC `($__internal_0_$__cuda_sm20_div_rn_f64_full) ;
        /*0090*/                   CALL.ABS.NOINC `(helper) ;
        /*00a0*/                   MUFU.EX2 R9, R5 ;
        /*00b0*/                   LD.E R2, [R4.64] ;
.L_x_6:
        /*00c0*/              @!P0 CALL.REL.NOINC `(.L_x_5) ;
        /*00d0*/                   SHFL.IDX PT, R2, R3, 0x1, 0x1f ;
        /*00e0*/                   WARPSYNC R11 ;
.L_x_1:
        /*00f0*/                   WARPSYNC.COLLECTIVE R11, `(.L_x_2) ;
.L_x_3:
        /*0100*/                   SHFL.BFLY P4, R12, R14, R13, R12 ;
.L_x_2:
        /*0110*/               @P0 BRA `(.L_x_3) ;
        /*0120*/                   VOTE.ANY R10, PT, P0 ;
        /*0130*/                   BRA `(.L_x_5) ;
.L_x_7:
        /*0140*/                   SHFL.UP PT, R2, R3, 0x1, RZ ;
$__internal_0_$__cuda_sm20_div_rn_f64_full:
        /*0150*/                   MUFU.RCP64H R25, R9 ;
.L_x_4:
        /*0160*/                   SHFL.BFLY PT, R15, R12, R15, R14 ;
        /*0170*/                   RET.REL.NODEC R8 `(toy) ;

.text.other:
        /*0000*/                   EXIT ;
";

    #[test]
    fn what_ptxas_added_is_not_the_kernels() {
        let all = parse(LISTING);
        let toy = &all["toy"];
        let expected = [
            ("shuffle", 3),
            ("vote", 2),
            ("active mask", 1),
            ("warp sync", 1),
            ("collective wrapper", 3),
            ("routine", 3),
            ("routine call", 1),
            ("call", 1),
            ("f64 division or root", 1),
            ("approximation", 1),
            ("generic memory", 1),
            ("f64", 1),
            ("branch", 4),
            ("parameter", 1),
        ];
        for (kind, count) in expected {
            assert_eq!(toy.count(kind), count, "{kind}");
        }
        assert_eq!(toy.total, expected.iter().map(|(_, count)| count).sum::<u32>());
        assert_eq!((all["other"].total, all.len()), (1, 2));
    }
}
