/** The objects of tests: raw ones, as a driver takes them. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { Key, Raw } from "setpoint/Resource"
import type * as StoreDriver from "setpoint/StoreDriver"

export const at: StoreDriver.KindAddress = {
  group: "example.dev",
  version: "v1",
  kind: "Thing",
  plural: "things",
  scope: "Namespaced"
}

export const key = (name: string): Key => ({ namespace: "default", name })

export const thing = (name: string, size: number, metadata: Partial<Raw["metadata"]> = {}): Raw => ({
  apiVersion: "example.dev/v1",
  kind: "Thing",
  metadata: { ...metadata, name, namespace: "default" } as Raw["metadata"], // the rest is the store's
  spec: { size }
})

export const sizeOf = (object: Raw): number => (object.spec as { readonly size: number }).size // made by `thing`

let writes = 0
/** Unique in this process. */
export const options = (options: Partial<StoreDriver.WriteOptions> = {}): StoreDriver.WriteOptions => ({
  writeId: `write-${++writes}`,
  hasStatus: false,
  ...options
})

export const create = (driver: StoreDriver.Service, name: string, size = 1, metadata?: Partial<Raw["metadata"]>) =>
  Effect.map(driver.write(at, { op: "create", object: thing(name, size, metadata) }, options()), ({ object }) => object)

/** Whatever is stored under the name, from now on it has this size. */
export const resize = (driver: StoreDriver.Service, name: string, size: number) =>
  driver.write(at, { op: "patch", key: key(name), type: "merge", patch: { spec: { size } } }, options())

export const remove = (driver: StoreDriver.Service, name: string) =>
  driver.write(at, { op: "delete", key: key(name), propagation: "background" }, options())

export const get = (driver: StoreDriver.Service, name: string) =>
  driver.get(at, key(name), { consistency: "mostRecent" })

export const list = (driver: StoreDriver.Service, options: Partial<StoreDriver.ListOptions> = {}) =>
  driver.list(at, { consistency: "mostRecent", ...options })

export const names = (driver: StoreDriver.Service, options?: Partial<StoreDriver.ListOptions>) =>
  Effect.map(list(driver, options), ({ items }) => items.map(({ metadata }) => metadata.name))

/** Events as text, `Added a`, one at a time; each pull waits for the next. */
export const follow = (driver: StoreDriver.Service, from: StoreDriver.WatchOptions["from"] = "current") =>
  Stream.toPull(
    driver.watch(at, { from }).pipe(
      Stream.flattenIterable,
      Stream.map(text),
      Stream.rechunk(1)
    )
  ).pipe(Effect.map(Effect.map(([text]) => text)))

const text = (event: StoreDriver.WatchEvent): string => {
  switch (event._tag) {
    case "Added":
    case "Modified":
      return `${event._tag} ${event.object.metadata.name}`
    case "Deleted":
      return `Deleted ${event.last.metadata.name}`
    default:
      return event._tag
  }
}
