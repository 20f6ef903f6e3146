/** A folder for what a run writes to disk, gone afterwards. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

export const inTemporaryFolder = async <A>(f: (folder: string) => Promise<A> | A): Promise<A> => {
  const folder = mkdtempSync(join(tmpdir(), "setpoint-bench-"))
  try {
    return await f(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
