/**
 * Where people read: on a terminal lines with a table under them that is drawn anew in its place, elsewhere plain lines.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as Table from "./table.ts"
import type { View } from "./View.ts"

export interface Screen {
  readonly isTerminal: boolean
  readonly line: (text: string) => void
  /** Draws a table in the place of the one before; what is too wide or too long for the screen is cut. */
  readonly table: (rows: ReadonlyArray<Table.Row>) => void
}

const clear = "\u001b[0J"
const up = (count: number) => count === 0 ? "" : `\u001b[${count}A\r`

/** The screen of a stream such as `process.stdout`. */
export const make = (out: NodeJS.WriteStream): Screen => {
  const isTerminal = out.isTTY === true
  // Who read it may be gone before the fleet has ended; that is no reason to end otherwise.
  out.on("error", () => undefined)
  let table: ReadonlyArray<string> = []
  const draw = (lines: ReadonlyArray<string>, above: string) => {
    if (!isTerminal) return void out.write(above)
    out.write(`${up(table.length)}${clear}${above}${lines.map((line) => `${line}\n`).join("")}`)
    table = lines
  }
  return {
    isTerminal,
    line: (text) => draw(table, `${text}\n`),
    table: (rows) => {
      const lines = Table.lines(rows, out.columns || 120)
      const room = Math.max(1, (out.rows || 50) - 3)
      const cut = lines.length > room ? [...lines.slice(0, room - 1), `… and ${lines.length - room + 1} more`] : lines
      draw(["", ...cut], "")
    }
  }
}

/** Shows a fleet until the Scope closes: as a table with ages that go on, or each piece of news as a line. */
export const show = (
  screen: Screen,
  view: { readonly now: Effect.Effect<View>; readonly changes: Stream.Stream<View> }
): Effect.Effect<void, never, Scope.Scope> => {
  if (screen.isTerminal) {
    const ticks = Stream.mapEffect(Stream.tick("1 second"), () => view.now)
    return Stream.merge(view.changes, ticks).pipe(
      Stream.runForEach((now) => Effect.map(Clock.currentTimeMillis, (time) => screen.table(Table.rows(now, time)))),
      Effect.forkScoped({ startImmediately: true }),
      Effect.asVoid
    )
  }
  let before: View = { services: [], processes: [] }
  return view.changes.pipe(
    Stream.runForEach((now) =>
      Effect.sync(() => {
        for (const line of Table.news(before, now)) screen.line(`  ${line}`)
        before = now
      })
    ),
    Effect.forkScoped({ startImmediately: true }),
    Effect.asVoid
  )
}

/** Log lines on the screen: the time, how grave, what. */
export const logger = (screen: Screen): Logger.Logger<unknown, void> =>
  Logger.make(({ cause, date, logLevel, message }) => {
    const text = (Array.isArray(message) ? message : [message]).map(String).join(" ")
    const grave = logLevel === "Info" ? "" : `${logLevel.toUpperCase()} `
    const why = cause.reasons.length === 0 ? "" : ` ${String(cause)}`
    screen.line(`${date.toISOString().slice(11, 19)} ${grave}${text}${why}`)
  })

/** Says why a program ended: what went wrong as it says it of itself, a fault of the program whole. */
export const reportEnd = (screen: Screen, cause: Cause.Cause<{ readonly message: string }>): Effect.Effect<void> =>
  Effect.sync(() => {
    if (Cause.hasInterruptsOnly(cause)) return
    const error = Cause.findErrorOption(cause)
    screen.line(`fleet: ${Option.isSome(error) ? error.value.message : Cause.pretty(cause)}`)
  })
