/** Published bugs of the class K, two leaders: the first, in a file of its own, since its night is long. */
import * as LD01 from "../corpus/LD-01.right.ts"
import * as LD01Wrong from "../corpus/LD-01.wrong.ts"
import { specify } from "./support/corpus.ts"

specify([{ id: "LD-01", wrong: LD01Wrong, right: LD01, law: "P6", least: 1 }])
