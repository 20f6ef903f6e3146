import { StoreContract } from "@setpoint/testing"
import * as VersionStore from "../src/VersionStore.ts"

StoreContract.suite("VersionStore", ({ bookmarkEvery, history, maxObjectBytes }) =>
  VersionStore.layer({
    ...(bookmarkEvery === undefined ? {} : { bookmarkEvery }),
    ...(history === undefined ? {} : { history }),
    ...(maxObjectBytes === undefined ? {} : { maxObjectBytes })
  }))
