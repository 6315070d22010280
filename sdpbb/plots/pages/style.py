"""Style sheet of the page: for light and dark screens, narrow ones, and paper."""

from __future__ import annotations

CSS = """
:root {
  color-scheme: light dark;
  --ink: #1b2430; --soft: #566270; --pale: #7d8794; --rule: #d9dee4; --paper: #fefefe;
  --panel: #f3f5f8; --good: #00694c; --fair: #8a5a00; --bad: #a83a00;
  --blue: #0072b2; --sky: #56b4e9; --green: #009e73; --red: #cc3311;
  --indigo: #332288; --wine: #882255;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --ink: #e6eaef; --soft: #a9b4c0; --pale: #7d8794; --rule: #38424d; --paper: #14191f;
    --panel: #1d242c; --good: #4fd0a8; --fair: #f0b64a; --bad: #ff8f57;
    --blue: #2f8fd8; --sky: #a3dcff; --green: #27bd92; --red: #ff4d3d;
    --indigo: #9c8cff; --wine: #e0709f;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0 auto; padding: 2rem 1.25rem 4rem; max-width: 58rem;
  background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", sans-serif;
}
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0; overflow-wrap: anywhere; }
h2 {
  font-size: 1.2rem; margin: 2.6rem 0 .6rem; padding-top: .9rem;
  border-top: 1px solid var(--rule);
}
p { margin: .5rem 0; max-width: 46rem; }
.kicker { color: var(--soft); margin: 0 0 .3rem; }
.verdict {
  margin: 1.3rem 0; padding: .9rem 1.1rem; background: var(--panel);
  border-left: .35rem solid var(--tone); border-radius: .2rem;
}
.verdict strong { color: var(--tone); font-size: 1.15rem; }
.good { --tone: var(--good); }
.fair { --tone: var(--fair); }
.bad { --tone: var(--bad); }
.tiles {
  display: grid; grid-template-columns: repeat(auto-fit, minmax(10.5rem, 1fr));
  gap: .8rem; margin: 1.2rem 0; padding: 0;
}
.tiles div { background: var(--panel); border-radius: .2rem; padding: .6rem .7rem; }
.tiles dt { color: var(--soft); font-size: .85rem; }
.tiles dd {
  margin: 0; font-size: 1.05rem; font-variant-numeric: tabular-nums; overflow-wrap: anywhere;
}
/* A shadow at a side on which there is more to scroll to. */
.scroll {
  overflow-x: auto;
  background:
    linear-gradient(to right, var(--paper) 40%, transparent) 0 0 / 2rem 100% no-repeat local,
    linear-gradient(to left, var(--paper) 40%, transparent) 100% 0 / 2rem 100% no-repeat local,
    linear-gradient(to right, var(--pale), transparent) 0 0 / .6rem 100% no-repeat scroll,
    linear-gradient(to left, var(--pale), transparent) 100% 0 / .6rem 100% no-repeat scroll;
}
table { border-collapse: collapse; margin: .6rem 0; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); padding-bottom: .3rem; }
th, td {
  padding: .28rem 1.1rem .28rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid var(--rule);
}
th:last-child, td:last-child { padding-right: .2rem; }
th { font-weight: 600; }
.facts th { color: var(--soft); font-weight: 400; white-space: nowrap; }
.facts td { overflow-wrap: anywhere; }
.numbers td, .numbers thead th:not(:first-child) { text-align: right; }
.numbers tbody th { max-width: 14rem; overflow-wrap: break-word; }
.numbers .long { min-width: 10rem; }
.numbers td:not(.long) { white-space: nowrap; }
h3 { font-size: 1rem; margin: 1.4rem 0 .3rem; }
details p { overflow-wrap: anywhere; max-width: none; }
a { color: var(--blue); }
a:focus-visible, summary:focus-visible, .scroll:focus-visible {
  outline: 2px solid var(--blue); outline-offset: 2px;
}
.note { color: var(--soft); font-size: .92rem; }
figure { margin: 1rem 0; }
figcaption { color: var(--soft); font-size: .92rem; max-width: 46rem; }
figure svg { display: block; height: auto; stroke-linejoin: round; stroke-linecap: butt; }
pre, code {
  font-family: ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: .9rem;
}
pre {
  background: var(--panel); padding: .8rem 1rem; border-radius: .2rem; overflow-x: auto;
  white-space: pre-wrap; overflow-wrap: anywhere;
}
summary { cursor: pointer; color: var(--soft); }
footer { margin-top: 3rem; color: var(--soft); font-size: .9rem; }
@media (max-width: 34rem) {
  body { padding: 1.2rem .9rem 3rem; }
  .facts th { white-space: normal; }
  th:not(:last-child), td:not(:last-child) { padding-right: .7rem; }
}
@media print {
  body { max-width: none; padding: 0; font-size: 10.5pt; }
  figure, table, .verdict { break-inside: avoid; }
  h2 { break-after: avoid; }
}
"""
