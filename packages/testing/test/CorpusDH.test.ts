/** Published bugs of the classes D to H: names, deletion, needless writes, statuses, what is outside. */
import * as DL01 from "../corpus/DL-01.right.ts"
import * as DL01Wrong from "../corpus/DL-01.wrong.ts"
import * as DL02 from "../corpus/DL-02.right.ts"
import * as DL02Wrong from "../corpus/DL-02.wrong.ts"
import * as DL03 from "../corpus/DL-03.right.ts"
import * as DL03Wrong from "../corpus/DL-03.wrong.ts"
import * as EX01 from "../corpus/EX-01.right.ts"
import * as EX01Wrong from "../corpus/EX-01.wrong.ts"
import * as EX02 from "../corpus/EX-02.right.ts"
import * as EX02Wrong from "../corpus/EX-02.wrong.ts"
import * as EX04 from "../corpus/EX-04.right.ts"
import * as EX04Wrong from "../corpus/EX-04.wrong.ts"
import * as HL01 from "../corpus/HL-01.right.ts"
import * as HL01Wrong from "../corpus/HL-01.wrong.ts"
import * as HL02 from "../corpus/HL-02.right.ts"
import * as HL02Wrong from "../corpus/HL-02.wrong.ts"
import * as HL04 from "../corpus/HL-04.right.ts"
import * as HL04Wrong from "../corpus/HL-04.wrong.ts"
import * as HL05 from "../corpus/HL-05.right.ts"
import * as HL05Wrong from "../corpus/HL-05.wrong.ts"
import * as ID01 from "../corpus/ID-01.right.ts"
import * as ID01Wrong from "../corpus/ID-01.wrong.ts"
import * as ID02 from "../corpus/ID-02.right.ts"
import * as ID02Wrong from "../corpus/ID-02.wrong.ts"
import type { App } from "../corpus/kit.ts"
import * as SS01 from "../corpus/SS-01.right.ts"
import * as SS01Wrong from "../corpus/SS-01.wrong.ts"
import * as SS03 from "../corpus/SS-03.right.ts"
import * as SS03Wrong from "../corpus/SS-03.wrong.ts"
import * as SS04 from "../corpus/SS-04.right.ts"
import * as SS04Wrong from "../corpus/SS-04.wrong.ts"
import { specify } from "./support/corpus.ts"

specify<unknown, App>([
  { id: "DL-01", wrong: DL01Wrong, right: DL01, law: "P4", least: 0 },
  { id: "DL-02", wrong: DL02Wrong, right: DL02, law: "P4", least: 1 },
  { id: "DL-03", wrong: DL03Wrong, right: DL03, law: "P6", least: 0 },
  { id: "EX-01", wrong: EX01Wrong, right: EX01, law: "P1", least: 1 },
  { id: "EX-02", wrong: EX02Wrong, right: EX02, law: "P1", least: 1 },
  { id: "EX-04", wrong: EX04Wrong, right: EX04, law: "P1", least: 0 },
  { id: "HL-01", wrong: HL01Wrong, right: HL01, law: "P3", least: 0 },
  { id: "HL-02", wrong: HL02Wrong, right: HL02, law: "P3", least: 0 },
  { id: "HL-04", wrong: HL04Wrong, right: HL04, law: "P3", least: 0 },
  { id: "HL-05", wrong: HL05Wrong, right: HL05, law: "P1", least: 0 },
  { id: "ID-01", wrong: ID01Wrong, right: ID01, law: "P1", least: 0 },
  { id: "ID-02", wrong: ID02Wrong, right: ID02, law: "P1", least: 1 },
  { id: "SS-01", wrong: SS01Wrong, right: SS01, law: "P8", least: 0 }
])

specify([{ id: "SS-03", wrong: SS03Wrong, right: SS03, law: "P9", least: 1 }])
specify([{ id: "SS-04", wrong: SS04Wrong, right: SS04, law: "P9", least: 0 }])
