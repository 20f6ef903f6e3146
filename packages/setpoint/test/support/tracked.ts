/**
 * Reconcilers that are pure functions of what they read, of two kinds, one of which reads what the other writes; and what
 * the world must be: as one pass of every object, made now from nothing but the store, would make it.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { InstanceWatcher, Kind, Reconciler, type Resource, Store, type StoreError } from "setpoint"

const group = "example.dev"
const version = "v1"

/** Made from configs: one by name, the one that this names, and those of a tone. */
export const App = Kind.make({
  group,
  version,
  kind: "App",
  spec: Schema.Struct({ config: Schema.String, tone: Schema.String }),
  status: Schema.Struct({ seen: Schema.String })
})

export const Config = Kind.make({
  group,
  version,
  kind: "Config",
  fields: { data: Schema.Struct({ value: Schema.Int, next: Schema.String }) }
})

/** Made by apps, one each. */
export const Output = Kind.make({ group, version, kind: "Output", spec: Schema.Struct({ text: Schema.String }) })

/** Made from all outputs, and from how many totals there are. */
export const Total = Kind.make({
  group,
  version,
  kind: "Total",
  spec: Schema.Struct({}),
  status: Schema.Struct({ seen: Schema.String })
})

type App = Kind.Resource<typeof App>

/** How a pass reads: tracked, or asked for first; or, outside of a pass, straight from the store. */
interface Reads {
  readonly get: <A extends Resource.Any>(
    kind: Kind.Kind<A>,
    name: string
  ) => Effect.Effect<A | undefined, StoreError.StoreError, Store.Store>
  readonly list: <A extends Resource.Any>(
    kind: Kind.Kind<A>,
    selector?: string
  ) => Effect.Effect<ReadonlyArray<A>, StoreError.StoreError, Store.Store>
}

const plain: Reads = {
  get: (kind, name) => Effect.catchReason(Store.get(kind, { name }), "StoreError", "NotFound", () => Effect.undefined),
  list: (kind, selector) => Effect.map(Store.list(kind, { selector }), ({ items }) => items)
}

const askedFirst: Reads = {
  get: (kind, name) => Effect.andThen(Effect.ignore(InstanceWatcher.watch({ kind, name })), plain.get(kind, name)),
  list: (kind, selector) =>
    Effect.andThen(
      Effect.ignore(InstanceWatcher.watch({ kind, selector: selector ?? "" })),
      plain.list(kind, selector)
    )
}

const viewOfApp = Effect.fnUntraced(function*({ get, list }: Reads, { spec }: App) {
  const first = yield* get(Config, spec.config)
  const second = first === undefined ? undefined : yield* get(Config, first.data.next)
  const toned = yield* list(Config, `tone=${spec.tone}`)
  const text = toned.map(({ data, metadata }) => `${metadata.name}=${data.value}`).join()
  return `${first?.data.value}>${second?.data.value} ${text}`
})

const viewOfTotal = Effect.fnUntraced(function*({ list }: Reads) {
  const outputs = yield* list(Output)
  const totals = yield* list(Total)
  return `${totals.length}: ${outputs.map(({ metadata, spec }) => `${metadata.name} ${spec.text}`).join("; ")}`
})

const appsWith = (reads: Reads, track: boolean) =>
  Reconciler.make(App, {
    track,
    reconcile: Effect.fnUntraced(function*(request) {
      const app = yield* Store.get(App, request)
      const seen = yield* viewOfApp(reads, app)
      yield* reads.get(Output, request.name) // asks for it, lest somebody else delete it
      yield* Store.ensure(Output, { name: request.name }, (known) => ({
        metadata: { ...known?.metadata },
        spec: { text: seen }
      }))
      yield* Store.updateStatus(App, app, { seen })
    })
  })

const totalsWith = (reads: Reads, track: boolean) =>
  Reconciler.make(Total, {
    track,
    reconcile: Effect.fnUntraced(function*(request) {
      const total = yield* Store.get(Total, request)
      yield* Store.updateStatus(Total, total, { seen: yield* viewOfTotal(reads) })
    })
  })

export type Mode = "tracked" | "asked first"

export const reconcilers = (mode: Mode) => {
  const reads = mode === "tracked" ? plain : askedFirst
  return [appsWith(reads, mode === "tracked"), totalsWith(reads, mode === "tracked")]
}

export class Disagreement extends Schema.TaggedError<Disagreement>()("Disagreement", {
  what: Schema.String,
  is: Schema.Unknown,
  shouldBe: Schema.Unknown
}) {}

/** Every object beside what one pass of it would make now. */
export const compare = (store: Store.Service) =>
  Effect.gen(function*() {
    for (const app of yield* plain.list(App)) {
      const shouldBe = yield* viewOfApp(plain, app)
      const output = yield* plain.get(Output, app.metadata.name)
      const is = { status: app.status?.seen, output: output?.spec.text }
      if (is.status !== shouldBe || is.output !== shouldBe) {
        return yield* new Disagreement({ what: `app ${app.metadata.name}`, is, shouldBe })
      }
    }
    for (const total of yield* plain.list(Total)) {
      const shouldBe = yield* viewOfTotal(plain)
      if (total.status?.seen !== shouldBe) {
        return yield* new Disagreement({ what: `total ${total.metadata.name}`, is: total.status?.seen, shouldBe })
      }
    }
  }).pipe(Effect.provideService(Store.Store, store))
