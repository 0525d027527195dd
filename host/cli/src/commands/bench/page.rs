//! One page with the table, the figures and where they come from, and nothing to load.

use std::fmt::Write as _;

use batchlas_bench::{Provenance, Row};

use super::figures;
use super::table::{LEFT, are_counts, columns, remark};
use crate::failure::Failure;

const STYLE: &str = "\
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #ffffff; --line: #d8dee4; --dim: #57606a; --band: #f6f8fa; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --paper: #0d1117; --line: #30363d; --dim: #9198a1; --band: #161b22; }
}
body { margin: 0 auto; padding: 1.5rem; max-width: 72rem; color: var(--ink); background: var(--paper);
  font: 15px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.2rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 13px; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid var(--line); text-align: right; white-space: nowrap; }
th { position: sticky; top: 0; background: var(--band); white-space: normal; vertical-align: bottom; }
.text { text-align: left; } td.remark { color: var(--dim); white-space: normal; min-width: 12rem; text-align: left; }
dl { display: grid; grid-template-columns: max-content auto; gap: .2rem 1.2rem; } dt { color: var(--dim); } dd { margin: 0; }
figure { margin: 1rem 0; } svg { width: 100%; height: auto; }
p.note { color: var(--dim); max-width: 60rem; }
";

/// The page.
pub(super) fn page(rows: &[Row], provenance: &Provenance) -> Result<String, Failure> {
    let op = rows.first().map_or("", |row| row.op.as_str());
    let title = escaped(&format!("{op} on {}", provenance.device));
    let mut html = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>BatchLAS: {title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<h1>BatchLAS: {title}</h1>\n"
    );
    html += &origin(provenance, rows);
    for figure in figures::separate(rows) {
        let _ = writeln!(html, "<figure>\n{}\n</figure>", figure.inline()?);
    }
    html += "<h2>Rows</h2>\n";
    html += if are_counts(rows) { COUNTS_NOTE } else { NOTE };
    html += &table(rows);
    html += "</body>\n</html>\n";
    Ok(html)
}

const NOTE: &str = "<p class=\"note\">Medians of arms that took turns in one process. Spread: distance of the \
quartiles over the median; an arm above 0.10 is dropped and shows no time. x vendor: the time of the vendor's faster \
routine over the arm's, both of this run. Residual ||A V - V L|| / (n eps ||A||) and orthogonality \
||V^H V - I|| / (n eps) are the worst of the items looked at, before and after the times.</p>\n";

const COUNTS_NOTE: &str = "<p class=\"note\">Counts of the executor, over all kernels of one call: a model of a GPU's \
warps, not a measurement. A sector has 32 bytes. Residual ||A V - V L|| / (n eps ||A||) is the worst of the items looked \
at.</p>\n";

fn origin(provenance: &Provenance, rows: &[Row]) -> String {
    let unknown = || "none".to_owned();
    let commit = if provenance.commit.is_empty() { "unknown".to_owned() } else { provenance.commit.clone() };
    let entries = [
        ("device", provenance.device.clone()),
        ("host threads", provenance.threads.to_string()),
        ("driver", provenance.driver.as_ref().map_or_else(unknown, |v| format!("CUDA {v}"))),
        ("kernels by", provenance.tool_chain.clone().unwrap_or_else(unknown)),
        ("version", provenance.version.clone()),
        ("commit", commit),
        ("date", provenance.date.clone()),
        ("rows", rows.len().to_string()),
    ];
    let lines = entries.map(|(name, value)| format!("<dt>{name}</dt><dd>{}</dd>\n", escaped(&value)));
    format!("<dl>\n{}</dl>\n", lines.concat())
}

fn table(rows: &[Row]) -> String {
    let class = |at: usize| if at < LEFT { " class=\"text\"" } else { "" };
    let mut html = "<div class=\"scroll\"><table>\n<thead><tr>".to_owned();
    let (header, lines) = columns(rows);
    for (at, name) in header.iter().enumerate() {
        let _ = write!(html, "<th{}>{name}</th>", class(at));
    }
    html += "<th class=\"text\">remark</th></tr></thead>\n<tbody>\n";
    for (row, cells) in rows.iter().zip(&lines) {
        html += "<tr>";
        for (at, cell) in cells.iter().enumerate() {
            let _ = write!(html, "<td{}>{}</td>", class(at), escaped(cell));
        }
        let _ = writeln!(html, "<td class=\"remark\">{}</td></tr>", escaped(&remark(row)));
    }
    html + "</tbody>\n</table></div>\n"
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use batchlas_bench::row::Counters;

    #[test]
    fn counts_are_on_the_page() {
        let counters = Counters { collectives: 4711, ..Counters::default() };
        let row = Row { n: 8, batch: 2, counters: Some(counters), ..Row::default() };
        let html = page(&[row], &Provenance::default()).unwrap();
        assert!(html.contains("<td>4711</td>") && html.contains("<th>collectives</th>"), "{html}");
        assert!(html.contains("not a measurement") && !html.contains("x vendor"));
    }

    #[test]
    fn a_page_is_whole_escaped_and_loads_nothing() {
        let row = Row {
            op: "syev".into(),
            dtype: "f32".into(),
            jobz: "V".into(),
            layout: "packed".into(),
            route: "cta".into(),
            n: 8,
            batch: 10,
            ms: Some(1.0),
            ns: Some(1e5),
            ..Row::default()
        };
        let wrong = row.clone().with_error("wrong <result> & more");
        let provenance = Provenance { device: "NVIDIA \"H200\"".into(), ..Provenance::default() };
        let html = page(&[row, wrong], &provenance).unwrap();
        assert!(html.contains("wrong &lt;result&gt; &amp; more") && html.contains("NVIDIA &quot;H200&quot;"));
        for word in ["src=", "href=", "<script", "@import", "url("] {
            assert!(!html.contains(word), "{word}");
        }
        assert!(html.contains("prefers-color-scheme: dark"));
        assert_eq!((html.matches("<svg").count(), html.matches("</svg>").count()), (1, 1));
    }
}
