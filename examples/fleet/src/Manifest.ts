/**
 * Manifests of the fleet: the objects that a YAML file declares, each problem with its file, line, column and field.
 */
import { type Manifest, pathOf, type Problem, valueAt } from "@setpoint/example-manifests"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { Kind, type Resource } from "setpoint"

export { type File, type Manifest, type Problem, problemText, read, unreadable } from "@setpoint/example-manifests"

const Head = Schema.Struct({
  apiVersion: Schema.String,
  kind: Schema.String,
  metadata: Schema.Struct({
    name: Schema.String.check(Schema.isMinLength(1)),
    labels: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
    annotations: Schema.optionalKey(Schema.Record(Schema.String, Schema.String))
  })
})
const strict = { errors: "all", onExcessProperty: "error" } as const
const decodeHead = Schema.decodeUnknownResult(Head, strict)

/**
 * The object that a manifest declares. Fields that the kind does not have are problems, since a supervisor that passes
 * over `replica: 3` does not do what was written.
 */
export const decode = <A extends Resource.Any>(
  kind: Kind.Kind<A>,
  manifest: Manifest
): Result.Result<Kind.Input<A>, ReadonlyArray<Problem>> => {
  const { apiVersion, kind: name, metadata, ...fields } = manifest.value
  const head = decodeHead({ apiVersion, kind: name, metadata })
  if (Result.isFailure(head)) return Result.fail(problemsOf(manifest, head.failure))
  if (apiVersion !== kind.apiVersion || name !== kind.address.kind) {
    const field = apiVersion === kind.apiVersion ? "kind" : "apiVersion"
    const why =
      `this fleet knows ${kind.apiVersion} ${kind.address.kind}, not ${head.success.apiVersion} ${head.success.kind}`
    return Result.fail([manifest.problem(field, why)])
  }
  if ("status" in fields) return Result.fail([manifest.problem("status", "is the supervisor's to write")])
  const decoded = Schema.decodeResult(kind.codec, strict)(fields)
  if (Result.isFailure(decoded)) return Result.fail(problemsOf(manifest, decoded.failure))
  return Result.map(kind.decodeManifest(manifest.value), (input) => ({ ...input, metadata: head.success.metadata }))
    .pipe(
      Result.mapError((invalid) => invalid.fields.map((field) => manifest.problem(field.path, field.why)))
    )
}

const problemsOf = (manifest: Manifest, error: Schema.SchemaError): ReadonlyArray<Problem> =>
  Kind.fieldsOf(error).map(({ path, why }) => {
    const found = valueAt(manifest.value, pathOf(path))
    const text = found === undefined || typeof found === "object" ? "" : `, found ${JSON.stringify(found).slice(0, 60)}`
    return manifest.problem(path, `${why.replace(" | undefined", "")}${text}`)
  })
