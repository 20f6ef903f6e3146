import * as Duration from "effect/Duration"
import * as Option from "effect/Option"

/** A duration's milliseconds; a number is milliseconds already. NaN where the input is no duration. */
export const millisOf = (input: Duration.Input): number =>
  typeof input === "number"
    ? input
    : Option.match(Duration.fromInput(input), { onNone: () => Number.NaN, onSome: Duration.toMillis })
