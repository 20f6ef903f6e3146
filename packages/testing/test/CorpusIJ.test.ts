/** Published bugs of the classes I and J: gates and recovery, time. */
import * as GT01 from "../corpus/GT-01.right.ts"
import * as GT01Wrong from "../corpus/GT-01.wrong.ts"
import * as GT02 from "../corpus/GT-02.right.ts"
import * as GT02Wrong from "../corpus/GT-02.wrong.ts"
import * as GT03 from "../corpus/GT-03.right.ts"
import * as GT03Wrong from "../corpus/GT-03.wrong.ts"
import * as GT04 from "../corpus/GT-04.right.ts"
import * as GT04Wrong from "../corpus/GT-04.wrong.ts"
import * as GT05 from "../corpus/GT-05.right.ts"
import * as GT05Wrong from "../corpus/GT-05.wrong.ts"
import type { App } from "../corpus/kit.ts"
import * as TM01 from "../corpus/TM-01.right.ts"
import * as TM01Wrong from "../corpus/TM-01.wrong.ts"
import * as TM02 from "../corpus/TM-02.right.ts"
import * as TM02Wrong from "../corpus/TM-02.wrong.ts"
import { specify } from "./support/corpus.ts"

specify<unknown, App>([
  { id: "GT-01", wrong: GT01Wrong, right: GT01, law: "P1", least: 0 },
  { id: "GT-02", wrong: GT02Wrong, right: GT02, law: "P1", least: 1 },
  { id: "GT-03", wrong: GT03Wrong, right: GT03, law: "P1", least: 0 },
  { id: "GT-04", wrong: GT04Wrong, right: GT04, law: "P6", least: 1 },
  { id: "TM-01", wrong: TM01Wrong, right: TM01, law: "P1", least: 1 },
  { id: "TM-02", wrong: TM02Wrong, right: TM02, law: "P6", least: 1 }
])

specify([{ id: "GT-05", wrong: GT05Wrong, right: GT05, law: "P13", least: 0 }])
