/**
 * `pnpm start`: a script over the definitions beside this file, which checks each of its steps itself and exits with a code
 * other than 0, saying which step does not hold, when one does not. `--sqlite FILE` keeps the objects in a file.
 *
 * `pnpm start FILE …`: applies YAML files instead, of yours or of kro's, and shows what becomes of them.
 */
import { NodeRuntime } from "@effect/platform-node"
import * as Manifest from "@setpoint/example-manifests"
import { SqliteStore } from "@setpoint/sql"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { Controller, MemoryStore, type Resource, Store } from "setpoint"
import * as Blueprints from "./Blueprints.ts"
import * as Cluster from "./Cluster.ts"
import * as Documents from "./Documents.ts"
import * as InstanceReconciler from "./InstanceReconciler.ts"
import { Kinds } from "./Kinds.ts"
import * as Picture from "./picture.ts"

const say = (text: string): void => void process.stdout.write(`${text}\n`)

class DoesNotHold extends Schema.TaggedError<DoesNotHold>()("DoesNotHold", { what: Schema.String }) {
  override get message(): string {
    return `does not hold: ${this.what}`
  }
}

/** The picture of each instance, when it is another one than before. */
const pictures = (): Layer.Layer<never> => {
  const last = new Map<string, string>()
  return Layer.succeed(InstanceReconciler.Progress, (run) => {
    const picture = Picture.draw(run).map((line) => `    ${line}`).join("\n")
    if (last.get(run.instance.metadata.uid) === picture) return
    last.set(run.instance.metadata.uid, picture)
    say(picture)
  })
}

// ---------------------------------------------------------------------------------------------------------------------
// files
// ---------------------------------------------------------------------------------------------------------------------

/** Where the command was given: a package manager runs it elsewhere. */
const folder = process.env["INIT_CWD"] ?? process.cwd()

const readFile = (file: string): Manifest.File => {
  const path = Path.resolve(folder, file)
  const name = Path.relative(folder, path)
  const bytes = Result.try(() => Fs.readFileSync(path))
  return Result.isSuccess(bytes)
    ? Manifest.read(name, bytes.success, { duplicateKeys: "last" })
    : Manifest.unreadable(name, `cannot be read: ${String(bytes.failure)}`)
}

const own = (name: string): Manifest.File => readFile(Path.resolve(import.meta.dirname, "../definitions", name))

/** Applies what is right; gives what is wrong. */
const applyAll = Effect.fnUntraced(function*(files: ReadonlyArray<Manifest.File>) {
  const problems = files.flatMap((file) => file.problems)
  for (const manifest of files.flatMap((file) => file.manifests)) {
    const found = yield* Documents.problems(manifest)
    problems.push(...found)
    if (found.length === 0) yield* Documents.apply(manifest)
  }
  for (const problem of problems) say(`    ${Manifest.problemText(problem)}`)
  return problems
})

/** What has to be right. */
const applyRight = (files: ReadonlyArray<Manifest.File>) =>
  Effect.flatMap(
    applyAll(files),
    (problems) => problems.length === 0 ? Effect.void : new DoesNotHold({ what: "the documents are right" })
  )

const applyText = (text: string) => applyRight([Manifest.read("script", new TextEncoder().encode(text))])

// ---------------------------------------------------------------------------------------------------------------------
// looking
// ---------------------------------------------------------------------------------------------------------------------

const find = Effect.fnUntraced(function*(apiVersion: string, kindName: string, name: string) {
  const kind = yield* Effect.flatMap(Kinds, (kinds) => kinds.of(apiVersion, kindName))
  const found = yield* Effect.catchReason(
    Store.latest(kind, { name }),
    "StoreError",
    "NotFound",
    () => Effect.undefined
  )
  return found as unknown as Resource.JsonObject | undefined // a stored object is JSON
})

const remove = Effect.fnUntraced(function*(apiVersion: string, kindName: string, name: string) {
  const kind = yield* Effect.flatMap(Kinds, (kinds) => kinds.of(apiVersion, kindName))
  yield* Store.deleteUnconditionally(kind, { name })
})

const at = (object: Resource.JsonObject | undefined, path: string): Resource.Json | undefined =>
  object === undefined ? undefined : Manifest.valueAt(object, Manifest.pathOf(path))

/** Waits until it holds; says what it was when the time is over. */
const until = <E, R>(what: string, holds: Effect.Effect<boolean, E, R>) =>
  Effect.gen(function*() {
    const start = yield* Clock.monotonicTimeNanos
    while (!(yield* holds)) yield* Effect.sleep("10 millis")
    const millis = Number((yield* Clock.monotonicTimeNanos) - start) / 1e6
    say(`  ✓ ${what} (${millis.toFixed(0)} ms)`)
  }).pipe(Effect.timeoutOrElse({ duration: "20 seconds", orElse: () => Effect.fail(new DoesNotHold({ what })) }))

const shop = find("example.dev/v1", "Shop", "corner")
const isActive = Effect.map(shop, (shop) => at(shop, "status.state") === "ACTIVE")
const isGone = (apiVersion: string, kind: string, name: string) =>
  Effect.map(find(apiVersion, kind, name), (object) => object === undefined)
const isThere = (apiVersion: string, kind: string, name: string) =>
  Effect.map(find(apiVersion, kind, name), (object) => object !== undefined)

// ---------------------------------------------------------------------------------------------------------------------
// the script
// ---------------------------------------------------------------------------------------------------------------------

const platform = (theme: string) =>
  applyText(`{ apiVersion: v1, kind: ConfigMap, metadata: { name: platform }, data: { theme: ${theme} } }`)

const corner = (spec: string) =>
  applyText(`{ apiVersion: example.dev/v1, kind: Shop, metadata: { name: corner }, spec: ${spec} }`)

const script = Effect.gen(function*() {
  say("1. A definition that is wrong is refused, with file, line and path of all that is wrong")
  const problems = yield* applyAll([own("broken.yaml")])
  if (problems.length < 2) return yield* new DoesNotHold({ what: "broken.yaml is refused" })
  say("  ✓ refused")

  say("2. Two definitions become kinds while the program runs; an instance waits for what it refers to")
  yield* applyRight([own("shop.yaml"), own("database.yaml")])
  yield* until("Shop is a kind", isThere("apiextensions.k8s.io/v1", "CustomResourceDefinition", "shops.example.dev"))
  yield* corner("{}")
  yield* until("the shop waits", Effect.map(shop, (shop) => at(shop, "status.state") === "IN_PROGRESS"))

  say("3. What it refers to comes: resources are made in order, each when what it waits for is ready")
  yield* platform("dark")
  yield* until("the shop is active", isActive)
  yield* until("its status is filled", Effect.map(shop, (shop) => at(shop, "status.available") === 2))

  say("4. The external object changes: the change comes through")
  yield* platform("light")
  yield* until(
    "the label of the Deployment follows",
    Effect.map(find("apps/v1", "Deployment", "corner"), (web) => at(web, "metadata.labels.theme") === "light")
  )

  say("5. A child is deleted by somebody: it comes back")
  const before = yield* find("apps/v1", "Deployment", "corner-courier-north")
  yield* remove("apps/v1", "Deployment", "corner-courier-north")
  yield* until(
    "there is another one",
    Effect.map(
      find("apps/v1", "Deployment", "corner-courier-north"),
      (now) => now !== undefined && at(now, "metadata.uid") !== at(before, "metadata.uid")
    )
  )

  say("6. The instance changes: a collection grows and shrinks, a condition lets a resource in")
  yield* corner("{ regions: [south, east, west], ingress: { enabled: true } }")
  yield* until("east and west have couriers", isThere("apps/v1", "Deployment", "corner-courier-west"))
  yield* until("north has none", isGone("apps/v1", "Deployment", "corner-courier-north"))
  yield* until("there is an Ingress", isThere("networking.k8s.io/v1", "Ingress", "corner"))
  yield* until("the shop is active again", isActive)

  say("7. The definition changes while it runs: what it no longer lists goes")
  const { manifests: [changed] } = own("shop.yaml")
  yield* Documents.apply({ ...changed, value: withoutCouriers(changed.value) })
  yield* until("there are no couriers", isGone("apps/v1", "Deployment", "corner-courier-east"))
  yield* until("the web is still there", isThere("apps/v1", "Deployment", "corner"))

  say("8. The instance is deleted: its resources go in reverse order, its database's with it")
  yield* remove("example.dev/v1", "Shop", "corner")
  yield* until("the shop is gone", isGone("example.dev/v1", "Shop", "corner"))
  yield* until("the database's server is gone", isGone("apps/v1", "StatefulSet", "corner-db"))
  yield* until("what was somebody else's is there", isThere("v1", "ConfigMap", "platform"))

  say("9. A definition is deleted: its kind is reconciled no more")
  yield* remove("kro.run/v1alpha1", "ResourceGraphDefinition", "shop")
  yield* until("the definition is gone", isGone("kro.run/v1alpha1", "ResourceGraphDefinition", "shop"))
  say("All of it holds.")
})

const withoutCouriers = (document: Resource.JsonObject): Resource.JsonObject => {
  const text = JSON.stringify(document, (key, value: Resource.Json) => {
    if (key === "couriers") return undefined // the status that is made of them
    if (key !== "resources" || !Array.isArray(value)) return value
    return value.filter((resource) => at(resource as Resource.JsonObject, "id") !== "couriers")
  })
  return JSON.parse(text)
}

/** Applies files, and shows their instances until interrupted; ends by itself where nobody looks. */
const showFiles = (files: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    yield* applyRight(files.map(readFile))
    yield* process.stdout.isTTY ? Effect.never : Effect.sleep("3 seconds")
  })

/** What was expected to go wrong is told in a sentence, what was not with all that is known of it. */
const textOf = (cause: Cause.Cause<{ readonly message: string }>): string =>
  cause.reasons.map((reason) => Cause.isFailReason(reason) ? reason.error.message : Cause.pretty(cause)).join("\n")

const args = process.argv.slice(2)
const sqliteAt = args.indexOf("--sqlite")
const [filename] = sqliteAt < 0 ? [] : args.splice(sqliteAt, 2).slice(1)

const store = filename === undefined ? MemoryStore.layer : SqliteStore.layer({ filename })

const live = Cluster.layer("300 millis").pipe(
  Layer.provideMerge(Blueprints.layer),
  Layer.provideMerge(Controller.layer({ drain: "2 seconds" })),
  Layer.provideMerge(pictures()),
  Layer.provideMerge(store)
)

const main = (args.length === 0 ? script : showFiles(args)).pipe(
  Effect.provide(live),
  Effect.tapCause((cause) => Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.sync(() => say(textOf(cause))))
)

NodeRuntime.runMain(main, { disableErrorReporting: true })
