/** Shapes of the classes A to C: crashes in the middle of a pass, old views, changes that are never seen. */
import { assert, describe, it } from "@effect/vitest"
import { Sim } from "@setpoint/testing"
import * as Effect from "effect/Effect"
import * as Fs from "node:fs"
import * as IS01 from "../corpus/IS-01.right.ts"
import * as IS01Wrong from "../corpus/IS-01.wrong.ts"
import * as IS02 from "../corpus/IS-02.right.ts"
import * as IS02Wrong from "../corpus/IS-02.wrong.ts"
import * as IS03 from "../corpus/IS-03.right.ts"
import * as IS03Wrong from "../corpus/IS-03.wrong.ts"
import * as IS04 from "../corpus/IS-04.right.ts"
import * as IS04Wrong from "../corpus/IS-04.wrong.ts"
import * as IS05 from "../corpus/IS-05.right.ts"
import * as IS05Wrong from "../corpus/IS-05.wrong.ts"
import * as IS06 from "../corpus/IS-06.right.ts"
import * as IS06Wrong from "../corpus/IS-06.wrong.ts"
import * as IS07 from "../corpus/IS-07.right.ts"
import * as IS07Wrong from "../corpus/IS-07.wrong.ts"
import * as IS09 from "../corpus/IS-09.right.ts"
import * as IS09Wrong from "../corpus/IS-09.wrong.ts"
import * as IS10 from "../corpus/IS-10.right.ts"
import * as IS10Wrong from "../corpus/IS-10.wrong.ts"
import * as IS11 from "../corpus/IS-11.right.ts"
import * as IS11Wrong from "../corpus/IS-11.wrong.ts"
import type { Cloud } from "../corpus/kit.ts"
import type { Lock } from "../corpus/lock.ts"
import * as ST01 from "../corpus/ST-01.right.ts"
import * as ST01Wrong from "../corpus/ST-01.wrong.ts"
import * as ST02 from "../corpus/ST-02.right.ts"
import * as ST02Wrong from "../corpus/ST-02.wrong.ts"
import * as ST03 from "../corpus/ST-03.right.ts"
import * as ST03Wrong from "../corpus/ST-03.wrong.ts"
import * as ST04 from "../corpus/ST-04.right.ts"
import * as ST04Wrong from "../corpus/ST-04.wrong.ts"
import * as ST06 from "../corpus/ST-06.right.ts"
import * as ST06Wrong from "../corpus/ST-06.wrong.ts"
import * as ST07 from "../corpus/ST-07.right.ts"
import * as ST07Wrong from "../corpus/ST-07.wrong.ts"
import * as ST08 from "../corpus/ST-08.right.ts"
import * as ST08Wrong from "../corpus/ST-08.wrong.ts"
import * as ST09 from "../corpus/ST-09.right.ts"
import * as ST09Wrong from "../corpus/ST-09.wrong.ts"
import * as ST10 from "../corpus/ST-10.right.ts"
import * as ST10Wrong from "../corpus/ST-10.wrong.ts"
import * as ST11 from "../corpus/ST-11.right.ts"
import * as ST11Wrong from "../corpus/ST-11.wrong.ts"
import * as ST12 from "../corpus/ST-12.right.ts"
import * as ST12Wrong from "../corpus/ST-12.wrong.ts"
import * as ST13 from "../corpus/ST-13.right.ts"
import * as ST13Wrong from "../corpus/ST-13.wrong.ts"
import * as ST14 from "../corpus/ST-14.right.ts"
import * as ST14Wrong from "../corpus/ST-14.wrong.ts"
import * as ST16 from "../corpus/ST-16.right.ts"
import * as ST16Wrong from "../corpus/ST-16.wrong.ts"
import * as UN01 from "../corpus/UN-01.right.ts"
import * as UN01Wrong from "../corpus/UN-01.wrong.ts"
import * as UN02 from "../corpus/UN-02.right.ts"
import * as UN02Wrong from "../corpus/UN-02.wrong.ts"
import * as UN04 from "../corpus/UN-04.right.ts"
import * as UN04Wrong from "../corpus/UN-04.wrong.ts"
import * as UN05 from "../corpus/UN-05.right.ts"
import * as UN05Wrong from "../corpus/UN-05.wrong.ts"
import * as UN06 from "../corpus/UN-06.right.ts"
import * as UN06Wrong from "../corpus/UN-06.wrong.ts"
import { type Shape, specify } from "./support/corpus.ts"

const shapes: ReadonlyArray<Shape<Cloud | Lock>> = [
  { id: "IS-01", wrong: IS01Wrong, right: IS01, law: "P1", least: 1 },
  { id: "IS-02", wrong: IS02Wrong, right: IS02, law: "P1", least: 1 },
  { id: "IS-03", wrong: IS03Wrong, right: IS03, law: "P1", least: 1 },
  { id: "IS-04", wrong: IS04Wrong, right: IS04, law: "P1", least: 1 },
  { id: "IS-05", wrong: IS05Wrong, right: IS05, law: "P1", least: 1 },
  { id: "IS-06", wrong: IS06Wrong, right: IS06, law: "P1", least: 1 },
  { id: "IS-07", wrong: IS07Wrong, right: IS07, law: "P1", least: 1 },
  { id: "IS-09", wrong: IS09Wrong, right: IS09, law: "P1", least: 0 },
  { id: "IS-10", wrong: IS10Wrong, right: IS10, law: "P1", least: 1 },
  { id: "IS-11", wrong: IS11Wrong, right: IS11, law: "P1", least: 1 },
  { id: "ST-01", wrong: ST01Wrong, right: ST01, law: "P6", least: 1 },
  { id: "ST-02", wrong: ST02Wrong, right: ST02, law: "P6", least: 1 },
  { id: "ST-03", wrong: ST03Wrong, right: ST03, law: "P2", least: 1, published: "world/step/4=old-kind:Set@2" },
  { id: "ST-04", wrong: ST04Wrong, right: ST04, law: "P6", least: 1 },
  { id: "ST-06", wrong: ST06Wrong, right: ST06, law: "P6", least: 1 },
  { id: "ST-07", wrong: ST07Wrong, right: ST07, law: "P6", least: 1 },
  { id: "ST-08", wrong: ST08Wrong, right: ST08, law: "P6", least: 1 },
  { id: "ST-09", wrong: ST09Wrong, right: ST09, law: "P6", least: 0 },
  { id: "ST-10", wrong: ST10Wrong, right: ST10, law: "P6", least: 0 },
  { id: "ST-11", wrong: ST11Wrong, right: ST11, law: "P6", least: 1, published: "world/step/2=unsynced:Root" },
  { id: "ST-12", wrong: ST12Wrong, right: ST12, law: "P13", least: 0 },
  { id: "ST-13", wrong: ST13Wrong, right: ST13, law: "P1", least: 0 },
  {
    id: "ST-14",
    wrong: ST14Wrong,
    right: ST14,
    law: "P1",
    least: 1,
    published: "ctl/informer/Pod.example.dev/event:Pod/a=expire"
  },
  { id: "ST-16", wrong: ST16Wrong, right: ST16, law: "P6", least: 1 },
  {
    id: "UN-01",
    wrong: UN01Wrong,
    right: UN01,
    law: "P1",
    least: 1,
    published: "ctl/informer/Pod.example.dev/event:Pod/a#2=expire"
  },
  {
    id: "UN-02",
    wrong: UN02Wrong,
    right: UN02,
    law: "P1",
    least: 1,
    published: "ctl/informer/App.example.dev/event:App/a#2=expire"
  },
  { id: "UN-04", wrong: UN04Wrong, right: UN04, law: "P1", least: 1, published: "ctl/apps/a/2/Lock.hold=kill-after" },
  { id: "UN-05", wrong: UN05Wrong, right: UN05, law: "P1", least: 1 },
  { id: "UN-06", wrong: UN06Wrong, right: UN06, law: "P4", least: 0 }
]

specify(shapes)

it("every shape of these classes is asked", () => {
  const files = Fs.readdirSync(new URL("../corpus", import.meta.url))
  const ids = files.flatMap((file) => /^((?:IS|ST|UN)-\d\d)\.wrong\.ts$/.exec(file)?.[1] ?? [])
  assert.deepStrictEqual(shapes.map(({ id }) => id), ids.toSorted())
})

describe("the README", () => {
  it.effect("shows what the search says of IS-01, to the letter", () =>
    Effect.gen(function*() {
      const { report } = yield* Effect.flip(Sim.check(IS01Wrong.options))
      const readme = Fs.readFileSync(new URL("../README.md", import.meta.url), "utf8")
      assert.include(readme, report)
    }))
})
