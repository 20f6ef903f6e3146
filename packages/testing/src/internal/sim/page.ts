/**
 * A told run as one page that needs nothing else: a time line of who did what to which object, to be stepped through, with
 * every object as it was at each step.
 */
import { script, style } from "./pageAssets.ts"
import { actorsOf, objectsOf, type Row } from "./pageRows.ts"

/** What stands above the time line. */
export interface Head {
  /** The law that broke, or that none did. */
  readonly title: string
  readonly isFailure: boolean
  /** Other laws that broke at the same moment. */
  readonly also: ReadonlyArray<string>
  /** `1. ctl/apps/a/2/delete:Set/a    process killed …`. */
  readonly deviations: ReadonlyArray<{ readonly point: string; readonly text: string }>
  readonly hint: string | undefined
  readonly replay: string
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  "\"": "&quot;",
  "'": "&#39;"
}

const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => entities[character] ?? character)

/** Inside of a script element, where only its end could be misread. */
const json = (value: unknown): string => JSON.stringify(value).replaceAll("<", "\\u003c")

export const render = (head: Head, rows: ReadonlyArray<Row>): string => {
  const actors = actorsOf(rows)
  const objects = objectsOf(rows)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
<title>${escaped(head.title)}</title>
<style>${style}</style>
</head>
<body>
${header(head)}
<nav aria-label="Steps">
<button type="button" data-go="first" title="First step (Home)">first</button>
<button type="button" data-go="previous" title="Step back (↑ or k)">◀ back</button>
<button type="button" data-go="next" title="Next step (↓ or j)">next ▶</button>
<button type="button" data-go="last" title="Last step (End)">last</button>
<button type="button" data-go="fault" title="Next fault or violation (f)">next ✗</button>
<label title="Passes, and the answers of calls (a)"><input type="checkbox" id="asides"> calls and passes</label>
<span id="position"></span>
</nav>
<main>
<div class="line" tabindex="-1">
<table>
<thead><tr><th class="time">time</th>${actors.map((name) => laneHead(name)).join("")}${
    objects.map((name, index) => laneHead(name, index === 0)).join("")
  }<th class="what">what happened</th></tr></thead>
<tbody>
${table(rows, actors, objects)}
</tbody>
</table>
</div>
<aside id="now" aria-live="polite"></aside>
</main>
<script type="application/json" id="rows">${json(rows)}</script>
<script>${script}</script>
</body>
</html>
`
}

const header = ({ also, deviations, hint, isFailure, replay, title }: Head): string => {
  const list = deviations.map(({ point, text }) => `<li><code>${escaped(point)}</code> ${escaped(text)}</li>`).join("")
  return `<header class="${isFailure ? "failed" : "clean"}">
<h1>${escaped(title)}</h1>
${also.map((text) => `<p>also: ${escaped(text)}</p>`).join("")}
${
    deviations.length === 0
      ? "<p>The plain run: nothing went differently.</p>"
      : `<p>What went differently:</p><ol>${list}</ol>`
  }
${hint === undefined ? "" : `<p class="hint">${escaped(hint)}</p>`}
<p>replay: <code id="replay">${escaped(replay)}</code></p>
</header>`
}

/** Objects stand apart from who acts. */
const laneClass = (isFirstObject: boolean): string => isFirstObject ? "lane apart" : "lane"

const laneHead = (name: string, isFirstObject = false): string =>
  `<th class="${laneClass(isFirstObject)}" title="${escaped(name)}"><span>${escaped(name)}</span></th>`

/** Which lanes have a line in a row: of who acts before and after it, of what is there. */
const table = (rows: ReadonlyArray<Row>, actors: ReadonlyArray<string>, objects: ReadonlyArray<string>): string => {
  const spans = new Map(actors.map((actor) => [actor, {
    from: rows.findIndex(({ who }) => who === actor),
    to: rows.findLastIndex(({ who }) => who === actor)
  }]))
  const alive = new Map<string, string>()
  return rows.map((row, index) => {
    const lanes = actors.map((actor) => {
      const { from = 0, to = 0 } = spans.get(actor) ?? {}
      const line = index < from || index > to ? "" : "runs"
      return cell(line, row.who === actor ? dot(row) : "")
    })
    const before = new Map(alive)
    note(alive, row)
    const things = objects.map((object, lane) => {
      const known = before.get(object)
      const line = known === undefined ? `${alive.get(object) ?? ""} born` : alive.has(object) ? known : `${known} dies`
      return cell(line, row.object === object ? chip(row) : "", lane === 0)
    })
    const site = row.site === undefined ? "" : ` <span class="site">${escaped(row.site)}</span>`
    const what = `<td class="what"><span>${escaped(row.text)}</span>${site}</td>`
    const time = `<td class="time">${escaped(row.time)}</td>`
    return `<tr data-row="${index}" class="${row.mark}">${[time, ...lanes, ...things, what].join("")}</tr>`
  }).join("\n")
}

const cell = (line: string, inner: string, isFirstObject = false): string =>
  `<td class="${laneClass(isFirstObject)} ${line}">${inner}</td>`

const dot = ({ mark }: Row): string => `<i class="dot">${mark === "fault" || mark === "violation" ? "✗" : ""}</i>`

const chip = ({ change, revision }: Row): string => `<b class="chip ${change}" title="${change}">${revision}</b>`

/** How the object's line goes on below this row. */
const note = (alive: Map<string, string>, { change, object }: Row): void => {
  if (object === undefined || change === undefined) return
  if (change === "removed") alive.delete(object)
  else if (change === "marked" || alive.get(object) === "there marked") alive.set(object, "there marked")
  else alive.set(object, "there")
}
