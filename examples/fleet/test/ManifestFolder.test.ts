import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FileSystem from "effect/FileSystem"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Path from "effect/Path"
import * as PubSub from "effect/PubSub"
import * as Stream from "effect/Stream"
import { Controller, MemoryStore, Store } from "setpoint"
import { Service } from "../src/Kinds.ts"
import * as ManifestFolder from "../src/ManifestFolder.ts"

const manifest = (name: string, replicas: number | string = 1) =>
  `apiVersion: fleet.example.dev/v1
kind: Service
metadata: { name: ${name} }
spec:
  command: node
  replicas: ${replicas}
  ports: { from: 10, to: 19 }
`

/** Waits until the services of the store are these, each with its replicas. */
const until = (...expected: ReadonlyArray<string>) =>
  Store.watch(Service).pipe(
    Stream.mapEffect(() => Store.list(Service)),
    Stream.map(({ items }) => items.map(({ metadata, spec }) => `${metadata.name}:${spec.replicas}`)),
    Stream.takeUntil((found) => found.join() === expected.join()),
    Stream.runDrain
  )

interface Folder {
  readonly write: (file: string, text: string) => Effect.Effect<void>
  readonly remove: (file: string) => Effect.Effect<void>
  /** The first log line that matches, from the start on. */
  readonly said: (pattern: RegExp) => Effect.Effect<void>
}

const followed = <A, E>(body: (folder: Folder) => Effect.Effect<A, E, Store.Store>) =>
  Effect.gen(function*() {
    const fs = yield* FileSystem.FileSystem
    const path = yield* Path.Path
    const root = yield* fs.makeTempDirectoryScoped()
    const lines = yield* PubSub.unbounded<string>({ replay: Infinity })
    const logger = Logger.make(({ message }) => PubSub.publishUnsafe(lines, String(message)))
    const folder: Folder = {
      write: (file, text) => Effect.orDie(fs.writeFileString(path.join(root, file), text)),
      remove: (file) => Effect.orDie(fs.remove(path.join(root, file))),
      said: (pattern) => Stream.runDrain(Stream.takeUntil(Stream.fromPubSub(lines), (line) => pattern.test(line)))
    }
    const layer = ManifestFolder.layer({ folder: root }).pipe(
      Layer.provide(Controller.layer()),
      Layer.provideMerge(MemoryStore.layer),
      Layer.provide(Logger.layer([logger]))
    )
    yield* Effect.provide(body(folder), layer)
  }).pipe(Effect.provide(NodeServices.layer))

describe("a folder that is followed", () => {
  it.live("files that come, change and go make services come, change and go", () =>
    followed(Effect.fnUntraced(function*(folder) {
      yield* folder.write("a.yaml", `${manifest("api")}---\n${manifest("db")}`)
      yield* until("api:1", "db:1")
      yield* folder.write("b.yaml", manifest("web", 3))
      yield* until("api:1", "db:1", "web:3")
      yield* folder.write("a.yaml", manifest("api", 2))
      yield* until("api:2", "web:3")
      yield* folder.remove("b.yaml")
      yield* until("api:2")
    })))

  it.live("a bad manifest is reported with file, line and field, and said to be well when it is", () =>
    followed(Effect.fnUntraced(function*(folder) {
      yield* folder.write("web.yaml", manifest("web"))
      yield* until("web:1")
      yield* folder.write("web.yaml", manifest("web", "many"))
      yield* folder.said(/^web\.yaml:6:3: spec\.replicas: Expected number, found "many"$/)
      yield* until("web:1")
      yield* folder.write("web.yaml", manifest("web", 2))
      yield* until("web:2")
      yield* folder.said(/every manifest is well again/)
    })))

  it.live("a name that a store refuses is reported where it stands", () =>
    followed(Effect.fnUntraced(function*(folder) {
      yield* folder.write("web.yaml", manifest("Web_1"))
      yield* folder.said(/^web\.yaml:3:13: metadata\.name: /)
    })))

  it.live("what others set on a service stays", () =>
    followed(Effect.fnUntraced(function*(folder) {
      yield* folder.write("web.yaml", manifest("web"))
      yield* until("web:1")
      const service = yield* Store.get(Service, { name: "web" })
      yield* Store.patch(Service, service, { merge: { metadata: { annotations: { "example.dev/note": "kept" } } } })
      yield* folder.write("web.yaml", manifest("web", 2))
      yield* until("web:2")
      const { metadata } = yield* Store.get(Service, { name: "web" })
      assert.strictEqual(metadata.annotations?.["example.dev/note"], "kept")
    })))

  it.effect("a folder that is not there says what would be right", () =>
    Effect.gen(function*() {
      const layer = ManifestFolder.layer({ folder: "/no/such/folder" }).pipe(
        Layer.provide(Controller.layer()),
        Layer.provide(MemoryStore.layer),
        Layer.provide(NodeServices.layer)
      )
      const error = yield* Effect.flip(Effect.scoped(Layer.build(layer)))
      assert.strictEqual(
        error.message,
        "--dir /no/such/folder: cannot be read (NotFound); give a folder of YAML manifests"
      )
    }))
})
