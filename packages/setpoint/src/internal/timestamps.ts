/** RFC 3339 in UTC to the second, as Kubernetes writes it into objects. */
import * as DateTime from "effect/DateTime"

export const fromMillis = (millis: number): string => `${DateTime.formatIso(DateTime.makeUnsafe(millis)).slice(0, 19)}Z`

/** Remembers the text of the second it was last asked for. */
export const ofClock = (): (millis: number) => string => {
  let second = Number.NaN
  let text = ""
  return (millis) => {
    const now = Math.floor(millis / 1000)
    if (now !== second) {
      second = now
      text = fromMillis(millis)
    }
    return text
  }
}
