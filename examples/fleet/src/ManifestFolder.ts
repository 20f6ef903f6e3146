/**
 * Keeps the services of the store as a folder of manifests declares them: `folderRules.ts` says how.
 *
 * Whatever happens in the folder, all of it is read anew and compared with the store, so no event need be trusted: one
 * that is lost is made up for by the next, or after five seconds.
 */
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Path from "effect/Path"
import * as Ref from "effect/Ref"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Controller, Store, type StoreError } from "setpoint"
import * as Rules from "./folderRules.ts"
import { Service } from "./Kinds.ts"
import * as Manifest from "./Manifest.ts"

export class NoFolder
  extends Schema.TaggedError<NoFolder>()("NoFolder", { folder: Schema.String, why: Schema.String })
{
  override get message(): string {
    return `--dir ${this.folder}: ${this.why}; give a folder of YAML manifests`
  }
}

const make = Effect.fnUntraced(function*(folder: string) {
  const fs = yield* FileSystem.FileSystem
  const path = yield* Path.Path
  const controller = yield* Controller.Controller
  const root = path.resolve(folder)
  const reported = yield* Ref.make<ReadonlySet<string>>(new Set())

  yield* fs.readDirectory(root).pipe(
    Effect.mapError((error) => new NoFolder({ folder, why: `cannot be read (${error.reason._tag})` }))
  )

  const place = (directory: string | undefined) => path.resolve(root, directory ?? ".")

  const readFile = (file: string): Effect.Effect<readonly [string, Manifest.File]> =>
    fs.readFile(path.join(root, file)).pipe(
      Effect.map((bytes) => Manifest.read(file, bytes)),
      Effect.catch((error) => Effect.succeed(Manifest.unreadable(file, `cannot be read (${error.reason._tag})`))),
      Effect.map((read) => [file, read] as const)
    )

  /** The manifest owns the fields that it sets, and no others: a service may bear labels and annotations of others. */
  const write = ({ input, manifest, name, revision }: Rules.Wanted) =>
    Store.apply(Service, input, { manager: "manifests", force: true }).pipe(
      Effect.flatMap(({ metadata }) =>
        metadata.resourceVersion === revision
          ? Effect.void
          : Effect.logInfo(`${name} is ${revision === undefined ? "created" : "updated"}`)
      ),
      Effect.as<ReadonlyArray<Manifest.Problem>>([]),
      Effect.catch((error) => Effect.succeed(refused(manifest, error)))
    )

  /** Makes the store as the folder is, as far as the folder can be understood. */
  const sync = Effect.gen(function*() {
    const names = (yield* fs.readDirectory(root)).filter(Rules.isManifest)
    const files = new Map(yield* Effect.forEach(names, readFile))
    const { items } = yield* Store.list(Service, { consistency: "mostRecent" })
    const plan = Rules.plan(files, items, place)
    const refusals = yield* Effect.forEach(plan.write, write)
    yield* Effect.forEach(
      plan.remove,
      (service) => Effect.andThen(Store.delete(Service, service), Effect.logInfo(`${service.metadata.name} is deleted`))
    )
    yield* report([...plan.problems, ...refusals.flat()])
  })

  /** Says each problem once, and once more when it is gone. */
  const report = Effect.fnUntraced(function*(problems: ReadonlyArray<Manifest.Problem>) {
    const now = new Set(problems.map(Manifest.problemText))
    const before = yield* Ref.getAndSet(reported, now)
    for (const text of now) if (!before.has(text)) yield* Effect.logError(text)
    if (now.size === 0 && before.size > 0) yield* Effect.logInfo("every manifest is well again")
  })

  const changes = Stream.merge(
    Stream.debounce(fs.watch(root), "100 millis"),
    Stream.tick("5 seconds")
  )
  const follow = Stream.runForEach(
    changes,
    () => Effect.catch(sync, (error) => Effect.logError(`manifests are not followed now: ${error.message}`))
  )
  yield* controller.background("manifests", follow)
})

const refused = (manifest: Manifest.Manifest, error: StoreError.StoreError): ReadonlyArray<Manifest.Problem> => {
  const { reason } = error
  return reason._tag === "Invalid"
    ? reason.fields.map((field) => manifest.problem(field.path, field.why))
    : [manifest.problem("", error.message)]
}

/** Follows a folder as long as the Layer stands. */
export const layer = (options: { readonly folder: string }) => Layer.effectDiscard(make(options.folder))
