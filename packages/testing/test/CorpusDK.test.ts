/** Shapes of the classes D to K: names, deletion, loops, statuses, the world outside, gates, time, two leaders. */
import * as DL01 from "../corpus/DL-01.right.ts"
import * as DL01Wrong from "../corpus/DL-01.wrong.ts"
import * as DL02 from "../corpus/DL-02.right.ts"
import * as DL02Wrong from "../corpus/DL-02.wrong.ts"
import * as EX02 from "../corpus/EX-02.right.ts"
import * as EX02Wrong from "../corpus/EX-02.wrong.ts"
import * as EX04 from "../corpus/EX-04.right.ts"
import * as EX04Wrong from "../corpus/EX-04.wrong.ts"
import * as GT01 from "../corpus/GT-01.right.ts"
import * as GT01Wrong from "../corpus/GT-01.wrong.ts"
import * as HL01 from "../corpus/HL-01.right.ts"
import * as HL01Wrong from "../corpus/HL-01.wrong.ts"
import * as HL02 from "../corpus/HL-02.right.ts"
import * as HL02Wrong from "../corpus/HL-02.wrong.ts"
import * as HL05 from "../corpus/HL-05.right.ts"
import * as HL05Wrong from "../corpus/HL-05.wrong.ts"
import * as ID01 from "../corpus/ID-01.right.ts"
import * as ID01Wrong from "../corpus/ID-01.wrong.ts"
import type { Cloud } from "../corpus/kit.ts"
import * as SS01 from "../corpus/SS-01.right.ts"
import * as SS01Wrong from "../corpus/SS-01.wrong.ts"
import { specify } from "./support/corpus.ts"

specify<Cloud>([
  { id: "DL-01", wrong: DL01Wrong, right: DL01, law: "P4", least: 0 },
  { id: "DL-02", wrong: DL02Wrong, right: DL02, law: "P4", least: 1 },
  { id: "EX-02", wrong: EX02Wrong, right: EX02, law: "P1", least: 1 },
  { id: "EX-04", wrong: EX04Wrong, right: EX04, law: "P1", least: 0 },
  { id: "GT-01", wrong: GT01Wrong, right: GT01, law: "P1", least: 0 },
  { id: "HL-01", wrong: HL01Wrong, right: HL01, law: "P3", least: 0 },
  { id: "HL-02", wrong: HL02Wrong, right: HL02, law: "P3", least: 0 },
  { id: "HL-05", wrong: HL05Wrong, right: HL05, law: "P1", least: 0 },
  { id: "ID-01", wrong: ID01Wrong, right: ID01, law: "P1", least: 0 },
  { id: "SS-01", wrong: SS01Wrong, right: SS01, law: "P8", least: 0 }
])
