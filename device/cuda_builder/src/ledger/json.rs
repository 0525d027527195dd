//! The ledger's file: JSON with a line an entry, so that a diff shows entries.
//!
//! Written and read here, since this crate, a build dependency of every dependent, depends on nothing.

use std::fmt::Write as _;

use super::{Counts, Ledger, Row};
use crate::audit::Resources;

/// The ledger as JSON.
pub fn format(ledger: &Ledger) -> String {
    let mut text = format!(
        "{{\"arch\": \"{}\", \"tool_chain\": \"{}\", \"kernels\": [\n",
        ledger.arch, ledger.tool_chain
    );
    for (index, row) in ledger.rows.iter().enumerate() {
        let comma = if index + 1 < ledger.rows.len() { "," } else { "" };
        let _ = writeln!(text, "{}{comma}", line(row));
    }
    text.push_str("]}\n");
    text
}

fn line(row: &Row) -> String {
    let mut text = format!("{{\"kernel\": \"{}\", \"module\": \"{}\"", row.entry, row.module);
    if let Some(resources) = &row.resources {
        for (name, figure) in figures(resources) {
            let _ = write!(text, ", \"{name}\": {figure}");
        }
    }
    for (name, counts) in [("ptx", Some(&row.ptx)), ("sass", row.sass.as_ref())] {
        let Some(counts) = counts else { continue };
        let counts: Vec<String> = counts.iter().map(|(kind, count)| format!("\"{kind}\": {count}")).collect();
        let _ = write!(text, ", \"{name}\": {{{}}}", counts.join(", "));
    }
    text.push('}');
    text
}

/// The assembler's figures by the names they have in the file.
pub(super) fn figures(r: &Resources) -> [(&'static str, u32); 5] {
    [
        ("registers", r.registers),
        ("stack", r.stack_bytes),
        ("spill_stores", r.spill_store_bytes),
        ("spill_loads", r.spill_load_bytes),
        ("shared", r.shared_bytes),
    ]
}

fn figure_mut<'a>(r: &'a mut Resources, name: &str) -> Option<&'a mut u32> {
    Some(match name {
        "registers" => &mut r.registers,
        "stack" => &mut r.stack_bytes,
        "spill_stores" => &mut r.spill_store_bytes,
        "spill_loads" => &mut r.spill_load_bytes,
        "shared" => &mut r.shared_bytes,
        _ => return None,
    })
}

/// Reads a ledger; an error names the line.
pub fn parse(text: &str) -> Result<Ledger, String> {
    let mut reader = Reader { rest: text, line: 1 };
    reader.ledger().map_err(|problem| format!("line {}: {problem}", reader.line))
}

/// Reads JSON of the ledger's form: fields in any order, any white space, no escapes in strings.
struct Reader<'a> {
    rest: &'a str,
    line: usize,
}

impl<'a> Reader<'a> {
    fn ledger(&mut self) -> Result<Ledger, String> {
        let (mut arch, mut tool_chain, mut rows) = (None, String::new(), vec![]);
        self.fields(|reader, name| {
            match name {
                "arch" => arch = Some(reader.string()?.parse().map_err(|error| format!("{error}"))?),
                "tool_chain" => tool_chain = reader.string()?.to_owned(),
                "kernels" => rows = reader.rows()?,
                other => return Err(format!("unknown field `{other}`")),
            }
            Ok(())
        })?;
        self.skip_space();
        if !self.rest.is_empty() {
            return Err("something stands behind the end".to_owned());
        }
        Ok(Ledger { arch: arch.ok_or("no field `arch`")?, tool_chain, rows })
    }

    fn rows(&mut self) -> Result<Vec<Row>, String> {
        let mut rows = vec![];
        self.expect('[')?;
        while !self.accept(']') {
            if !rows.is_empty() {
                self.expect(',')?;
            }
            rows.push(self.row()?);
        }
        Ok(rows)
    }

    fn row(&mut self) -> Result<Row, String> {
        let (mut entry, mut module) = (None, None);
        let mut resources: Option<Resources> = None;
        let (mut ptx, mut sass) = (Counts::default(), None);
        self.fields(|reader, name| {
            match name {
                "kernel" => entry = Some(reader.string()?.to_owned()),
                "module" => module = Some(reader.string()?.to_owned()),
                "ptx" => ptx = reader.counts()?,
                "sass" => sass = Some(reader.counts()?),
                figure => {
                    let all = resources.get_or_insert_default();
                    *figure_mut(all, figure).ok_or(format!("unknown field `{figure}`"))? = reader.number()?;
                }
            }
            Ok(())
        })?;
        let (entry, module) = (entry.ok_or("no field `kernel`")?, module.ok_or("no field `module`")?);
        Ok(Row { entry, module, resources, ptx, sass })
    }

    fn counts(&mut self) -> Result<Counts, String> {
        let mut counts = Counts::default();
        self.fields(|reader, name| {
            let count = reader.number()?;
            if counts.set(name, count) { Ok(()) } else { Err(format!("unknown count `{name}`")) }
        })?;
        Ok(counts)
    }

    /// An object: `field` reads the value of each name.
    fn fields(&mut self, mut field: impl FnMut(&mut Self, &str) -> Result<(), String>) -> Result<(), String> {
        self.expect('{')?;
        let mut first = true;
        while !self.accept('}') {
            if !first {
                self.expect(',')?;
            }
            first = false;
            let name = self.string()?;
            self.expect(':')?;
            field(self, name)?;
        }
        Ok(())
    }

    fn string(&mut self) -> Result<&'a str, String> {
        self.expect('"')?;
        let (text, rest) = self.rest.split_once('"').ok_or("a string without an end")?;
        if text.contains(['\\', '\n']) {
            return Err(format!("cannot read the string `{text}`"));
        }
        self.rest = rest;
        Ok(text)
    }

    fn number(&mut self) -> Result<u32, String> {
        self.skip_space();
        let digits = self.rest.len() - self.rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number = self.rest[..digits].parse().map_err(|_| self.found("a number"))?;
        self.rest = &self.rest[digits..];
        Ok(number)
    }

    fn expect(&mut self, c: char) -> Result<(), String> {
        if self.accept(c) { Ok(()) } else { Err(self.found(&format!("`{c}`"))) }
    }

    fn found(&self, expected: &str) -> String {
        let rest: String = self.rest.chars().take_while(|c| *c != '\n').take(12).collect();
        format!("expected {expected}, found `{rest}`")
    }

    fn accept(&mut self, c: char) -> bool {
        self.skip_space();
        let rest = self.rest.strip_prefix(c);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn skip_space(&mut self) {
        let rest = self.rest.trim_start();
        let skipped = &self.rest[..self.rest.len() - rest.len()];
        self.line += skipped.matches('\n').count();
        self.rest = rest;
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{ledger, row};
    use super::*;

    #[test]
    fn round_trip() {
        let mut before = ledger(&["k_f32_4", "k_f32_8"]);
        before.rows.push(Row { resources: None, sass: None, ..row("k_f64_4") });
        let text = format(&before);
        assert_eq!(parse(&text).unwrap(), before);
        assert_eq!(text.lines().count(), 5, "a line an entry: {text}");
        assert_eq!(parse(&format(&ledger(&[]))).unwrap(), ledger(&[]));
    }

    #[test]
    fn white_space_and_order_do_not_matter() {
        let text =
            "{ \"kernels\" : [\n {\"module\":\"m\",\n\"ptx\":{}, \"kernel\":\"k\"} ] ,\"arch\":\"sm_80\"}";
        let read = parse(text).unwrap();
        assert_eq!((read.rows[0].entry.as_str(), read.rows[0].module.as_str()), ("k", "m"));
        assert!(read.rows[0].resources.is_none());
    }

    #[test]
    fn errors_name_the_line() {
        let text = format(&ledger(&["a", "b"]));
        let (head, tail) = text.rsplit_once("\"stack\"").unwrap();
        assert_eq!(parse(&format!("{head}\"heap\"{tail}")).unwrap_err(), "line 3: unknown field `heap`");
        let error = parse(&text.replace("90,", "x,")).unwrap_err();
        assert!(error.starts_with("line 2: expected a number, found `x"), "{error}");
        assert!(parse(&text[..text.len() - 4]).is_err());
        assert!(parse(&text.replace("sm_90", "sm_1")).unwrap_err().contains("unknown GPU architecture"));
        assert_eq!(parse("{}").unwrap_err(), "line 1: no field `arch`");
        assert!(parse(&format!("{text}{text}")).unwrap_err().contains("behind the end"));
    }
}
