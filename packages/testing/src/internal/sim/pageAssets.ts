/** What the page looks like, and what moves in it. Plain text: it runs in whatever browser opens the page. */

export const style = `
:root { color-scheme: light dark; --back: #fff; --text: #1b1f24; --dim: #67707c; --line: #d7dce2; --soft: #f4f6f8;
  --blue: #2563c9; --green: #1e7f4f; --orange: #b35c00; --red: #c4262e; --chosen: #e3edfb; }
@media (prefers-color-scheme: dark) { :root { --back: #14171b; --text: #e4e7eb; --dim: #939daa; --line: #333a43;
  --soft: #1d2127; --blue: #77a8f5; --green: #5cc48f; --orange: #eda255; --red: #f37a80; --chosen: #22344f; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--text); font: 14px/1.45 system-ui, sans-serif; height: 100vh;
  display: flex; flex-direction: column; }
code, .what, .time, dl { font-family: ui-monospace, "DejaVu Sans Mono", monospace; font-size: 12.5px; }
header { padding: 12px 20px 8px; border-bottom: 1px solid var(--line); border-left: 6px solid var(--green); }
header.failed { border-left-color: var(--red); }
h1 { font-size: 17px; margin: 0 0 4px; }
header p { margin: 2px 0; }
header ol { margin: 2px 0; padding-left: 24px; }
.hint::before { content: "hint: "; color: var(--dim); }
nav { display: flex; gap: 6px; align-items: center; padding: 8px 20px; border-bottom: 1px solid var(--line);
  background: var(--soft); flex-wrap: wrap; }
button { font: inherit; padding: 3px 10px; border: 1px solid var(--line); border-radius: 5px; background: var(--back);
  color: inherit; cursor: pointer; }
button:hover { border-color: var(--blue); }
label { margin-left: 8px; }
#position { margin-left: auto; color: var(--dim); }
main { display: flex; flex: 1; min-height: 0; }
.line { flex: 1; overflow: auto; outline: none; }
table { border-collapse: separate; border-spacing: 0; min-width: 100%; }
thead th { position: sticky; top: 0; background: var(--back); border-bottom: 1px solid var(--line); text-align: left;
  font-weight: 600; vertical-align: bottom; padding: 6px 8px; z-index: 1; }
th.lane { text-align: center; padding: 6px 2px; }
th.lane span { writing-mode: vertical-rl; transform: rotate(180deg); white-space: nowrap; font-size: 12px;
  max-height: 120px; overflow: hidden; }
td { padding: 3px 8px; white-space: nowrap; }
td.time { color: var(--dim); text-align: right; padding-left: 20px; }
td.what { width: 100%; white-space: pre; }
td.lane { position: relative; min-width: 34px; text-align: center; padding: 3px 2px; }
.apart { border-left: 1px solid var(--line); }
tbody tr { scroll-margin-top: 140px; }
td.runs::before, td.there::before { content: ""; position: absolute; top: 0; bottom: 0; left: 50%; width: 2px;
  margin-left: -1px; background: var(--blue); opacity: .45; }
td.there::before { background: var(--green); width: 4px; margin-left: -2px; }
td.born::before { top: 50%; } td.dies::before { bottom: 50%; }
td.there.marked::before { background: repeating-linear-gradient(var(--orange) 0 4px, transparent 4px 8px); }
.dot { position: relative; display: inline-block; width: 11px; height: 11px; border-radius: 50%; background: var(--blue);
  font-style: normal; vertical-align: middle; }
.aside .dot { width: 7px; height: 7px; opacity: .7; }
.fault .dot, .violation .dot { background: var(--red); color: #fff; width: 16px; height: 16px; line-height: 16px;
  font-size: 11px; }
.chip { position: relative; display: inline-block; min-width: 22px; padding: 0 5px; border-radius: 9px; font-size: 11px;
  line-height: 18px; background: var(--green); color: var(--back); }
.chip.marked { background: var(--orange); }
.chip.removed { background: var(--back); color: var(--red); outline: 2px solid var(--red); text-decoration: line-through; }
tr.aside { display: none; color: var(--dim); }
body.all tr.aside { display: table-row; }
tr.fault td.what, tr.violation td.what { color: var(--red); font-weight: 600; }
tbody tr { cursor: pointer; }
tbody tr:hover td { background: var(--soft); }
tbody tr.chosen td { background: var(--chosen); }
tr.ahead td.what, tr.ahead td.time { opacity: .45; }
tr.ahead .dot, tr.ahead .chip, tr.ahead td.lane::before { opacity: .25; }
.site { color: var(--dim); font-weight: 400; padding-left: 18px; }
aside { width: 400px; flex: none; border-left: 1px solid var(--line); overflow: auto; padding: 12px 16px; }
aside h2 { font-size: 14px; margin: 0 0 6px; overflow-wrap: anywhere; }
aside h3 { font-size: 13px; margin: 14px 0 4px; color: var(--dim); font-weight: 600; }
dl { margin: 0; display: grid; grid-template-columns: max-content 1fr; gap: 1px 10px; }
dt { color: var(--dim); } dd { margin: 0; overflow-wrap: anywhere; }
.object { border: 1px solid var(--line); border-radius: 6px; padding: 6px 10px; margin: 6px 0; }
.object.changed { border-color: var(--blue); box-shadow: inset 3px 0 var(--blue); }
.object.gone { border-color: var(--red); box-shadow: inset 3px 0 var(--red); opacity: .8; }
.object h4 { margin: 0 0 4px; font-size: 13px; }
.object h4 small { color: var(--dim); font-weight: 400; }
.new { color: var(--green); font-weight: 600; } .old { color: var(--red); text-decoration: line-through; }
.none { color: var(--dim); }
@media (max-width: 900px) { main { flex-direction: column; } aside { width: auto; border-left: 0; max-height: 45vh;
  border-top: 1px solid var(--line); } }
`

export const script = `
"use strict"
const rows = JSON.parse(document.getElementById("rows").textContent)
const elements = [...document.querySelectorAll("tr[data-row]")]
const now = document.getElementById("now")
const asides = document.getElementById("asides")
let chosen = 0

const isShown = (index) => asides.checked || rows[index].mark !== "aside"
const isOdd = (index) => rows[index].mark === "fault" || rows[index].mark === "violation"

/** The nearest row in a direction that is wanted, else the one that is chosen. */
const towards = (from, by, isWanted) => {
  for (let index = from; index >= 0 && index < rows.length; index += by) {
    if (isShown(index) && isWanted(index)) return index
  }
  return chosen
}
const any = () => true
const goals = {
  first: () => towards(0, 1, any),
  previous: () => towards(chosen - 1, -1, any),
  next: () => towards(chosen + 1, 1, any),
  last: () => towards(rows.length - 1, -1, any),
  fault: () => towards(chosen + 1, 1, isOdd)
}

const element = (tag, className, ...children) => {
  const made = document.createElement(tag)
  if (className !== "") made.className = className
  made.append(...children)
  return made
}

/** Every object as it is after a row, and as it was before its last change. */
const stateAt = (index) => {
  const state = new Map()
  for (let at = 0; at <= index; at++) {
    const { change, fields, object } = rows[at]
    if (object === undefined) continue
    const before = state.get(object)
    if (before !== undefined && before.isGone) state.delete(object)
    state.set(object, { fields, before: before && !before.isGone ? before.fields : {}, isGone: change === "removed", at })
  }
  return state
}

const fieldList = ({ before, fields, isGone }, isChanged) => {
  const list = element("dl", "")
  const names = new Set([...Object.keys(fields), ...(isChanged ? Object.keys(before) : [])])
  for (const name of names) {
    const value = element("dd", "")
    if (!isChanged || isGone || before[name] === fields[name]) value.append(fields[name] ?? "")
    else {
      if (before[name] !== undefined) value.append(element("span", "old", before[name]), " ")
      if (fields[name] !== undefined) value.append(element("span", "new", fields[name]))
    }
    list.append(element("dt", "", name), value)
  }
  return list
}

const objectCard = (name, shown, index) => {
  const isChanged = shown.at === index
  const kind = shown.isGone ? "gone" : isChanged ? "changed" : ""
  const note = shown.isGone ? " removed" : isChanged && rows[index].change ? " " + rows[index].change : ""
  return element("section", "object " + kind, element("h4", "", name, element("small", "", note)), fieldList(shown, isChanged))
}

const facts = (row) => {
  const list = element("dl", "")
  const told = { time: "t=" + row.time, by: row.who, pass: row.pass, "called at": row.site }
  for (const [name, value] of Object.entries(told)) {
    if (value !== undefined) list.append(element("dt", "", name), element("dd", "", value))
  }
  return list
}

const show = (index) => {
  chosen = index
  elements.forEach((row, at) => {
    row.classList.toggle("chosen", at === index)
    row.classList.toggle("ahead", at > index)
    row.setAttribute("aria-selected", String(at === index))
  })
  const cards = [...stateAt(index)].filter(([, shown]) => !shown.isGone || shown.at === index)
  cards.sort(([, a], [, b]) => Number(b.at === index) - Number(a.at === index))
  now.replaceChildren(
    element("h2", "", rows[index].text),
    facts(rows[index]),
    element("h3", "", "objects at this step"),
    ...(cards.length === 0 ? [element("p", "none", "none")] : cards.map(([name, shown]) => objectCard(name, shown, index)))
  )
  const shown = rows.map((_, at) => at).filter(isShown)
  document.getElementById("position").textContent = "step " + (shown.indexOf(index) + 1) + " of " + shown.length
  elements[index].scrollIntoView({ block: "nearest" })
}

const toggleAsides = () => {
  document.body.classList.toggle("all", asides.checked)
  if (!isShown(chosen)) chosen = towards(chosen, -1, any)
  if (!isShown(chosen)) chosen = towards(0, 1, any)
  show(chosen)
}

const keys = {
  ArrowDown: "next", ArrowRight: "next", j: "next", ArrowUp: "previous", ArrowLeft: "previous", k: "previous",
  Home: "first", End: "last", f: "fault"
}
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return
  if (event.key === "a") {
    asides.checked = !asides.checked
    return toggleAsides()
  }
  const goal = keys[event.key]
  if (goal === undefined) return
  event.preventDefault()
  show(goals[goal]())
})
for (const button of document.querySelectorAll("[data-go]")) {
  button.addEventListener("click", () => show(goals[button.dataset.go]()))
}
asides.addEventListener("change", toggleAsides)
elements.forEach((row, index) => row.addEventListener("click", () => show(index)))
toggleAsides()
`
