//! Rewrites textual LLVM IR line by line: what rustc cannot express, and what LLVM does not know.
//!
//! - Call sites of inline assembly and of the matrix intrinsics become `convergent`. LLVM 22 sinks and
//!   duplicates them into divergent branches otherwise.
//! - Launch bounds become function attributes.
//! - `target-cpu` and `target-features` go, so that the architecture of `opt` and `llc` decides.
//! - `!srcloc` goes: it holds source positions, which would make every edit a change of every kernel.

use crate::markers::EntryDecl;

/// Rewrites a module.
pub fn rewrite(text: &str, entries: &[EntryDecl]) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 64);
    for line in text.lines() {
        out.push_str(&rewrite_line(line, entries));
        out.push('\n');
    }
    out
}

fn rewrite_line(line: &str, entries: &[EntryDecl]) -> String {
    if line.starts_with("define ") {
        return with_bounds(line, entries);
    }
    if line.starts_with("attributes #") {
        return without_target(line);
    }
    let line = without_srcloc(line);
    if is_convergent_call(&line) { with_convergent(&line) } else { line }
}

/// The name of the function that a `define` line begins.
pub fn defined_name(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("define ")?;
    let name = &rest[rest.find('@')? + 1..];
    Some(name[..name.find('(')?].trim_matches('"'))
}

/// Names of the kernels that a module defines.
pub fn kernels(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .filter(|line| line.starts_with("define ") && line.contains(" ptx_kernel "))
        .filter_map(defined_name)
}

fn with_bounds(line: &str, entries: &[EntryDecl]) -> String {
    let bounds = defined_name(line).and_then(|name| entries.iter().find(|e| e.name == name)?.bounds);
    let Some((max, min)) = bounds else { return line.to_owned() };
    // Attributes stand before the attribute group, or before the body where there is none.
    let at = last_unquoted(line, b'#').or_else(|| last_unquoted(line, b'{')).unwrap_or(line.len());
    let minimum = if min > 0 { format!("\"nvvm.minctasm\"=\"{min}\" ") } else { String::new() };
    format!("{}\"nvvm.maxntid\"=\"{max}\" {minimum}{}", &line[..at], &line[at..])
}

fn is_convergent_call(line: &str) -> bool {
    let Some(call) = line.find("call ") else { return false };
    let code = &line[call..];
    code.contains(" asm ") || code.contains("@llvm.nvvm.mma") || code.contains("@llvm.nvvm.wmma")
}

fn with_convergent(line: &str) -> String {
    match last_unquoted(line, b')') {
        Some(close) => format!("{} convergent{}", &line[..=close], &line[close + 1..]),
        None => line.to_owned(),
    }
}

fn last_unquoted(line: &str, wanted: u8) -> Option<usize> {
    let mut quoted = false;
    let mut last = None;
    // IR writes a quote inside a string as \22, so every '"' opens or closes one.
    for (at, byte) in line.bytes().enumerate() {
        match byte {
            b'"' => quoted = !quoted,
            byte if byte == wanted && !quoted => last = Some(at),
            _ => {}
        }
    }
    last
}

fn without_target(line: &str) -> String {
    let keep =
        |word: &&str| !word.starts_with("\"target-cpu\"=") && !word.starts_with("\"target-features\"=");
    line.split(' ').filter(keep).collect::<Vec<_>>().join(" ")
}

fn without_srcloc(line: &str) -> String {
    match line.find(", !srcloc !") {
        None => line.to_owned(),
        Some(at) => {
            let tail = &line[at + ", !srcloc !".len()..];
            format!("{}{}", &line[..at], tail.trim_start_matches(|c: char| c.is_ascii_digit()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, bounds: Option<(u32, u32)>) -> EntryDecl {
        EntryDecl { name: name.to_owned(), module: None, signature: None, bounds }
    }

    #[test]
    fn asm_and_mma_calls_become_convergent() {
        let cases = [
            (
                r#"  %4 = call { double, double } asm "mma {$0}, ($2) # \22;", "=d,=d,d"(double %x) #3, !srcloc !7"#,
                r#"  %4 = call { double, double } asm "mma {$0}, ($2) # \22;", "=d,=d,d"(double %x) convergent #3"#,
            ),
            (
                r#"  tail call void asm sideeffect "bar ) #1", "~{memory}"(), !srcloc !12, !noundef !3"#,
                r#"  tail call void asm sideeffect "bar ) #1", "~{memory}"() convergent, !noundef !3"#,
            ),
            (
                "  %d = call { double, double } @llvm.nvvm.mma.m8n8k4.row.col.f64(double %a)",
                "  %d = call { double, double } @llvm.nvvm.mma.m8n8k4.row.col.f64(double %a) convergent",
            ),
        ];
        for (before, after) in cases {
            assert_eq!(rewrite_line(before, &[]), after);
        }
    }

    #[test]
    fn other_calls_stay() {
        for line in ["  %1 = call i32 @f(i32 1) #4", "  store i32 1, ptr %x", "; asm call "] {
            assert_eq!(rewrite_line(line, &[]), line);
        }
    }

    #[test]
    fn bounds_go_to_their_kernel_only() {
        let entries = [entry("toy", Some((128, 2))), entry("toy_2", None), entry("open", Some((64, 0)))];
        let line =
            "define dso_local ptx_kernel void @toy(ptr noundef readonly captures(none) %a) unnamed_addr #0 {";
        assert_eq!(
            rewrite_line(line, &entries),
            "define dso_local ptx_kernel void @toy(ptr noundef readonly captures(none) %a) unnamed_addr \"nvvm.maxntid\"=\"128\" \"nvvm.minctasm\"=\"2\" #0 {"
        );
        let other = line.replace("@toy(", "@toy_2(");
        assert_eq!(rewrite_line(&other, &entries), other);
        assert!(!rewrite_line(&line.replace("@toy(", "@open("), &entries).contains("minctasm"));
    }

    #[test]
    fn targets_go() {
        let line = r#"attributes #0 = { nounwind "target-cpu"="sm_80" "target-features"="+ptx70,+sm_80" }"#;
        assert_eq!(rewrite_line(line, &[]), "attributes #0 = { nounwind }");
    }

    #[test]
    fn names_of_kernels() {
        let text = "define void @helper() {\n}\ndefine dso_local ptx_kernel void @\"k.1\"(i32 %n) #1 {\n";
        assert_eq!(kernels(text).collect::<Vec<_>>(), ["k.1"]);
    }
}
