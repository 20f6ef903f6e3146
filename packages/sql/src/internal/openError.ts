import * as Schema from "effect/Schema"

const advice = {
  Damaged: "restore it from a backup, or move it away and begin anew",
  NotOurs: "give another file name",
  NewerSchema: "use the newer program",
  Locked: "end the other program, or give it time with a longer lockTimeout",
  ReadOnly: "make the file and its folder writable for this user",
  CannotOpen: "correct the file name, or create the folder",
  InvalidOption: "correct the option"
}

/**
 * A file could not be opened as a store, and was not written to. `filename` is the one that was given, `reason` what kind
 * of trouble it is:
 *
 * - `Damaged`: it breaks SQLite's format, or parts of it are missing
 * - `NotOurs`: it is another program's, or no SQLite file at all
 * - `NewerSchema`: a newer version of this package has written it
 * - `Locked`: another program held it for longer than `lockTimeout`
 * - `ReadOnly`: the file or its folder may not be written
 * - `CannotOpen`: the folder is missing, or the name is not that of a file
 * - `InvalidOption`: an option is out of its range
 *
 * @category errors
 * @since 0.1.0
 */
export class OpenError extends Schema.TaggedError<OpenError>()("OpenError", {
  filename: Schema.String,
  reason: Schema.Literals([
    "Damaged",
    "NotOurs",
    "NewerSchema",
    "Locked",
    "ReadOnly",
    "CannotOpen",
    "InvalidOption"
  ]),
  why: Schema.String
}) {
  override get message(): string {
    return `cannot open the store ${JSON.stringify(this.filename)}: ${this.why}; ${advice[this.reason]}`
  }
}
