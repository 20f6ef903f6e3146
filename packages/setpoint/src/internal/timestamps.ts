/** RFC 3339 in UTC to the second, as Kubernetes writes it into objects. */
import * as DateTime from "effect/DateTime"

export const fromMillis = (millis: number): string => `${DateTime.formatIso(DateTime.makeUnsafe(millis)).slice(0, 19)}Z`
