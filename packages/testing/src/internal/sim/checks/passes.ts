/** P11, and passes that never end: what is wanted is seen by a pass that began after it. */
import * as World from "../world.ts"
import { nameOf, objects } from "./objects.ts"

/** A pass that nothing in the world will ever wake. */
export const endless = (world: World.World): void => {
  for (const [name, pass] of world.running) {
    const key = name.slice(name.indexOf(" ") + 1)
    const calls = pass.calls === 0 ? "before its first call" : `after its call ${pass.calls}`
    World.violate(
      world,
      "leak",
      `pass ${pass.number} of ${key} never ended: ${calls} it waits for what the simulator does not run ` +
        "(a promise, a real timer, native I/O), or for ever"
    )
  }
}

/** P11: what others wanted last was seen by a pass that began after it. */
export const noLostWakeUp = (world: World.World): void => {
  for (const object of objects(world)) {
    const about = `${object.kind}/${World.keyText(object)}`
    const wanted = world.wanted.get(about)
    const started = [...world.started].filter(([key]) => key.endsWith(` ${about}`)).map(([, at]) => at)
    if (wanted === undefined || started.length === 0 || Math.max(...started) >= wanted) continue
    World.violate(world, "P11", `${nameOf(object)} changed, and no pass began after it`)
  }
}
