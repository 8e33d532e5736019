"""The frame of a report: one HTML file without scripts, links or requests."""

from html import escape

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)

STYLE = """
:root {
  color-scheme: light dark;
  --page: #ffffff; --ink: #1b1f24; --muted: #57606a; --line: #d0d7de; --head: #f3f5f7;
  --alarm: #b3261e; --alarm-ink: #ffffff; --link: #0067a3;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --page: #16181c; --ink: #e8eaed; --muted: #a9b1ba; --line: #3a4048; --head: #22262c;
    --alarm: #a3241c; --link: #66b2cc;
  }
}
@media print { :root { color-scheme: light; } }
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.5 "DejaVu Sans", Verdana, Geneva, system-ui, sans-serif;
}
main, .banner > div { max-width: 1180px; margin: 0 auto; padding: 0 16px; }
main { padding-bottom: 48px; }
.banner { background: var(--alarm); color: var(--alarm-ink); padding: 12px 0; }
.banner strong { display: block; font-size: 1.15rem; }
.banner p { margin: 2px 0 0; max-width: 75ch; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 28px 0 8px; overflow-wrap: anywhere; }
h2 { font-size: 1.2rem; margin: 36px 0 10px; }
table { border-collapse: collapse; font-size: 0.85rem; font-variant-numeric: tabular-nums; }
th, td { padding: 5px 10px; border-bottom: 1px solid var(--line); vertical-align: top; }
th { font-weight: 600; text-align: left; }
.facts th { white-space: nowrap; }
.facts td, .name { overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
.scroll:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
.results { max-height: 85vh; overflow: auto; border: 1px solid var(--line); }
.results table { width: 100%; border-collapse: separate; border-spacing: 0; font-size: 0.8rem; }
.results th, .results td { padding: 4px 7px; }
.results th { position: sticky; top: 0; background: var(--head); vertical-align: bottom; }
.results .name { min-width: 8em; max-width: 22em; }
.number { text-align: right; white-space: nowrap; }
th.number { white-space: normal; }
.interval, .tag { color: var(--muted); }
figure { margin: 0 0 32px; }
figure img {
  display: block; height: auto; width: 100%;
  max-width: var(--width); min-width: calc(var(--width) * 0.72);
}
figcaption { color: var(--muted); font-size: 0.9rem; max-width: 85ch; margin-top: 6px;
  overflow-wrap: anywhere; }
summary { cursor: pointer; padding: 6px 0; color: var(--link); }
dl { max-width: 85ch; font-size: 0.9rem; }
dt { font-weight: 600; }
dd { margin: 0 0 8px; color: var(--muted); }
li { max-width: 85ch; overflow-wrap: anywhere; }
@media (max-width: 600px) {
  body { font-size: 15px; }
  .facts th { white-space: normal; }
}
@page { margin: 16mm 14mm 18mm; @bottom-right {
  content: "not private, not for release"; font: 8pt sans-serif; } }
@page wide { size: landscape; }
@media print {
  .banner { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  .results { max-height: none; overflow: visible; border: 0; }
  .wide { page: wide; }
  .results th { position: static; }
  .scroll { overflow: visible; }
  .results th, .results td { padding: 2px 4px; font-size: 7pt; }
  .results .name { min-width: 11em; }
  figure { break-inside: avoid; }
  figure img { min-width: 0; max-height: 235mm; width: auto; max-width: 100%; }
  thead { display: table-header-group; }
  tr { break-inside: avoid; }
  details::details-content { content-visibility: visible; block-size: auto; }
  summary { display: none; }
}
"""

BANNER = """<div class="banner" role="note"><div>
<strong>Not private, not for release</strong>
<p>The numbers and figures below were computed from the data themselves, without protection:
this page is for the holder of the data, and must not be passed on.</p>
</div></div>"""


def page(title: str, sections: list[str]) -> str:
    """Return a whole page; `title` is plain text, the sections are HTML."""
    name = escape(title)
    body = "\n".join(sections)
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>{name}</title>
<style>{STYLE}</style>
</head>
<body>
{BANNER}
<main>
<h1>{name}</h1>
{body}
</main>
</body>
</html>
"""
