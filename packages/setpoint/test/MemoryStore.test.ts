import { StoreContract } from "@setpoint/testing"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { MemoryStore, Store, StoreDriver } from "setpoint"

/** A core outlives the Layers over it, as a file does. */
const place = Effect.sync((): StoreContract.MakeLayer => {
  const driver = MemoryStore.fromCore(MemoryStore.Core.make("birth"))
  return () =>
    Layer.succeedContext(
      Context.make(StoreDriver.StoreDriver, driver).pipe(Context.add(Store.Store, Store.make(driver)))
    )
})

StoreContract.suite("MemoryStore", (options) => MemoryStore.layerWith(options), { place })
